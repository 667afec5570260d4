package responder_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"paddock/lab/responder"
	"paddock/load"
)

// near says that two durations differ by no more than a share of the first.
func near(want, got time.Duration, share float64) bool {
	return math.Abs(float64(got-want)) <= share*float64(want)
}

// meanResponse returns the mean response time of a queue that never freezes, for random requests at
// a rate: the formula of Pollaczek and Khinchine.
func meanResponse(q *responder.Queue, perSecond float64) time.Duration {
	rho := perSecond / q.PerSecond
	return time.Duration(float64(q.Service()) * (1 + rho/(2*(1-rho))))
}

// The response times of a queue that freezes are those of the formula, at every percentile.
func TestFrozenQueueByItsFormula(t *testing.T) {
	const perSecond = 10_000
	for _, q := range []*responder.Queue{
		{PerSecond: 100_000, Frozen: time.Second, Every: 10 * time.Second},
		{PerSecond: 50_000, Frozen: 500 * time.Millisecond, Every: 800 * time.Millisecond},
		{PerSecond: 20_000, Frozen: 100 * time.Millisecond, Every: 10 * time.Second},
	} {
		var all []time.Duration
		arrivals := load.Constant{PerSecond: perSecond, For: 4 * q.Every}.Stripe(0, 1)
		for at, ok := arrivals.Next(); ok; at, ok = arrivals.Next() {
			all = append(all, q.Due(at)-at)
		}
		slices.Sort(all)
		for _, p := range []float64{0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1} {
			want, got := q.Response(p, perSecond), all[max(int(math.Ceil(p*float64(len(all))))-1, 0)]
			if !near(want, got, 0.01) {
				t.Errorf("%v: the %v quantile is %v, by the formula %v", q, p, got, want)
			}
		}
	}
}

// That of the usual example: a second of every ten, a tenth of the speed used.
func TestFrozenQueueExample(t *testing.T) {
	q := responder.Queue{PerSecond: 100_000, Frozen: time.Second, Every: 10 * time.Second}
	if got := q.Response(0.99, 10_000); !near(910*time.Millisecond, got, 0.0001) {
		t.Errorf("p99 is %v, want 0.91 s", got)
	}
}

// Requests at random wait for as long as Pollaczek and Khinchine say.
func TestQueueByItsFormula(t *testing.T) {
	for _, perSecond := range []float64{200, 500, 800} {
		q := &responder.Queue{PerSecond: 1000}
		var sum time.Duration
		const n = 400_000
		arrivals := load.Poisson{PerSecond: perSecond, Seed: 1}.Stripe(0, 1)
		for range n {
			at, _ := arrivals.Next()
			sum += q.Due(at) - at
		}
		if want, got := meanResponse(q, perSecond), sum/n; !near(want, got, 0.02) {
			t.Errorf("at %v/s the mean is %v, by the formula %v", perSecond, got, want)
		}
	}
}

// A queue goes on with the request that a pause has interrupted.
func TestQueueGoesOn(t *testing.T) {
	q := &responder.Queue{PerSecond: 10, Frozen: time.Second, Every: 2 * time.Second}
	for _, step := range []struct{ arrived, due time.Duration }{
		{5 * time.Second, 6100 * time.Millisecond}, // the first request begins a period
		{6950 * time.Millisecond, 8050 * time.Millisecond},
		{8050 * time.Millisecond, 8150 * time.Millisecond},
		{8050 * time.Millisecond, 8250 * time.Millisecond},
		{8050 * time.Millisecond, 8350 * time.Millisecond},
	} {
		if got := q.Due(step.arrived); got != step.due {
			t.Errorf("what arrives at %v is answered at %v, want %v", step.arrived, got, step.due)
		}
	}
}

// Work that takes longer than a period is spread over several.
func TestQueueOverPeriods(t *testing.T) {
	for i := range 6 {
		q := &responder.Queue{PerSecond: 1 / (time.Duration(2*(i+1)) * time.Second).Seconds(), Frozen: 6 * time.Second, Every: 10 * time.Second}
		// Of each ten seconds it works in the last four.
		left := time.Duration(2 * (i + 1))
		want := (left-1)/4*10 + 6 + (left-1)%4 + 1
		if got := q.Due(0).Round(time.Microsecond); got != want*time.Second {
			t.Errorf("%v of work end at %v, want %vs", q.Service(), got, int(want))
		}
	}
}

// The times that are drawn have the distribution that was asked for: Kolmogorov and
// Smirnov's bound at 1 %.
func TestDrawn(t *testing.T) {
	points := []responder.Point{{Share: 0, Time: time.Millisecond}, {Share: 0.5, Time: 2 * time.Millisecond}, {Share: 0.99, Time: 50 * time.Millisecond}, {Share: 1, Time: time.Second}}
	d, err := responder.NewDrawn(7, points...)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d.Due(0)
	}
	slices.Sort(all)
	for _, p := range points {
		at, _ := slices.BinarySearch(all, p.Time+1)
		if share := float64(at) / n; math.Abs(share-p.Share) > 1.63/math.Sqrt(n) {
			t.Errorf("%v of the times are up to %v, want %v", share, p.Time, p.Share)
		}
		if d.Response(p.Share) != p.Time {
			t.Errorf("the %v quantile is %v", p.Share, d.Response(p.Share))
		}
	}
	if got := d.Response(0.25); got != 1500*time.Microsecond {
		t.Errorf("between two points it is %v", got)
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		"at once", "delay 5ms", "queue 1000/s", "queue 2.5e+06/s", "queue 10000/s frozen 1s every 10s", "drawn 0=1ms 0.5=2ms 1=1s",
	} {
		law, err := responder.Parse(text, 1)
		if err != nil || law.String() != text {
			t.Errorf("%q is %v, %v", text, law, err)
		}
	}
	for _, text := range []string{
		"", "at", "at last", "at once again", "soon now", "delay", "delay x", "delay -1s", "delay 2h", "delay 1s 2s",
		"queue 5", "queue x/s", "queue 0/s", "queue -1/s", "queue NaN/s", "queue Inf/s", "queue 1e-300/s",
		"queue 1/s frozen 1s", "queue 1/s frozen 1s every 1s", "queue 1/s frozen x every 1s", "queue 1/s frozen 1s every x",
		"drawn 0=1s", "drawn 0=1s 0.5=2s", "drawn 0.1=1s 1=2s", "drawn 0=2s 1=1s", "drawn 0=1s 2=2s", "drawn 0=1s x=2s", "drawn 0=1s 1",
		"drawn 0=1s 0=2s 1=3s", "drawn NaN=1s 1=2s",
	} {
		if law, err := responder.Parse(text, 1); err == nil {
			t.Errorf("%q is %v", text, law)
		}
	}
}

// The String of a parsed law parses again, and no answer is due before its request.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"at once", "delay 5ms", "queue 10000/s frozen 1s every 10s", "drawn 0=1ms 0.5=2ms 1=1s", "queue 0.001/s frozen 59m every 1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		law, err := responder.Parse(text, 1)
		if err != nil {
			return
		}
		again, err := responder.Parse(law.String(), 1)
		if err != nil || again.String() != law.String() {
			t.Errorf("%q is %q, which is %v, %v", text, law, again, err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		var at time.Duration
		for range 10 {
			at += time.Duration(rng.Int64N(int64(time.Second)))
			if due := law.Due(at); due < at {
				t.Fatalf("%q answers at %v what comes at %v", text, due, at)
			}
		}
	})
}
