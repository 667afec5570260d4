package tracking

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/internal/doors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// yard writes a set of one fence of about 1 km.
func yard(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const text = `{"type":"Feature","id":"a","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[0.01,0],[0.01,0.01],[0,0.01],[0,0]]]}}`
	if err := os.WriteFile(filepath.Join(dir, "yard.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRun(t *testing.T) {
	o := Options{
		Setup: doors.Setup{Sets: yard(t), Progress: io.Discard}, Policies: []string{"raw", "steady"}, InProcess: true, Noise: 5, Vehicles: 3, Parked: 3 * time.Hour,
		Every: []time.Duration{10 * time.Second}, Objects: 50, Rounds: 2, Duration: 10 * time.Millisecond,
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Flapping; len(f) != 2 || f[0].Events < 20 || f[1].Events != 0 || f[0].VehicleDays != 0.25 || f[0].PerDay != float64(f[0].Events)*4 {
		t.Errorf("%+v", f)
	}
	if d := r.Delays; len(d) != 2 || d[0].Missed+d[1].Missed != 0 || d[1].Exit.Median <= d[0].Exit.Least || d[1].Exit.Most > 30 {
		t.Errorf("%+v", d)
	}
	if p := r.Throughput; len(p) != 2 || p[0].PerSecond.Least <= 0 || len(r.Ratios) != 1 || r.Ratios[0].Ratio.Median <= 0 {
		t.Errorf("%+v, %+v", p, r.Ratios)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || strings.Count(text.String(), "steady") != 4 {
		t.Errorf("%v\n%s", err, &text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, o); err == nil || len(r.Flapping) > 0 {
		t.Errorf("an ended context: %v, %+v", err, r)
	}
	if _, err := Run(t.Context(), Options{Setup: doors.Setup{Sets: t.TempDir()}}); err == nil {
		t.Error("no fences, and no error")
	}
}

// Receivers report their accuracy, so that the policy of that name differs from raw.
func TestAccuracy(t *testing.T) {
	r, err := Run(t.Context(), Options{
		Setup: doors.Setup{Sets: yard(t), Progress: io.Discard}, Policies: []string{"raw", "accuracy"}, Noise: 5, Vehicles: 3, Parked: 3 * time.Hour,
		Every: []time.Duration{10 * time.Second},
	})
	if f := r.Flapping; err != nil || len(f) != 2 || f[1].Events >= f[0].Events/2 || len(r.Throughput) > 0 {
		t.Errorf("%v, %+v", err, f)
	}
}

// A rule is changed while positions come in.
func TestRules(t *testing.T) {
	o := Options{Setup: doors.Setup{Sets: yard(t), Progress: io.Discard}, Policies: []string{"steady"}, Objects: 500, Rules: 50}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	x := r.Rules
	if x == nil || x.Rules != 50 || x.Objects != 500 || len(x.Changes) != 2 || x.Changes[1].Of != ofAll || len(r.Flapping)+len(r.Throughput) > 0 {
		t.Fatalf("%+v", r)
	}
	for _, c := range x.Changes {
		if c.Changes != ruleChanges || c.InUse.Least <= 0 || c.Everywhere.Median < c.InUse.Median || c.Wait.Most <= 0 || c.Idle.Most <= 0 {
			t.Errorf("%+v", c)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "50 rules, 500 objects under steady") {
		t.Errorf("%v\n%s", err, &text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, o); err == nil || r.Rules != nil {
		t.Errorf("an ended context: %v, %+v", err, r)
	}
}

// Recorded positions are counted under each policy: a vehicle that swings over the boundary.
func TestRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "positions.ndjson")
	const text = `{"id":"v","lon":-0.0001,"lat":0.005,"t":"2026-01-01T00:00:00Z"}
{"id":"v","lon":0.0001,"lat":0.005,"t":"2026-01-01T00:00:10Z"}
{"id":"v","lon":-0.0001,"lat":0.005,"t":"2026-01-01T00:00:20Z"}
{"id":"v","lon":0.0001,"lat":0.005,"t":"2026-01-01T00:00:30Z"}
{"id":"v","lon":0.0001,"lat":95,"t":"2026-01-01T00:00:30Z"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{Setup: doors.Setup{Sets: yard(t), Progress: io.Discard}, Policies: []string{"raw", "steady"}, File: file})
	if err != nil || len(r.Recorded) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	raw, steady := r.Recorded[0], r.Recorded[1]
	if raw.Events["enter"] != 2 || raw.Events["exit"] != 1 || raw.Returns != 1 || raw.Positions != 4 || raw.Rejected != 1 ||
		len(raw.Worst) != 1 || raw.Worst[0] != (FenceReturns{"yard", "a", 1}) {
		t.Errorf("raw: %+v", raw)
	}
	if len(steady.Events) != 0 || steady.Returns != 0 {
		t.Errorf("steady: %+v", steady)
	}
}
