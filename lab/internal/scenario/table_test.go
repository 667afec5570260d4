package scenario_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/scenario"
	"paddock/load"
	"paddock/load/histogram"
)

// result is a run in which of 100,000 requests so many failed, and two took a second.
func result(failed int64) *load.Result {
	r := &load.Result{}
	r.Total.Response = histogram.New()
	r.Total.Response.RecordN(int64(time.Millisecond), 99_998)
	r.Total.Response.RecordN(int64(time.Second), 2)
	r.Total.Service, r.Total.Lag = histogram.New(), histogram.New()
	r.Total.Done = 100_000
	r.Total.Failed[load.ClassOK] = 100_000 - failed
	r.Total.Failed[load.ClassStatus] = failed
	return r
}

// A row has the original's beside it, and both p99: the one that was measured, and the
// one that its correction makes.
func TestRows(t *testing.T) {
	l := scenario.Spike()
	row := l.NewRow(1000, &load.Plan{}, result(100))
	if row.Success != 0.999 || row.Max < time.Second || row.P99 > 1001*time.Microsecond {
		t.Errorf("%+v", row)
	}
	if row.P99Corrected < 5*time.Millisecond { // each of these seconds stands for a thousand requests
		t.Errorf("p99 corrected %v", row.P99Corrected)
	}
	if row.Original == nil || *row.Original.GoHTTPTunnel.P99 != 793_423_871 || l.NewRow(1001, &load.Plan{}, result(0)).Original != nil {
		t.Errorf("the original's: %+v", row.Original)
	}
}

// One failed request is not 100.000 %, and values that the original does not have are left out.
func TestReport(t *testing.T) {
	for _, tc := range []struct {
		load   *scenario.Load
		rate   float64
		failed int64
		want   []string
	}{
		{scenario.Spike(), 600, 0, []string{"600/s  100.000 %", "100.00 %, 40.1ms, 147ms"}},
		{scenario.Spike(), 10_000, 1, []string{"10,000/s  99.999 %", "-  "}},
		{scenario.Pressure(), 500, 0, []string{"99.96 %, 1.46s, 1.92s", "63.16 %, -, -"}},
	} {
		report := scenario.Report{Load: tc.load.Name, Target: "http://x/", Subject: "184 files", Duration: time.Minute}
		report.Rows = append(report.Rows, tc.load.NewRow(tc.rate, &load.Plan{}, result(tc.failed)))
		var text bytes.Buffer
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
		object, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Rows []struct {
				Rate    float64
				Success float64
				P99     int64 `json:"p99_ns"`
			}
		}
		if err := json.Unmarshal(object, &doc); err != nil || len(doc.Rows) != 1 || doc.Rows[0].Rate != tc.rate || doc.Rows[0].P99 == 0 {
			t.Errorf("%v in %s", err, object)
		}
	}
}

// The rates are the original's, in its order.
func TestRates(t *testing.T) {
	for _, l := range []*scenario.Load{scenario.Spike(), scenario.Pressure()} {
		for i, rate := range l.Rates() {
			if o := l.At(rate); o == nil || o != &l.Rows[i] {
				t.Errorf("%s has no row for %v", l.Name, rate)
			}
		}
	}
}
