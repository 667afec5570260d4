package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// enter takes n permits, each of which there is.
func enter(t *testing.T, l *Lane, n int) (all []*Permit) {
	t.Helper()
	for range n {
		p, err := l.Request(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// refused holds that err is a refusal for this reason.
func refused(t *testing.T, err error, why Reason) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != why {
		t.Errorf("%v, want %v", err, why)
	}
}

// idle holds that nothing is held any more.
func idle(t *testing.T, g *Gate) {
	t.Helper()
	if s := g.Stats(); s.Requests != 0 || s.Streams != 0 || s.Waiting != 0 || s.Bytes != 0 {
		t.Errorf("still held: %+v", s)
	}
}

// waits starts n requests beyond the limit, one after the other, and returns the served ones in
// order; the list is complete once all is done.
func waits(t *testing.T, l *Lane, n int, all *sync.WaitGroup) (served *[]int, refusals *[]time.Duration) {
	var mu sync.Mutex
	served, refusals = new([]int), new([]time.Duration)
	for i := range n {
		all.Go(func() {
			begin := time.Now()
			p, err := l.Request(t.Context(), 1)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				*refusals = append(*refusals, time.Since(begin))
				return
			}
			*served = append(*served, i)
			p.Release()
		})
		synctest.Wait()
	}
	return served, refusals
}

// TestBurst: simultaneous requests wait in their order, up to an interval.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{LaneRequests: 2, LaneFloor: 1, LaneQueue: 4})
		l := g.Lane()
		busy := enter(t, l, 2)
		var all sync.WaitGroup
		served, refusals := waits(t, l, 5, &all)
		if !slices.Equal(*refusals, []time.Duration{0}) {
			t.Errorf("the fifth who waits: refused after %v, want at once", *refusals)
		}
		time.Sleep(50 * time.Millisecond)
		busy[0].Release()
		synctest.Wait()
		if !slices.Equal(*served, []int{0, 1, 2, 3}) {
			t.Errorf("served %v", *served)
		}
		busy[1].Release()
		all.Wait()

		busy = enter(t, l, 2)
		_, refusals = waits(t, l, 1, &all)
		all.Wait()
		if !slices.Equal(*refusals, []time.Duration{100 * time.Millisecond}) {
			t.Errorf("refused after %v", *refusals)
		}
		for _, p := range busy {
			p.Release()
		}
		idle(t, g)
		if r := g.Stats().Refused; r["queue full"] != 1 || r["queue time"] != 1 {
			t.Errorf("counted %v", r)
		}
	})
}

// TestOverload: a request in a queue that does not become empty waits for a short time, and is
// refused at once if the queue is full.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{LaneRequests: 1, LaneFloor: 1, LaneQueue: 3, Interval: 20 * time.Millisecond})
		l := g.Lane()
		busy := enter(t, l, 1)
		var all sync.WaitGroup
		waits(t, l, 1, &all)
		time.Sleep(15 * time.Millisecond)
		waits(t, l, 1, &all) // so that the queue is not empty when the first ends
		time.Sleep(10 * time.Millisecond)
		served, refusals := waits(t, l, 3, &all)
		if n := l.Stats().Waiting; n != 3 || !slices.Equal(*refusals, []time.Duration{0}) {
			t.Errorf("%d wait, refused after %v", n, *refusals)
		}
		busy[0].Release()
		all.Wait()
		if !slices.Equal(*served, []int{0, 1}) {
			t.Errorf("served %v", *served)
		}

		busy = enter(t, l, 1)
		for range 5 { // one comes before the last goes: it is never empty
			waits(t, l, 1, &all)
			time.Sleep(15 * time.Millisecond)
		}
		_, refusals = waits(t, l, 1, &all)
		all.Wait()
		if !slices.Equal(*refusals, []time.Duration{5 * time.Millisecond}) {
			t.Errorf("refused after %v, want the target", *refusals)
		}
		busy[0].Release()
		idle(t, g)
	})
}

// TestLastingOverload: requests arrive at three times the capacity, for seconds, and now and then
// so many end at once that the queue becomes empty. Requests are refused soon, and most of those at
// once.
func TestLastingOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{LaneRequests: 10, LaneFloor: 10})
		l := g.Lane()
		var all sync.WaitGroup
		var mu sync.Mutex
		var served, late, atOnce int
		begun := time.Now()
		for i := range 9_000 { // 3 a millisecond; each of 10 takes 10 ms
			all.Go(func() {
				at := time.Now()
				p, err := l.Request(t.Context(), 1)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					switch waited := time.Since(at); {
					case waited == 0:
						atOnce++
					case at.Sub(begun) > 200*time.Millisecond && waited > 5*time.Millisecond:
						late++
					}
					return
				}
				served++
				took := 10 * time.Millisecond
				if i%1000 > 980 {
					took = 0 // a moment in which all that wait are served
				}
				time.AfterFunc(took, p.Release)
			})
			if i%3 == 2 {
				time.Sleep(time.Millisecond)
			}
		}
		all.Wait()
		time.Sleep(time.Second)
		if late > 0 || served < 2_700 || atOnce < 5_000 {
			t.Errorf("%d served; %d refused at once, %d after more than the target", served, atOnce, late)
		}
		idle(t, g)
		p, err := l.Request(t.Context(), 1) // and it ends
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
		if l.queue.overloaded(time.Now(), g.limits.Interval) {
			t.Error("still overloaded after a second of nothing")
		}
	})
}

// TestStreams: they have their own room, which requests do not use up, nor they that
// of requests.
func TestStreams(t *testing.T) {
	g := New(Limits{LaneRequests: 1, LaneFloor: 1, LaneStreams: 2, Streams: 3, Interval: time.Nanosecond})
	l, other := g.Lane(), g.Lane()
	open := enter(t, l, 1)
	for range 2 {
		p, err := l.Stream(1)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, p)
	}
	_, err := l.Stream(1)
	refused(t, err, TooManyStreams)
	refused(t, open[0].Promote(), TooManyStreams)
	open[1].Release()
	if err := open[0].Promote(); err != nil {
		t.Error(err)
	}
	_, err = l.Request(t.Context(), 1) // its answer has not come so far that it would not count
	refused(t, err, QueueTime)
	open[0].Answered(false)
	open = append(open, enter(t, l, 1)...) // the room of the one that is a stream now
	p, err := other.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Stream(1)
	refused(t, err, TooManyStreams)
	for _, p := range append(open, p) {
		p.Release()
		p.Release() // again
		p.Answered(true)
	}
	idle(t, g)
}

func TestBytes(t *testing.T) {
	g := New(Limits{Bytes: 100})
	l := g.Lane()
	p, err := l.Request(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Request(t.Context(), 41)
	refused(t, err, NoBytes)
	_, err = l.Stream(41)
	refused(t, err, NoBytes)
	q, err := l.Stream(40)
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	q.Release()
	idle(t, g)
}

// TestShare: a lane with half of everything gets no more while another waits, and is
// served in turn with it.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Requests: 4, LaneRequests: 4, LaneFloor: 4})
		greedy, other := g.Lane(), g.Lane()
		busy := enter(t, greedy, 4)
		var all sync.WaitGroup
		served, _ := waits(t, other, 1, &all)
		_, err := greedy.Request(t.Context(), 1)
		refused(t, err, TooGreedy)
		busy[0].Release()
		all.Wait()
		if len(*served) != 1 {
			t.Errorf("served %v", *served)
		}
		busy = append(busy, enter(t, greedy, 1)...) // no waiters are left
		for _, p := range busy {
			p.Release()
		}
		idle(t, g)
	})
}

// TestGone: a waiter that gives up leaves nothing behind.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{LaneRequests: 1, LaneFloor: 1})
		l := g.Lane()
		busy := enter(t, l, 1)
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := l.Request(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
		}
		if len(g.queued) > 1 || len(l.queue.waiters) > 2 {
			t.Errorf("%d lanes and %d waiters are kept", len(g.queued), len(l.queue.waiters))
		}
		busy[0].Release()
		idle(t, g)
	})
}

// TestModel lets visitors come at random to services of random speed, and holds that
// no bound is ever passed, that each is served or refused, and that everything comes
// back.
func TestModel(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			limits := Limits{
				Requests: 1 + rng.IntN(20), Streams: 1 + rng.IntN(10), LaneRequests: 1 + rng.IntN(10), LaneStreams: 1 + rng.IntN(5),
				LaneFloor: 1, LaneQueue: 1 + rng.IntN(8), Bytes: 200,
			}
			g := New(limits)
			lanes := []*Lane{g.Lane(), g.Lane(), g.Lane()}
			var all sync.WaitGroup
			var mu sync.Mutex
			outcomes := 0
			const visitors = 500
			for range visitors {
				l, size, work := lanes[rng.IntN(3)], rng.Int64N(20), time.Duration(rng.ExpFloat64()*float64(20*time.Millisecond))
				stream, awaited, promote, leaves := rng.IntN(5) == 0, rng.IntN(4) == 0, rng.IntN(10) == 0, time.Duration(1+rng.IntN(200))*time.Millisecond
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(time.Millisecond)))
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), leaves)
					defer cancel()
					var p *Permit
					var err error
					switch {
					case stream:
						p, err = l.Stream(size)
					case awaited:
						if p, err = l.Body(size); err == nil {
							time.Sleep(work)
							body := p
							if p, err = body.Begin(ctx); err != nil {
								body.Release()
							}
						}
					default:
						p, err = l.Request(ctx, size)
					}
					if err == nil {
						time.Sleep(work)
						p.Answered(work > 60*time.Millisecond)
						if promote {
							_ = p.Promote()
							time.Sleep(work)
						}
						p.Release()
					}
					mu.Lock()
					outcomes++
					mu.Unlock()
				})
				s := g.Stats()
				if s.Requests > g.limits.Requests || s.Streams > g.limits.Streams || s.Bytes > g.limits.Bytes || s.Waiting > 3*g.limits.LaneQueue ||
					s.Requests < 0 || s.Streams < 0 || s.Bytes < 0 || s.Waiting < 0 {
					t.Fatalf("%+v with %+v", s, g.limits)
				}
				waiting := 0
				for _, l := range lanes {
					s := l.Stats()
					waiting += s.Waiting
					if s.Requests > g.limits.LaneRequests || s.Streams > g.limits.LaneStreams || s.Waiting > g.limits.LaneQueue {
						t.Fatalf("%+v with %+v", s, g.limits)
					}
				}
				if waiting != g.Stats().Waiting {
					synctest.Wait()
				}
			}
			all.Wait()
			idle(t, g)
			if outcomes != visitors {
				t.Errorf("%d outcomes of %d", outcomes, visitors)
			}
		})
	}
}
