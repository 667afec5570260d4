package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"paddock/internal/platform/journal"
)

// piecesFrom returns pieces with the events from a cursor on, of random lengths up to an end. The
// bytes of an event depend on its cursor alone.
func piecesFrom(r *rand.Rand, from, to uint64) (all []journal.Piece) {
	for from < to {
		p := journal.Piece{First: from, Count: 1 + r.IntN(600)}
		for i := range p.Count {
			p.Events = fmt.Appendf(p.Events, "event %d;", from+uint64(i))
		}
		all = append(all, p)
		from += uint64(p.Count)
	}
	return all
}

// Nodes with the same events agree, wherever a process began, and one with another event differs
// once both have passed it.
func TestDigests(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		all := piecesFrom(r, 1, 12*windowEvents)
		var leader, whole, late, other digests
		begin, wrong := r.IntN(len(all)), r.IntN(len(all)-60)
		differs := error(nil)
		for i := range all {
			p := all[i]
			_ = leader.add(&p) // it hears of no other one
			for _, d := range []*digests{&whole, &late} {
				if d == &late && i < begin {
					continue
				}
				if err := d.add(&p); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if w := leader.last(); w != nil {
					if err := d.hear(w); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			}
			if i == wrong {
				p.Events = append([]byte{'x'}, p.Events...)
			}
			err := other.add(&p)
			if w := leader.last(); w != nil {
				err = errors.Join(err, other.hear(w))
			}
			differs = errors.Join(differs, err)
		}
		if !errors.Is(differs, ErrDiffers) {
			t.Fatalf("seed %d: another event was not noticed", seed)
		}
		if len(whole.own) == 0 || len(whole.own) > windowsKept || *whole.last() != *leader.last() {
			t.Fatalf("seed %d: %d windows, the last one is %v, the leader's %v", seed, len(whole.own), whole.last(), leader.last())
		}
	}
}
