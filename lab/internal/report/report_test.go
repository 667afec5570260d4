package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

// hostile is text by which a service tries to break out of a page or a terminal.
const hostile = "</script><script>alert(1)</script>\x1b[2J\u202e"

// newRun is an open run of some seconds in which a tenth of the requests failed.
func newRun(seconds int) *Run {
	r := &Run{
		Title: "GET http://host/?" + hostile,
		Plan:  &load.Plan{Address: "host:80", Codec: &load.Raw{}, Arrivals: load.Constant{PerSecond: 1000}}, Series: &Series{},
		Result: &load.Result{Began: time.Unix(0, 0), Elapsed: time.Duration(seconds) * time.Second},
	}
	r.Plan.Duration = r.Result.Elapsed
	recorder := runfile.NewRecorder(*r.Plan, nil)
	t := &r.Result.Total
	t.Length = r.Result.Elapsed
	t.Response, t.Service, t.Lag = histogram.New(), histogram.New(), histogram.New()
	second := histogram.New()
	for i := range 900 {
		second.Record(int64(i+1) * int64(time.Millisecond))
	}
	for s := range seconds {
		v := &load.Interval{
			Start: time.Duration(s) * time.Second, Length: time.Second, Target: 1000, InFlight: 2, MaxInFlight: int64(s % 7),
			Response: second,
		}
		v.Failed[load.ClassOK], v.Failed[load.ClassReset] = 900, 100
		v.LateTime[load.ConnWait] = time.Millisecond
		v.Service, v.Lag = v.Response, t.Lag
		r.Series.Interval(v)
		recorder.Interval(v)
		t.Response.Add(v.Response)
		t.Service.Add(v.Response)
		t.Failed[load.ClassOK] += 900
		t.Failed[load.ClassReset] += 100
		t.Done += 900
		r.Result.InTime += 900
	}
	r.Result.Samples = []load.Sample{{Class: load.ClassReset, Text: hostile, Bytes: []byte(hostile), Count: 100 * int64(seconds)}}
	r.Result.Targets = []load.Target{{Name: "GET /?" + hostile, Done: 7, Errors: 1, Response: histogram.New()}}
	r.Result.Targets[0].Response.Record(int64(time.Second))
	r.Document = recorder.Document(&runfile.Manifest{Argv: []string{"paddock", hostile}}, r.Result)
	r.Document.Load = "1000/s"
	r.Document.Machine = &process.TargetUse{
		Length: 10 * time.Second, User: 9 * time.Second, System: 3 * time.Second,
		Service: &process.ServiceUse{CPU: 5 * time.Second, Resident: 3 << 20},
	}
	list, _ := slo.Parse("p99<1s,err<1%")
	r.Outcomes = slo.Check(list, r.Result)
	return r
}

// Nothing that a service sends reaches the page as markup, or the terminal as it came.
func TestHostileBytes(t *testing.T) {
	var page, text bytes.Buffer
	r := newRun(20)
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "</script>"); n != 2 || strings.Contains(page.String(), "<script>alert") {
		t.Errorf("%d ends of scripts in\n%s", n, page.String())
	}
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\u202e") || !strings.Contains(text.String(), `\x1b[2J`) {
		t.Errorf("%q", text.String())
	}
}

// Page and text name the rate that is asked for where there is one, in the same words.
func TestRateAskedFor(t *testing.T) {
	for _, open := range []bool{true, false} {
		var page, text bytes.Buffer
		r := newRun(20)
		if r.Result.Total.Target = 20_000; !open {
			r.Plan.Arrivals, r.Result.Total.Target = nil, 0
		}
		if err := errors.Join(r.WriteHTML(&page), r.WriteText(&text)); err != nil {
			t.Fatal(err)
		}
		if note := strings.Contains(page.String(), "The dashed line is the rate that --rate asks for."); note != open {
			t.Errorf("open %v: the page explains the dashed line: %v", open, note)
		}
		if line := strings.Contains(text.String(), "/s that --rate asks for"); line != open {
			t.Errorf("open %v: %s", open, text.String())
		}
	}
}

// The page loads nothing from any address, stays small for any length of the run, and its data is
// that of the recording.
func TestPage(t *testing.T) {
	for _, seconds := range []int{1, 20, 5000} {
		var page bytes.Buffer
		if err := newRun(seconds).WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(page.Bytes())
		if found == nil {
			t.Fatal("no data")
		}
		if n := page.Len() - len(found[1]); n > 300<<10 {
			t.Errorf("%d bytes without the data", n)
		}
		if match := regexp.MustCompile(`(?i)<(link|img|iframe)|(src|href)=|@import|url\(|fetch\(`).Find(page.Bytes()); match != nil {
			t.Errorf("the page has %q", match)
		}
		var data plotData
		if err := json.Unmarshal(found[1], &data); err != nil {
			t.Fatal(err)
		}
		var ok, answers int64
		for _, p := range data.Points {
			ok += p.OK
			for i := 1; i < len(p.Rows); i += 2 {
				answers += p.Rows[i]
			}
		}
		if want := int64(seconds) * 900; ok != want || answers != want || len(data.Points) > maxPoints {
			t.Errorf("%d s: %d points, %d good, %d answers", seconds, len(data.Points), ok, answers)
		}
		if (len(data.Band) > 0) != (seconds >= 20) {
			t.Errorf("%d s: a band of %d", seconds, len(data.Band))
		}
	}
}

// The text of a report.
func TestText(t *testing.T) {
	var text bytes.Buffer
	if err := newRun(20).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"900/s good answers", "2,000, 10.0 %: reset 2,000", "met      p99<1s: 891ms", "   GET /?</script>", "missed   err<1%: 10.0 %", "1.20 processors at work (user 0.90, system 0.30); the service 0.50, 3.15 MB of memory", "first errors"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}
