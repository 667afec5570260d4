package loadbench

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every bar is about contenders of its goal, and every goal's contenders are named once.
func TestGoals(t *testing.T) {
	for _, g := range Goals() {
		names := map[string]bool{"": true} // of a bar without a base
		for _, c := range g.Contenders {
			if names[c.Name] {
				t.Errorf("%s has two contenders %q", g.Name, c.Name)
			}
			names[c.Name] = true
		}
		for _, bar := range g.Bars {
			if !names[bar.Contender] || !names[bar.Base] || bar.Contender == "" {
				t.Errorf("%s: %s", g.Name, bar.Rule())
			}
		}
	}
}

const (
	abText = `Time taken for tests:   1.000 seconds
Complete requests:      58081
Failed requests:        0
Total transferred:      8712150 bytes
Requests per second:    58081.00 [#/sec] (mean)
Time per request:       0.861 [ms] (mean)
Percentage of the requests served within a certain time (ms)
  50%      1
  90%      2
  99%      4
 100%     64 (longest request)
`
	heyText = "Summary:\n  Total:\t1.0014 secs\n\nLatency distribution:\n  50% in 0.0022 secs\n  90% in 0.0059 secs\n  99% in 0.0171 secs\n\n" +
		"Status code distribution:\n  [200]\t16684 responses\n"
	ohaText = `{"summary":{"successRate":1.0,"total":1.5,"totalData":100},
"latencyPercentiles":{"p50":0.001,"p90":0.002,"p99":0.003,"p99.9":0.004,"p99.99":null},
"statusCodeDistribution":{"200":1000},"errorDistribution":{"aborted due to deadline":50}}`
	wrkText = "x\nsummary requests=2000 duration=1000000 bytes=99 errors=0 mean=1500 p50=1000 p90=2000 p99=3000 p999=4000 max=5000\n"
)

// The output of the programs is read correctly, and a run with failures is an error.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		peer, text    string
		ops           int64
		elapsed       time.Duration
		p50, p90, p99 float64 // us
		bad, instead  string
	}{
		{wrkPeer, wrkText, 2000, time.Second, 1000, 2000, 3000, "errors=0", "errors=1"},
		{abPeer, abText, 58081, time.Second, 1000, 2000, 4000, "Failed requests:        0", "Failed requests:        3"},
		{heyPeer, heyText, 16684, 1001400 * time.Microsecond, 2200, 5900, 17100, "[200]", "[503]"},
		{ohaPeer, ohaText, 1000, 1500 * time.Millisecond, 1000, 2000, 3000, `"200"`, `"500"`},
	} {
		m := &measure.Measurement{Figures: map[string]float64{}}
		if err := others[tc.peer].read(tc.text, m); err != nil {
			t.Errorf("%s: %v", tc.peer, err)
		}
		near := func(m map[string]float64, metric harness.Metric, want float64) bool {
			return math.Abs(m[string(metric)]-want) < 1e-6*want
		}
		if tc.peer == wrkPeer { // the harness takes these from the latency
			m.Figures[string(harness.P50)], m.Figures[string(harness.P99)] = us(m.Latency.P50), us(m.Latency.P99)
		}
		if m.Ops != tc.ops || m.Elapsed != tc.elapsed || !near(m.Figures, harness.P50, tc.p50) || !near(m.Figures, harness.P90, tc.p90) || !near(m.Figures, harness.P99, tc.p99) {
			t.Errorf("%s: got %+v", tc.peer, m)
		}
		for _, bad := range []string{"", strings.Replace(tc.text, tc.bad, tc.instead, 1)} {
			if err := others[tc.peer].read(bad, &measure.Measurement{Figures: map[string]float64{}}); err == nil {
				t.Errorf("%s: no error for %q", tc.peer, bad)
			}
		}
	}
}

// A program that does not support an operation is left out.
func TestWhatOthersCannot(t *testing.T) {
	for peer, g := range others {
		for op, can := range map[measure.Operation]bool{
			opNull: !publishes(peer), opFrozen: !publishes(peer), opPublish: publishes(peer), opPost: peer == wrkPeer, opPipeline: peer == wrkPeer, opCorrect: peer == ohaPeer, opHybrid: false,
		} {
			_, err := g.args(&order{op: op, conns: 10, rate: 1000, duration: time.Second})
			if can != (err == nil) || err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s, %s: %v", peer, op, err)
			}
		}
	}
}

func publishes(peer string) bool { return peer == natsPeer || peer == bufioPeer }

func TestRateError(t *testing.T) {
	for sent, want := range map[int64]float64{20_000: 0, 19_998: 0.01, 20_002: 0.01, 0: 100} {
		if got := rateError(sent, int64(2*time.Second)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d sent: %v %%, want %v", sent, got, want)
		}
	}
}

func TestGrowth(t *testing.T) {
	for _, tc := range []struct {
		samples []float64
		want    float64
		ok      bool
	}{
		{[]float64{1, 2, 3}, 0, false},
		{[]float64{1, 9, 9, 9, 9, 9, 9, 9}, 0, true},   // the start does not count
		{[]float64{1, 1, 5, 5, 6, 7, 8, 8}, 3, true},   // the last quarter against the second
		{[]float64{9, 9, 9, 9, 5, 5, 5, 5}, 0, true},   // less is no growth
		{[]float64{1, 1, 5, 5, 6, 7, 8, 99}, 94, true}, // the later of two is their median
	} {
		if got, ok := growth(tc.samples); got != tc.want || ok != tc.ok {
			t.Errorf("%v: %v, %v", tc.samples, got, ok)
		}
	}
	if use, err := process.Read(os.Getpid()); err == nil && use.Resident < 1e6 {
		t.Errorf("this process has %v bytes", use.Resident)
	}
}

// The known times of the frozen service agree with the formula of its law.
func TestKnown(t *testing.T) {
	// A tenth of the time it stands still, for 200 ms; 9 of 10 requests that wait see less
	// than the pause: P(R > x) = (0.2 - x) / (2 * 0.9).
	m := known()
	for metric, want := range map[harness.Metric]float64{harness.P50: 100, harness.P90: 20_100, harness.P99: 182_100, harness.P999: 198_300} {
		if got := m.Figures[string(metric)]; math.Abs(got-want) > 1 {
			t.Errorf("%s: %v, want %v", metric, got, want)
		}
	}
	for d, want := range map[time.Duration]time.Duration{time.Second: 2 * time.Second, 3 * time.Second: 4 * time.Second, 4 * time.Second: 4 * time.Second} {
		if got := frozenTime(d); got != want {
			t.Errorf("%v is %v in whole periods, want %v", d, got, want)
		}
	}
}

// The live view has a terminal, whose output is discarded.
func TestTerminal(t *testing.T) {
	s, err := openTerminal()
	if err != nil {
		t.Skip(err) // a container may have none
	}
	if _, err := s.slave.Write(slices.Repeat([]byte("line\n"), 100_000)); err != nil {
		t.Error(err)
	}
	s.close()
}
