package harness

import (
	"slices"
	"strings"
	"testing"
)

// The median of the ratios is not the ratio of the medians: a slow hour that
// halves both of a round leaves its ratio as it is.
func TestRatiosAreTakenWithinARound(t *testing.T) {
	contender := map[int]float64{0: 20, 1: 10, 2: 40, 3: 7, 4: 5}
	base := map[int]float64{0: 10, 1: 5, 2: 10, 4: 0}
	got := ratios(contender, base)
	if want := []float64{2, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: round 3 has no base, and that of round 4 is zero", got, want)
	}
}

// rounds makes the samples of one contender, one for each value.
func rounds(contender string, m Metric, values ...float64) []Sample {
	var all []Sample
	for i, v := range values {
		all = append(all, Sample{Goal: "g", Round: i, Contender: contender, Metrics: map[Metric]float64{m: v}})
	}
	return all
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name         string
		bar          Bar
		ours, theirs []float64
		met, reached bool
		text         string
	}{
		{
			"at least, met",
			Bar{Metric: OpsPerSecond, Pass: 12, Stretch: 20},
			[]float64{130, 120, 300},
			[]float64{10, 10, 10},
			true, false,
			"bar: wire >= 12x grpc in ops_per_s (goal 20x): met, 13.00x (12.00..30.00)",
		},
		{
			"at least, with the goal",
			Bar{Metric: OpsPerSecond, Pass: 12, Stretch: 20},
			[]float64{200},
			[]float64{10},
			true, true,
			"bar: wire >= 12x grpc in ops_per_s (goal 20x): met, with the goal, 20.00x (20.00..20.00)",
		},
		{
			"at least, missed though the best round is above",
			Bar{Metric: OpsPerSecond, Pass: 12},
			[]float64{110, 110, 300},
			[]float64{10, 10, 10},
			false, false,
			"bar: wire >= 12x grpc in ops_per_s: MISSED, 11.00x (11.00..30.00)",
		},
		{
			"at most, met",
			Bar{Metric: P50, Pass: 1.25, AtMost: true},
			[]float64{12},
			[]float64{10},
			true, false,
			"bar: wire <= 1.25x grpc in p50_us: met, 1.20x (1.20..1.20)",
		},
		{
			"at most, missed",
			Bar{Metric: P50, Pass: 1.25, AtMost: true},
			[]float64{13},
			[]float64{10},
			false, false,
			"bar: wire <= 1.25x grpc in p50_us: MISSED, 1.30x (1.30..1.30)",
		},
		{
			"the figure itself, met",
			Bar{Metric: NanosPerOp, Pass: 40, Stretch: 20, AtMost: true},
			[]float64{38, 36, 41},
			nil, true, false,
			"bar: wire <= 40 ns_per_op (goal 20): met, 38ns (36ns..41ns)",
		},
		{
			"no base",
			Bar{Metric: P50, Pass: 1.25, AtMost: true},
			[]float64{13},
			nil, false, false,
			"bar: wire <= 1.25x grpc in p50_us: not measured",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.bar.Contender = "wire"
			if !strings.HasPrefix(tc.name, "the figure itself") {
				tc.bar.Base = "grpc"
			}
			samples := append(rounds("wire", tc.bar.Metric, tc.ours...), rounds("grpc", tc.bar.Metric, tc.theirs...)...)
			got := Judge(&Goal{Name: "g", Bars: []Bar{tc.bar}}, samples)[0]
			if got.Met != tc.met || got.Reached != tc.reached || got.String() != tc.text {
				t.Errorf("got met %v, reached %v\n%s\nwant\n%s", got.Met, got.Reached, got, tc.text)
			}
		})
	}
}
