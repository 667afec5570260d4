package diff

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/histogram"
)

// series is the speed of a service by the second: noise that lasts, an AR(1) process, around 1.
type series struct {
	rng        *rand.Rand
	phi, noise float64 // the correlation of neighbours, and the standard deviation
	at         float64
	slower     float64 // by which times are longer
	interval   *load.Interval
}

func (s *series) next() float64 {
	s.at = s.phi*s.at + math.Sqrt(1-s.phi*s.phi)*s.noise*s.rng.NormFloat64()
	return math.Exp(s.at)
}

// second is one of a closed run of 4 connections: the slower, the fewer answers.
func (s *series) second() *load.Interval {
	slow := s.next() * s.slower
	if s.interval == nil {
		s.interval = &load.Interval{Length: time.Second, Response: histogram.New()}
	}
	v := s.interval
	v.Response.Reset()
	var sum float64
	for sum < 4*float64(time.Second) {
		ns := 10e6 * slow * math.Exp(0.4*s.rng.NormFloat64())
		v.Response.Record(int64(ns))
		sum += ns
	}
	v.Done = int64(v.Response.Count())
	v.Failed[load.ClassOK] = v.Done
	v.Threads = []load.ThreadUse{{CPU: time.Duration(v.Done) * 10 * time.Microsecond, Wall: time.Second}}
	return v
}

// single is a run of so many seconds.
func (s *series) single(seconds int) *Side {
	side := &Side{Runs: []*runfile.Document{{Verdict: runfile.Verdict{Level: "green"}}}}
	for range 100 {
		s.next()
	}
	for range seconds {
		side.add(partOf(s.second()))
	}
	return side
}

// several are runs whose figures vary by noise; those of the p99 by three times of it.
func (s *series) several(runs int) *Side {
	side := &Side{}
	for range runs {
		common := s.noise * s.rng.NormFloat64()
		vary := func(of, by float64) float64 {
			return of * s.slower * math.Exp(0.7*common+0.7*by*s.noise*s.rng.NormFloat64())
		}
		rate := 1000 / vary(1, 1)
		d := &runfile.Document{Verdict: runfile.Verdict{Level: "green"}, Response: &runfile.Times{}}
		d.Totals.PerSecond, d.Totals.InTime = &rate, 1
		values := map[float64]float64{0.5: vary(1e6, 1), 0.9: vary(2e6, 1.5), 0.99: vary(4e6, 3)}
		for _, q := range runfile.Quantiles {
			d.Response.Quantiles = append(d.Response.Quantiles, runfile.Quantile{Q: q, Value: int64(values[q]), Enough: values[q] > 0})
		}
		side.Runs = append(side.Runs, d)
	}
	return side
}

func threshold(string) float64 { return DefaultThreshold }

// trials is how many comparisons are made of each kind. In 2,000 comparisons of ten runs, 4.2 of
// 100 tell the same program apart, and 88 tell 3 %; in 400 of two minutes, 3 of 100 do the former.
const trials = 100

func manyTrials(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it has no goroutines")
	}
}

// alarms is in how many of 100 comparisons a change is told, in either direction, and a change for
// the worse.
func alarms(make func(rng *rand.Rand, slower float64) *Side, slower float64) (any, worse float64) {
	for trial := range trials {
		rng := rand.New(rand.NewPCG(20261127, uint64(trial)))
		r := Compare(make(rng, 1), make(rng, slower), threshold, false)
		if w := len(r.Has(Worse)); w > 0 {
			worse += 100.0 / trials
			any += 100.0 / trials
		} else if len(r.Has(Better)) > 0 {
			any += 100.0 / trials
		}
	}
	return any, worse
}

// Two runs of one program are told apart in at most 5 of 100 comparisons, and a program that has
// become 3 % slower in at least 80: with ten runs that vary by 2 %, and with one run of two minutes
// whose seconds vary by 3 %, and have a correlation of 0.5 with their neighbours.
func TestPower(t *testing.T) {
	manyTrials(t)
	for _, tc := range []struct {
		name string
		make func(rng *rand.Rand, slower float64) *Side
	}{
		{"ten runs", func(rng *rand.Rand, slower float64) *Side {
			return (&series{rng: rng, noise: 0.02, slower: slower}).several(10)
		}},
		{"two minutes", func(rng *rand.Rand, slower float64) *Side {
			return (&series{rng: rng, noise: 0.03, phi: 0.5, slower: slower}).single(120)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			any, _ := alarms(tc.make, 1)
			_, worse := alarms(tc.make, 1.03)
			t.Logf("the same: %v of 100; 3 %% slower: %v of 100", any, worse)
			if any > 5 {
				t.Errorf("the same program: told apart in %v of 100", any)
			}
			if worse < 80 {
				t.Errorf("3 %% slower: told in %v of 100", worse)
			}
		})
	}
}

// Noise that lasts makes no change: the parts grow with the correlation of the seconds.
func TestLastingNoise(t *testing.T) {
	manyTrials(t)
	var sizes []int
	for _, phi := range []float64{0, 0.8} {
		s := series{rng: rand.New(rand.NewPCG(1, 2)), noise: 0.03, phi: phi, slower: 1}
		sizes = append(sizes, batch(s.single(240).parts))
	}
	if any, _ := alarms(func(rng *rand.Rand, slower float64) *Side {
		return (&series{rng: rng, noise: 0.1, phi: 0.8, slower: slower}).single(240)
	}, 1); any > 5 {
		t.Errorf("told apart in %v of 100", any)
	}
	if !slices.IsSorted(sizes) || sizes[0] > 3 || sizes[1] < 10 {
		t.Errorf("parts of %v s", sizes)
	}
}

// Each outcome, with the reason where there is none.
func TestOutcomes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	base := series{rng: rng, noise: 0.001, slower: 1}
	slow := series{rng: rng, noise: 0.001, slower: 1.1}
	noisy := series{rng: rng, noise: 0.2, slower: 1}
	for _, tc := range []struct {
		name    string
		a, b    *Side
		outcome string
		why     string
	}{
		{"same", base.several(6), base.several(6), Same, ""},
		{"slower", base.several(6), slow.several(6), Worse, ""},
		{"faster", slow.several(6), base.several(6), Better, ""},
		{"noisy", noisy.several(6), noisy.several(6), Unknown, "not ruled out: it takes about"},
		{"few runs", base.several(3), slow.several(3), Unknown, "3 and 3 runs, where it takes 6"},
		{"one and many", base.several(10), slow.single(100), Unknown, "it takes"},
		{"few seconds", base.single(5), slow.single(5), Unknown, "parts of"},
	} {
		r := Compare(tc.a, tc.b, threshold, false)
		if row := r.Rows[0]; row.Outcome != tc.outcome || !strings.Contains(row.Why, tc.why) {
			t.Errorf("%s: %+v", tc.name, row)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), tc.outcome) {
			t.Errorf("%s: %v: %s", tc.name, err, text.String())
		}
	}
	red := base.several(6)
	red.Runs[3].Verdict.Level = "red"
	if r := Compare(base.several(6), red, threshold, false); len(r.Has(Unknown)) != 4 || !strings.Contains(r.Notes[0], "--allow-red") {
		t.Errorf("a red run: %+v", r)
	}
	if r := Compare(base.several(6), red, threshold, true); len(r.Has(Same)) != 4 {
		t.Errorf("a red run that is allowed: %+v", r)
	}
}

// The interval of a shift agrees with the tables of the test.
func TestShift(t *testing.T) {
	a, b := []float64{}, []float64{}
	for i := range 10 { // values whose quotients are all different
		a, b = append(a, 1), append(b, 1+float64(i)/100)
	}
	change, low, high := shift(a, b, normal)
	// The critical value for 10 and 10 is 23: the interval begins at the 24th of 100 pairs.
	if math.Abs(change-0.045) > 1e-9 || math.Abs(low-0.02) > 1e-9 || math.Abs(high-0.07) > 1e-9 {
		t.Errorf("%v from %v to %v", change, low, high)
	}
}

func TestThresholds(t *testing.T) {
	of, err := Thresholds("2%, p99=10%")
	if err != nil || of("p50") != 0.02 || of("p99") != 0.1 {
		t.Error(err)
	}
	for _, bad := range []string{"", "3", "0%", "-1%", "p98=3%", "NaN%", "3%%", "p99"} {
		if _, err := Thresholds(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Loads that differ are named with the member, and a bad file with its name.
func TestRead(t *testing.T) {
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(t.TempDir(), path, "run.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct{ text, want string }{
		{`{"schema": "other/1"}`, "schema"},
		{`{`, "run.json"},
		{`{"schema": "paddock.run/1", "response": {"quantiles": []}}`, "quantiles"},
	} {
		if _, err := Read(write("x", tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.text, err)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no run") {
		t.Error(err)
	}
	a := &Side{Runs: []*runfile.Document{{Plan: runfile.Plan{Conns: 1, Address: "a"}, Title: "GET http://a/x"}}}
	b := &Side{Runs: []*runfile.Document{{Plan: runfile.Plan{Conns: 2, Address: "b"}, Title: "GET http://b/x"}}}
	if fields := a.Differ(b); len(fields) != 1 || fields[0] != "conns (1 and 2)" {
		t.Errorf("%q", fields)
	}
}
