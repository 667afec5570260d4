package bus

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"
)

// holds counts how often the lists hold s.
func (m *matches) holds(s *subscription) (n int) {
	lists := append([][]*subscription(nil), m.plain...)
	for _, g := range m.groups {
		lists = append(lists, g.members)
	}
	for _, list := range lists {
		for _, have := range list {
			if have == s {
				n++
			}
		}
	}
	return n
}

// unused reports whether nothing is left of any pattern.
func (s *snapshot) unused() bool {
	all := []domain{s.lead}
	for _, half := range s.by {
		if half != nil {
			all = append(all, half[:]...)
		}
	}
	for _, d := range all {
		if d.literal.Len() != 0 || d.wild != nil {
			return false
		}
	}
	return true
}

// match looks subject up in the present snapshot.
func (x *index) match(subject []byte, m *matches) {
	x.now.Load().match(maphash.Bytes(seed, subject), subject, m)
}

// Readers never see half a change: a subscription that was there before and stays is found exactly
// once all the time, and the lists they hold do not change.
func TestIndexReadersAgainstWriter(t *testing.T) {
	x := newIndex()
	fixed := []*subscription{
		{subject: "a.b"},
		{subject: "a.*"},
		{subject: "a.>"},
		{subject: ">"},
		{subject: "a.b", queue: "q"},
		{subject: "*.b", queue: "q"},
	}
	for _, s := range fixed {
		x.insert(s)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var m matches
			for {
				select {
				case <-stop:
					return
				default:
				}
				x.match([]byte("a.b"), &m)
				for _, s := range fixed {
					if n := m.holds(s); n != 1 {
						t.Errorf("%q queue %q found %d times", s.subject, s.queue, n)
						return
					}
				}
				if len(m.groups) != 1 {
					t.Errorf("%d groups", len(m.groups))
					return
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var churn []*subscription
	for range 5000 {
		if len(churn) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(churn))
			x.remove(churn[i])
			churn[i] = churn[len(churn)-1]
			churn = churn[:len(churn)-1]
			continue
		}
		pattern := []string{"a.b", "a.*", "a.>", ">", "*.b", fmt.Sprintf("c.%d", rng.IntN(50))}[rng.IntN(6)]
		s := &subscription{subject: pattern, queue: []string{"", "q"}[rng.IntN(2)]}
		x.insert(s)
		churn = append(churn, s)
	}
	close(stop)
	wg.Wait()
	for _, s := range append(churn, fixed...) {
		x.remove(s)
	}
	if x.len() != 0 || !x.now.Load().unused() {
		t.Errorf("the index keeps %d subscriptions", x.len())
	}
}

// Publishing costs the index nothing: a look-up allocates no memory and leaves nothing behind.
func TestMatchDoesNotAllocate(t *testing.T) {
	x := newIndex()
	for i := range 1000 {
		x.insert(&subscription{subject: fmt.Sprintf("pos.f%d.*", i)})
		x.insert(&subscription{subject: fmt.Sprintf("lit.%d", i)})
	}
	var m matches
	subjects := [][]byte{[]byte("pos.f17.v1"), []byte("lit.3"), []byte("nothing.here")}
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range subjects {
			x.match(s, &m)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
