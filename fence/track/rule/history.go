package rule

import "slices"

// Change is a change of the rules of one selection between two tables.
type Change struct {
	Before, After *Group // nil: there was none, or there is none
}

// Selection returns the selection whose rules changed.
func (c *Change) Selection() *Selection {
	if c.After != nil {
		return c.After.Selection
	}
	return c.Before.Selection
}

// moves reports whether objects change their class: the selection is new, or gone.
func (c *Change) moves() bool {
	return (c.Before == nil || c.After == nil) && !c.Selection().isAll()
}

// maxChanges bounds the changes that a table remembers. With more of them, to find the class of an
// object is faster than to renew it.
const maxChanges = 64

// maxChanged bounds the rules that change at once and are looked at one by one: each is up to two
// changes.
const maxChanged = maxChanges / 2

// history is the last changes that led to a table. Each state in between has a serial, so a table
// that was made from the same one in another way is not mistaken for one of them.
type history struct {
	base    uint64   // serial of the state before the first change
	serials []uint64 // of the state after each change; two changes of one step have the same
	changes []Change
}

// with returns the history and one change more. It forgets the first one of too many.
func (h history) with(serial uint64, c Change) history {
	if len(h.changes) == maxChanges {
		h = history{h.serials[0], h.serials[1:], h.changes[1:]}
	}
	return history{h.base, append(slices.Clip(h.serials), serial), append(slices.Clip(h.changes), c)}
}

// last returns the serial of the state after all changes.
func (h *history) last() uint64 {
	if n := len(h.serials); n > 0 {
		return h.serials[n-1]
	}
	return h.base
}

// since returns the changes after the state with this serial, if it is known.
func (h *history) since(serial uint64) (changes []Change, ok bool) {
	for i := len(h.serials) - 1; i >= 0; i-- {
		if h.serials[i] == serial {
			return h.changes[i+1:], true
		}
	}
	return h.changes, serial == h.base
}
