package sweep

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/internal/sampling"
	"paddock/lab/internal/runfile"
)

// tables are the rates of ab and goab over 1, 20, 30, 50 and 100 connections, and of both against
// a server in Go over 1, 20, 50 and 100, with their laws by another program: lambda, sigma, kappa,
// and the connections with the highest rate.
var tables = []struct {
	name   string
	points []Point
	law    Law
	peak   float64
}{
	{"ab, nginx", []Point{{1, 4638}, {20, 10640}, {30, 10491}, {50, 10938}, {100, 10802}}, Law{4644, 0.410, 0.00014}, 65},
	{"goab, nginx", []Point{{1, 5024}, {20, 9785}, {30, 9491}, {50, 8443}, {100, 7053}}, Law{5029, 0.432, 0.00286}, 14.1},
	{"goab, Go", []Point{{1, 6249}, {20, 14135}, {50, 12564}, {100, 9760}}, Law{6240, 0.355, 0.00275}, 15.3},
	{"ab, Go", []Point{{1, 8864}, {20, 22415}, {50, 22248}, {100, 21961}}, Law{8899, 0.361, 0.00040}, 40},
}

// The fit of tables with a known law comes out as that, within the digits that are known, and
// describes them.
func TestFitOfTables(t *testing.T) {
	for _, tc := range tables {
		f := Scale(tc.points)
		near := func(name string, got, want, digit float64) {
			if math.Abs(got-want) > digit {
				t.Errorf("%s: %s %v, want %v", tc.name, name, got, want)
			}
		}
		near("lambda", f.Law.Lambda, tc.law.Lambda, 1)
		near("sigma", f.Law.Sigma, tc.law.Sigma, 0.0015)
		near("kappa", f.Law.Kappa, tc.law.Kappa, 0.00001)
		near("peak", f.Law.Peak(), tc.peak, 0.02*tc.peak)
		if f.R2 < 0.997 || len(f.Poor) > 0 {
			t.Errorf("%s: R2 %v, %q", tc.name, f.R2, f.Poor)
		}
		for _, e := range []Estimate{f.Lambda, f.Sigma, f.Kappa, f.Peak} {
			if e.Low == nil || *e.Low > *e.Value || e.High != nil && *e.High < *e.Value {
				t.Errorf("%s: %s", tc.name, e.text("%v"))
			}
		}
	}
}

// The intervals of 95 % hold the truth in at least 93 of 100 sweeps of a known law, under noise of
// 2 % of the highest rate. In 2,000 sweeps of another seed it is 95.5 to 96.4.
func TestCoverage(t *testing.T) {
	sampling.Sequential(t)
	law := Law{1000, 0.05, 0.0005}
	const trials = 200
	var held [3]float64
	for trial := range trials {
		rng := rand.New(rand.NewPCG(20261127, uint64(trial)))
		var points []Point
		for _, n := range []float64{1, 2, 5, 10, 20, 50, 100} {
			points = append(points, Point{n, law.At(n) + 0.02*law.top()*rng.NormFloat64()})
		}
		f := Scale(points)
		for i, e := range []struct {
			of   Estimate
			true float64
		}{{f.Lambda, law.Lambda}, {f.Sigma, law.Sigma}, {f.Peak, law.Peak()}} {
			if *e.of.Low <= e.true && (e.of.High == nil || e.true <= *e.of.High) {
				held[i]++
			}
		}
	}
	for _, h := range held {
		if h < 0.93*trials {
			t.Errorf("held in %v of %d", held, trials)
		}
	}
}

// level is a run over some connections, or at a rate.
func level(conns int, target, rate, seconds float64, lamp string) Level {
	d := &runfile.Document{Plan: runfile.Plan{Conns: conns}, Verdict: runfile.Verdict{Level: lamp}, Response: &runfile.Times{Mean: int64(1e9 * seconds)}}
	for _, q := range runfile.Quantiles {
		d.Response.Quantiles = append(d.Response.Quantiles, runfile.Quantile{Q: q, Value: int64(1e9 * seconds)})
	}
	d.Totals.PerSecond = &rate
	return LevelOf(d, target, 0, "")
}

// One server with the service time S, whose clients are elsewhere for Z between two requests, does
// X(n) = min(n / (S + Z), 1 / S). Its knee is at (S + Z) / S connections, within 3 % under noise of
// 1 %. It has corners where the law has none, and so the report says that the law is poor.
func TestKneeOfOneServer(t *testing.T) {
	const s, z = 0.02, 0.18
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var levels []Level
		for _, n := range []int{1, 2, 5, 10, 20, 50} {
			for range 3 {
				x := math.Min(float64(n)/(s+z), 1/s) * (1 + 0.01*rng.NormFloat64())
				levels = append(levels, level(n, 0, x, float64(n)/x-z, "green"))
			}
		}
		r := New("one server", levels, false)
		if math.Abs(*r.Knee.Conns/((s+z)/s)-1) > 0.03 || math.Abs(r.Knee.Rate*s-1) > 0.03 {
			t.Errorf("seed %d: the knee is at %v connections, %v/s", seed, *r.Knee.Conns, r.Knee.Rate)
		}
		if len(r.Fit.Poor) == 0 {
			t.Errorf("seed %d: the law describes it: %+v", seed, r.Fit)
		}
	}
}

// Red runs are named and left out of the fit; with too few levels, or over rates, there is none.
func TestNew(t *testing.T) {
	law := Law{100, 0.1, 0.001}
	var levels []Level
	for _, n := range []int{1, 2, 5, 10, 20} {
		levels = append(levels, level(n, 0, law.At(float64(n)), 0.01*float64(n), "green"))
	}
	red := append(levels, level(50, 0, 10, 1, "red"))
	for _, tc := range []struct {
		name   string
		levels []Level
		allow  bool
		fit    bool
		want   string
	}{
		{"green", levels, false, true, "lambda 100"},
		{"red", red, false, true, "left out: 50 connections, where the generator was the bottleneck"},
		{"red that is allowed", red, true, true, "the law does not describe this service"},
		{"few", levels[:3], false, false, "it takes 4 different numbers"},
		{"nothing", []Level{level(1, 0, 0, 0, "green")}, false, false, "0/s"},
		{"growing", []Level{level(1, 0, 10, 1, "green"), level(2, 0, 20, 1, "green")}, false, false, "no knee within these loads"},
		{"rates", []Level{level(50, 100, 100, 0.01, "green"), level(50, 200, 190, 0.5, "green")}, false, false, "knee: 100/s"},
	} {
		r := New("title", tc.levels, tc.allow)
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), tc.want) || (r.Fit != nil) != tc.fit {
			t.Errorf("%s: %v\n%s", tc.name, err, text.String())
		}
	}
}
