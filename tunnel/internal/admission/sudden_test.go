package admission

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimitSeesSuddenOverload: the demand for a healthy service jumps to three times its capacity.
// Few of the admitted requests wait long before the limit reacts.
func TestLimitSeesSuddenOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{})
		l := g.Lane()
		s := newService(1, time.Millisecond, same)
		calm := visit(t, l, 800, time.Second, 2*time.Second, s, never)
		time.Sleep(10 * time.Second) // the measurements are not new
		o := visit(t, l, 3000, 0, 3*time.Second, s, never)
		late := 0
		for _, took := range o.times {
			if took > 2*calm.p99() {
				late++
			}
		}
		if late > 200 {
			t.Errorf("%d take longer than %v; the last one %v", late, 2*calm.p99(), o.p99())
		}
		if o.served < 2700 {
			t.Errorf("%d are served in 3 s, by a service that can do 1000 in one", o.served)
		}
		idle(t, g)
	})
}

// TestLimitBearsAPause: a service with spare capacity stops for 50 ms now and then, as any process
// does on a shared machine. No request is refused for it.
func TestLimitBearsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{})
		l := g.Lane()
		begun := time.Now()
		s := newService(10, time.Millisecond, func() float64 {
			if at := (time.Since(begun) + time.Second/2) % time.Second; at < 50*time.Millisecond {
				return 50 - float64(at)/float64(time.Millisecond)
			}
			return 1
		})
		if o := visit(t, l, 4000, 0, 10*time.Second, s, never); o.refused > 0 {
			t.Errorf("%d are refused, of %d", o.refused, o.refused+len(o.times))
		}
		idle(t, g)
	})
}

// TestLimitCountsStreams: the heads of answers arrive at once, and their bodies, as streams, over a
// link with capacity for fewer. No more are admitted than it can carry, and all of its capacity is
// used.
func TestLimitCountsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room, times, d = 75, 10, 20 * time.Second // bodies a second
		g := New(Limits{})
		l := g.Lane()
		link := make(chan struct{}, 1)
		var all sync.WaitGroup
		var mu sync.Mutex
		var served, most int
		visit(t, l, 60, 0, 4*time.Second, newService(1, time.Second/room, same), never)
		rng := rand.New(rand.NewPCG(5, 5))
		for begun := time.Now(); time.Since(begun) < d; {
			time.Sleep(time.Duration(rng.ExpFloat64() / (room * times) * float64(time.Second)))
			all.Go(func() {
				p, err := l.Request(t.Context(), 1)
				if err != nil {
					return
				}
				time.Sleep(time.Millisecond)
				if err := p.Promote(); err != nil {
					t.Error(err)
				}
				const pieces = 4
				for range pieces {
					link <- struct{}{}
					time.Sleep(time.Second / room / pieces)
					<-link
				}
				p.Answered(false)
				p.Release()
				mu.Lock()
				defer mu.Unlock()
				if at := time.Since(begun); at < d {
					served++
					if at > d/2 {
						most = max(most, l.Stats().Streams)
					}
				}
			})
		}
		all.Wait()
		if most > 24 || served < int(room*d.Seconds()*0.9) {
			t.Errorf("%d of %.0f bodies came, up to %d at once", served, room*d.Seconds(), most)
		}
		idle(t, g)
	})
}
