package load_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"paddock/load"
)

var laws = map[string]load.Arrivals{
	"constant": load.Constant{PerSecond: 900, For: 3 * time.Second},
	"poisson":  load.Poisson{PerSecond: 900, For: 3 * time.Second, Seed: 1},
	"ramp":     load.Ramp{From: 100, To: 2000, For: 3 * time.Second},
	"falling":  load.Ramp{From: 2000, To: 0, For: 3 * time.Second},
	"burst":    load.Burst{Size: 30, Every: 100 * time.Millisecond, For: 3 * time.Second},
	"stages": load.Stages{
		load.Ramp{From: 0, To: 500, For: time.Second},
		load.Constant{PerSecond: 700, For: 1500 * time.Millisecond},
		load.Poisson{PerSecond: 300, For: time.Second, Seed: 2},
	},
}

func all(s load.Stripe) (times []time.Duration) {
	for {
		at, ok := s.Next()
		if !ok {
			return times
		}
		times = append(times, at)
	}
}

// The stripes of several threads add up to the sequence of one thread.
func TestStripes(t *testing.T) {
	for name, law := range laws {
		whole := all(law.Stripe(0, 1))
		if !slices.IsSorted(whole) || len(whole) == 0 || whole[0] < 0 || whole[len(whole)-1] >= law.Length() {
			t.Errorf("%s: %d arrivals do not go forward within %v", name, len(whole), law.Length())
		}
		for _, of := range []int{2, 3, 7} {
			union := make([]time.Duration, len(whole))
			for part := range of {
				for i, at := range all(law.Stripe(part, of)) {
					union[part+i*of] = at
				}
			}
			if !slices.Equal(union, whole) {
				t.Errorf("%s: %d stripes are not the whole", name, of)
			}
		}
	}
}

// An arrival that is centuries away is not due before, however many threads look ahead.
func TestRareArrivals(t *testing.T) {
	for _, text := range []string{"1e-10/s", "poisson 1e-10/s", "1e-10/s for 10s", "poisson 1e-10/s for 10s"} {
		law, err := load.ParseArrivals(text, 1)
		if err != nil {
			t.Error(err)
			continue
		}
		for part := range 16 {
			stripe := law.Stripe(part, 16)
			for n := range 3 {
				if at, ok := stripe.Next(); ok && at < 100*365*24*time.Hour && part+n > 0 {
					t.Errorf("%s: number %d is due after %v", text, part+16*n, at)
				}
			}
		}
	}
}

// Up to any time there are as many arrivals as the integral of the rate says: to one in a
// sequence without chance, and to a burst for bursts.
func TestRates(t *testing.T) {
	for name, law := range laws {
		if name == "poisson" || name == "stages" {
			continue
		}
		slack := 1.0
		if b, ok := law.(load.Burst); ok {
			slack = float64(b.Size)
		}
		times := all(law.Stripe(0, 1))
		integral, n := 0.0, 0
		const step = time.Millisecond
		for at := time.Duration(0); at < law.Length(); at += step {
			for n < len(times) && times[n] <= at {
				n++
			}
			if math.Abs(float64(n)-integral) > slack+1e-6 {
				t.Fatalf("%s: %d arrivals up to %v, want %.2f", name, n, at, integral)
			}
			integral += (law.Rate(at) + law.Rate(at+step-1)) / 2 * step.Seconds()
		}
		if law.Rate(law.Length()) != 0 {
			t.Errorf("%s: the rate goes on behind the end", name)
		}
	}
}

// The distances of a Poisson process are exponential: the test of Anderson and Darling
// refuses that at the level of 5 % for about 5 of 100 seeds.
func TestPoissonIsExponential(t *testing.T) {
	passed := 0
	for seed := range uint64(100) {
		const rate, n = 1000, 2000
		s := load.Poisson{PerSecond: rate, Seed: seed}.Stripe(0, 1)
		var gaps []float64
		last := time.Duration(0)
		for range n {
			at, _ := s.Next()
			gaps = append(gaps, (at-last).Seconds()*rate)
			last = at
		}
		if andersonDarling(gaps) < 2.492 { // the known distribution's critical value at 5 %
			passed++
		}
	}
	if passed < 92 { // 95 are expected, and the standard deviation is 2.2
		t.Errorf("%d of 100 seeds pass", passed)
	}
}

// andersonDarling is the statistic A^2 of values against the exponential distribution of
// mean 1 (Anderson, Darling 1952; Stephens 1974).
func andersonDarling(x []float64) float64 {
	slices.Sort(x)
	n := float64(len(x))
	sum := 0.0
	for i, v := range x {
		below := max(-math.Expm1(-v), 1e-300)
		above := math.Exp(-x[len(x)-1-i])
		sum += (2*float64(i) + 1) * (math.Log(below) + math.Log(above))
	}
	return -n - sum/n
}

// ParseArrivals reads the output of String.
func TestParseArrivals(t *testing.T) {
	for _, text := range []string{
		"1000/s", "poisson 1000/s", "100..1000/s over 30s", "burst 50 every 1s",
		"0..1000/s over 5s, 1000/s for 10s, poisson 2500.5/s for 1m0s, burst 5 every 10ms",
	} {
		a, err := load.ParseArrivals(text, 7)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if a.String() != text {
			t.Errorf("%q is %q", text, a)
		}
	}
	for text, same := range map[string]string{"90": "90/s", "120/m": "2/s", " 60..120/m over 1s ": "1..2/s over 1s"} {
		if a, err := load.ParseArrivals(text, 7); err != nil || a.String() != same {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"":                   `stage 1, "": a rate is missing, such as 1000/s`,
		"5/s, ":              `stage 2, "": a rate is missing, such as 1000/s`,
		"fast":               `stage 1, "fast": "fast" is no rate: a number above 0 and up to 1000000000, as in 1000/s`,
		"-1":                 `stage 1, "-1": "-1" is no rate: a number above 0 and up to 1000000000, as in 1000/s`,
		"10/d":               `stage 1, "10/d": "10/d" is no rate: it is per /s, /m or /h`,
		"10/s 5s":            `stage 1, "10/s 5s": "5s": the form is: for 10s`,
		"10/s for ever":      `stage 1, "10/s for ever": "ever" is no time above 0, such as 10s`,
		"1..2/s":             `stage 1, "1..2/s": "": the form is: over 10s`,
		"burst 5":            `stage 1, "burst 5": the form is: burst 50 every 1s`,
		"burst 0 every 1s":   `stage 1, "burst 0 every 1s": "0" is not a number of requests`,
		"poisson":            `stage 1, "poisson": a rate is missing, as in poisson 1000/s`,
		"5/s, 6/s for 10s":   `stage 1, "5/s": it never ends, but another follows: say for how long, as in "5/s for 10s"`,
		"burst 5 every -1ms": `stage 1, "burst 5 every -1ms": "-1ms" is no time above 0, such as 10s`,
	} {
		if _, err := load.ParseArrivals(text, 7); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseArrivals: arrivals that parse can be written, parsed again, and yield.
func FuzzParseArrivals(f *testing.F) {
	f.Add("0..1000/s over 5s, 1000/s for 10s, poisson 2500.5/s for 1m0s, burst 5 every 10ms")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := load.ParseArrivals(text, 1)
		if err != nil {
			return
		}
		again, err := load.ParseArrivals(a.String(), 1)
		if err != nil || again.String() != a.String() {
			t.Fatalf("%q is written as %q and read as %v, %v", text, a, again, err)
		}
		s, last := a.Stripe(1, 3), time.Duration(0)
		for range 100 {
			at, ok := s.Next()
			if !ok {
				break
			}
			if at < last {
				t.Fatalf("%q: %v behind %v", text, at, last)
			}
			last = at
		}
	})
}
