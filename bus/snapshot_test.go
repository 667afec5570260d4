package bus

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// script is a history of an index: after step i, subject reaches want[i].
type script struct {
	subject string
	steps   []func(x *index)
	want    []string
}

func newScript(subject string, steps int) *script {
	rng := rand.New(rand.NewPCG(5, 6))
	patterns := []string{"a.b", "a.*", "a.>", ">", "*.b", "*.*", "b.c", "a.c", "*.c", "a.b.c", "c.>"}
	sc := &script{subject: subject, want: []string{""}}
	var in []*subscription
	for n := range steps {
		if len(in) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(in))
			s := in[i]
			in = slices.Delete(in, i, i+1)
			sc.steps = append(sc.steps, func(x *index) { x.remove(s) })
		} else {
			s := &subscription{subject: patterns[rng.IntN(len(patterns))], sid: fmt.Sprint(n)}
			if rng.IntN(3) == 0 {
				s.queue = "q"
			}
			in = append(in, s)
			sc.steps = append(sc.steps, func(x *index) { x.insert(s) })
		}
		var sids []string
		for _, s := range in {
			if Match(s.subject, subject) {
				sids = append(sids, s.sid)
			}
		}
		slices.Sort(sids)
		sc.want = append(sc.want, strings.Join(sids, " "))
	}
	return sc
}

// sids lists the reached subscriptions, with all members of queues.
func (to *receivers) sids() string {
	var sids []string
	for _, s := range to.plain {
		sids = append(sids, s.sid)
	}
	for _, g := range to.groups {
		for _, s := range g.members {
			sids = append(sids, s.sid)
		}
	}
	slices.Sort(sids)
	return strings.Join(sids, " ")
}

// A reader finds the subscriptions that the writer had at some time between the beginning and the
// end of the look-up, with and without the cache; and it is never older than a change that had
// returned before.
func TestLookupSeesAPrefixOfTheWrites(t *testing.T) {
	const steps = 4000
	for _, subject := range []string{"a.b", "a.c", "b.c", "x.b"} {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		sc := newScript(subject, steps)
		var done atomic.Int64
		var readers sync.WaitGroup
		for name, cached := range map[string]bool{"cached": true, "walked": false} {
			readers.Go(func() {
				r := newRouter(s)
				look := func() *receivers {
					if cached {
						return r.lookup([]byte(subject))
					}
					return r.search(s.subs.now.Load(), maphash.String(seed, subject), []byte(subject))
				}
				for done.Load() < steps {
					from := done.Load()
					got := look().sids()
					to := min(done.Load()+1, steps)
					if !slices.Contains(sc.want[from:to+1], got) {
						t.Errorf("%s %s: %q is none of %q", name, subject, got, sc.want[from:to+1])
						return
					}
				}
				if got := look().sids(); got != sc.want[steps] {
					t.Errorf("%s %s: %q at the end, want %q", name, subject, got, sc.want[steps])
				}
			})
		}
		for _, step := range sc.steps {
			step(s.subs)
			done.Add(1)
		}
		readers.Wait()
	}
}

// Churn of one prefix leaves the cached receivers of the others valid, and subjects that come once
// are not stored.
func TestCacheSurvivesChurnAndOneOffSubjects(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	inboxes := "_INBOX" // of another domain than pos, also where their hashes are equal
	for uint8(maphash.String(seed, inboxes)) == uint8(maphash.String(seed, "pos")) {
		inboxes += "X"
	}
	s.subs.insert(&subscription{subject: "pos.>", sid: "1"})
	r := newRouter(s)
	for range 2 {
		r.lookup([]byte("pos.a"))
	}
	known := r.counts.last
	if known == nil {
		t.Fatal("not stored when it came again")
	}
	list := &known.to.plain[0]
	for i := range 5000 {
		in := &subscription{subject: fmt.Sprintf("%s.%d", inboxes, i), sid: "2"}
		s.subs.insert(in)
		if got := r.lookup([]byte(in.subject)).sids(); got != "2" {
			t.Fatalf("%s reaches %q", in.subject, got)
		}
		s.subs.remove(in)
	}
	r.lookup([]byte("pos.a"))
	if r.counts.last != known || &known.to.plain[0] != list {
		t.Error("what was known has been found again")
	}
	s.subs.insert(&subscription{subject: "*.a", sid: "3"})
	if got := r.lookup([]byte("pos.a")).sids(); got != "1 3" {
		t.Errorf("reaches %q after a leading wildcard", got)
	}
	stored := 0
	for i := range r.cache.entries {
		if r.cache.entries[i].subject != "" {
			stored++
		}
	}
	if stored > 10 { // two subjects with one hash are possible
		t.Errorf("%d subjects are stored, of which one has come twice", stored)
	}
}
