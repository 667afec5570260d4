package webload

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrksSummary(t *testing.T) {
	var m measure.Measurement
	out := "Requests/sec: 1\nsummary requests=2000 duration=1000000 bytes=99 errors=0 mean=1500 p50=1000 p90=2000 p99=3000 p999=4000 max=5000\n"
	if err := ReadSummary(out, &m); err != nil {
		t.Fatal(err)
	}
	if m.Ops != 2000 || m.Elapsed != time.Second || m.Bytes != 99 || m.Latency.P50 != time.Millisecond || m.Latency.Max != 5*time.Millisecond {
		t.Errorf("got %+v", m)
	}
	for bad, want := range map[string]string{
		"wrk: unable to connect":                          "no summary",
		strings.Replace(out, "errors=0", "errors=3", 1):   "3 of 2000 requests failed",
		strings.Replace(out, "requests=2000", "two=2", 1): "wrk's summary",
		strings.Replace(out, "2000 d", "0 d", 1):          "no answer",
	} {
		if err := ReadSummary(bad, &m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}
