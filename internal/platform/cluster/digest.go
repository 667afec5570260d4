package cluster

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"paddock/internal/platform/journal"
)

const (
	// windowEvents is the number of cursors of a window, and windowsKept the number of windows that
	// are compared: a node may be behind the leader by so many.
	windowEvents = 4096
	windowsKept  = 64
)

// ErrDiffers is the end of a node whose events are not those of the leader.
var ErrDiffers = errors.New("the events of this node differ from those of the leader")

// Window is the digest of the events that begin in a range of cursors.
type Window struct {
	Number uint64 `json:"number"` // its first cursor is a multiple of windowEvents
	Sum    uint64 `json:"sum"`
}

// digests compares the events of this node with those of the leader, window by window: all nodes
// apply the same records, so they must have the same events. What a process has not seen from the
// first event on is no window.
type digests struct {
	mu     sync.Mutex
	hash   xxhash.Digest
	number uint64 // of the window under way
	whole  bool   // its beginning was seen
	begun  bool   // number holds
	newest *Window
	own    map[uint64]uint64 // sums of the newest windows
	leader map[uint64]uint64
}

// add takes the events of the next piece.
func (d *digests) add(p *journal.Piece) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := p.First / windowEvents; !d.begun || at != d.number {
		if d.begun && d.whole {
			d.newest = &Window{d.number, d.hash.Sum64()}
			err = note(&d.own, d.leader, d.newest)
		}
		d.hash.Reset()
		d.number, d.whole, d.begun = at, d.begun || p.First == 1 || p.First%windowEvents == 0, true
	}
	_, _ = d.hash.Write(p.Events) // never fails
	return err
}

// last returns the newest whole window; nil: there is none.
func (d *digests) last() *Window {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.newest
}

// hear takes the newest window of the leader.
func (d *digests) hear(w *Window) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return note(&d.leader, d.own, w)
}

// note keeps a window, and compares it with the other side's.
func note(to *map[uint64]uint64, other map[uint64]uint64, w *Window) error {
	if *to == nil {
		*to = map[uint64]uint64{}
	}
	(*to)[w.Number] = w.Sum
	for n := range *to {
		if n+windowsKept <= w.Number {
			delete(*to, n)
		}
	}
	if sum, there := other[w.Number]; there && sum != w.Sum {
		return fmt.Errorf("%w, among those from cursor %d to %d: keep its data directory for a report, and begin with an empty one",
			ErrDiffers, w.Number*windowEvents, (w.Number+1)*windowEvents-1)
	}
	return nil
}

// Own returns the journal of this node, for the pipeline: the events of its pieces are compared
// with those of the leader.
func (n *Node) Own() journal.Journal { return witness{n.o.Own, n} }

// witness is a journal whose events are compared.
type witness struct {
	journal.Journal
	node *Node
}

// Commit implements [journal.Journal].
func (w witness) Commit(p journal.Piece) error {
	if err := w.Journal.Commit(p); err != nil {
		return err
	}
	if err := w.node.digests.add(&p); err != nil {
		w.node.differ(err)
	}
	return nil
}

// differ ends this node before the next entry that it applies as a follower.
func (n *Node) differ(err error) {
	n.differs.CompareAndSwap(nil, &err)
}

// same returns ErrDiffers once the events of this follower have differed.
func (n *Node) same() error {
	if err := n.differs.Load(); err != nil {
		return *err
	}
	return nil
}
