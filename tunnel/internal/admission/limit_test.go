package admission

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// service works on a number of requests at once, in the order of arrival; each takes the time takes
// multiplied by a draw of spread.
type service struct {
	free   chan struct{}
	takes  time.Duration
	mu     sync.Mutex // guards spread
	spread func() float64
}

// newService makes one that works on at at once.
func newService(at int, takes time.Duration, spread func() float64) *service {
	return &service{free: make(chan struct{}, at), takes: takes, spread: spread}
}

// same is the spread of a service that takes the same time for all.
func same() float64 { return 1 }

// logNormal is that of one whose times differ much, with a mean of 1.
func logNormal(seed uint64, sigma float64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	return func() float64 { return math.Exp(sigma*rng.NormFloat64() - sigma*sigma/2) }
}

func (s *service) work() {
	s.free <- struct{}{}
	s.mu.Lock()
	takes := time.Duration(float64(s.takes) * s.spread())
	s.mu.Unlock()
	time.Sleep(takes)
	<-s.free
}

// outcome counts the results of visitors.
type outcome struct {
	served, refused int
	times           []time.Duration // of the served, with the wait
	least           int             // the least that the limit was
}

// p99 of the times.
func (o *outcome) p99() time.Duration {
	slices.Sort(o.times)
	return o.times[len(o.times)*99/100]
}

// visit sends visitors at random, at a mean rate for a duration, and waits until the last has
// ended. It returns the results of those after the first settle.
func visit(t *testing.T, l *Lane, perSecond float64, settle, d time.Duration, s *service, fails func() bool) *outcome {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(perSecond), uint64(d)))
	o := &outcome{least: math.MaxInt}
	var mu sync.Mutex
	var all sync.WaitGroup
	for begun := time.Now(); time.Since(begun) < settle+d; {
		time.Sleep(time.Duration(rng.ExpFloat64() / perSecond * float64(time.Second)))
		at := time.Now()
		counts := at.Sub(begun) >= settle
		all.Go(func() {
			p, err := l.Request(t.Context(), 1)
			if err == nil {
				s.work()
				p.Release()
				p.Answered(fails())
			}
			mu.Lock()
			defer mu.Unlock()
			o.least = min(o.least, l.Stats().Limit)
			if ended := time.Since(begun); err == nil && ended >= settle && ended < settle+d {
				o.served++
			}
			if !counts {
				return
			}
			if err != nil {
				o.refused++
				return
			}
			o.times = append(o.times, time.Since(at))
		})
	}
	all.Wait()
	return o
}

func never() bool { return false }

// TestLimitFindsTheKnee: of three times its capacity a service receives its capacity, and an answer
// takes at most twice the time that it takes at four fifths of the capacity. The limit begins
// without any measurement.
func TestLimitFindsTheKnee(t *testing.T) {
	for name, c := range map[string]struct {
		at     int
		takes  time.Duration
		spread func() float64
	}{
		"one at a time":     {1, time.Millisecond, same},
		"one, slow":         {1, 20 * time.Millisecond, same},
		"ten at once":       {10, 20 * time.Millisecond, same},
		"forty, slow":       {40, 100 * time.Millisecond, same},
		"a hundred, differ": {100, 200 * time.Millisecond, logNormal(1, 1)},
		"twenty, very much": {20, 40 * time.Millisecond, logNormal(2, 1.4)},
		"thirty, far":       {30, 400 * time.Millisecond, same},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newService(c.at, c.takes, c.spread)
				ceiling := float64(c.at) / c.takes.Seconds()
				settle, d := max(2*time.Second, 1500*c.takes/time.Duration(c.at)), max(4*time.Second, time.Duration(1000/ceiling*float64(time.Second)))
				calm := visit(t, New(Limits{}).Lane(), 0.8*ceiling, 0, 3*d, s, never)
				g := New(Limits{})
				l := g.Lane()
				o := visit(t, l, 3*ceiling, settle, d, s, never)
				if goodput := float64(o.served) / d.Seconds(); goodput < 0.9*ceiling {
					t.Errorf("%.1f/s are served of %.1f/s", goodput, ceiling)
				}
				if o.p99() > 2*calm.p99() {
					t.Errorf("p99 %v, and %v at four fifths", o.p99(), calm.p99())
				}
				if n := l.limit.value; n < min(float64(c.at), 8) || n > 4*float64(max(c.at, 8)) {
					t.Errorf("limit %.1f for a service that does %d at once", n, c.at)
				}
				if o.least < 8 {
					t.Errorf("the limit was %d", o.least)
				}
				idle(t, g)
			})
		})
	}
}

// TestLimitLeavesRoom: a service that takes all that comes, each in a time of its own, is
// given it, but for the moment in which it is found out that it does.
func TestLimitLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{}).Lane()
		s := newService(1_000_000, 100*time.Millisecond, logNormal(3, 1.4))
		o := visit(t, l, 1500, 0, 20*time.Second, s, never) // 150 at a time
		if all := o.refused + o.served; o.refused > all/15 {
			t.Errorf("%d of %d are refused", o.refused, all)
		}
	})
}

// TestLimitLeavesThoseWhoWait: where an answer comes when something happens, many are under
// way, and it is not the service that has too much to do.
func TestLimitLeavesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{}).Lane()
		s := newService(1_000, 20*time.Second, logNormal(1, 0.5))
		o := visit(t, l, 10, 0, 20*time.Minute, s, never) // 200 at a time
		if o.refused > 400 {
			t.Errorf("%d of %d were refused", o.refused, o.refused+o.served)
		}
	})
}

// TestLimitFollowsTheService: the limit rises and falls with the capacity of the service, whatever
// was usual before.
func TestLimitFollowsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{}).Lane()
		for _, c := range []struct {
			at    int
			takes time.Duration
		}{
			{10, 30 * time.Millisecond},
			{30, 30 * time.Millisecond}, // does more at once
			{30, 90 * time.Millisecond}, // is slower
			{30, 25 * time.Millisecond}, // and faster
			{4, 25 * time.Millisecond},  // and hardly there
		} {
			s := newService(c.at, c.takes, same)
			ceiling := float64(c.at) / c.takes.Seconds()
			const d = 3 * time.Second
			o := visit(t, l, 2*ceiling, 4*time.Second+1000*c.takes/time.Duration(c.at), d, s, never)
			if goodput := float64(o.served) / d.Seconds(); goodput < 0.9*ceiling {
				t.Errorf("%+v: %.0f/s are served of %.0f/s", c, goodput, ceiling)
			}
			if most := c.takes*time.Duration(2*max(c.at, 8))/time.Duration(c.at) + l.gate.limits.Target; o.p99() > most {
				t.Errorf("%+v: p99 %v, want %v", c, o.p99(), most)
			}
		}
	})
}

// TestLimitIsPatient: a service that is fast in any case is not held back because it
// has been faster.
func TestLimitIsPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{}).Lane()
		visit(t, l, 20, 0, 5*time.Second, newService(1, 30*time.Microsecond, same), never)
		s := newService(1, 30*time.Microsecond, same)
		var all sync.WaitGroup
		for range 250 {
			all.Go(func() {
				for range 100 {
					p, err := l.Request(t.Context(), 1)
					if err != nil {
						t.Error(err)
						return
					}
					s.work()
					p.Release()
				}
			})
		}
		all.Wait()
		if n := l.Stats().Limit; n != 256 {
			t.Errorf("limit %d", n)
		}
	})
}

// TestLimitOfFailures: a service that fails gets less, however fast it does, and more again
// when it is well.
func TestLimitOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{}).Lane()
		s := newService(100, 5*time.Millisecond, same)
		var n atomic.Int64
		fifth := func() bool { return n.Add(1)%5 == 0 }
		visit(t, l, 500, 0, 6*time.Second, s, fifth)
		if n := l.Stats().Limit; n != 8 {
			t.Errorf("limit %d where every fifth fails", n)
		}
		o := visit(t, l, 10_000, 2*time.Second, time.Second, s, never)
		if o.refused > 0 {
			t.Errorf("limit %d: %d are refused by a service that is well", l.Stats().Limit, o.refused)
		}
	})
}
