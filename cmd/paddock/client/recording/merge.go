package recording

import (
	"container/heap"
	"errors"
	"iter"
)

// Merge returns the positions of several files by their times: in each step, that of the files
// whose next position is the earliest. The order within a file is kept. Rejections come where they
// are found. The first other error ends it.
func Merge(files []Positions) Positions {
	if len(files) == 1 {
		return files[0]
	}
	return func(yield func(Fix, error) bool) {
		var h cursors
		defer func() {
			for _, c := range h {
				c.stop()
			}
		}()
		for i, file := range files {
			next, stop := iter.Pull2(file)
			h = append(h, &cursor{next: next, stop: stop, number: i})
		}
		for i := 0; i < len(h); {
			more, goOn := h[i].advance(yield)
			switch {
			case !goOn:
				return
			case more:
				i++
			default:
				h[i].stop()
				h = append(h[:i], h[i+1:]...)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			if !yield(h[0].fix, nil) {
				return
			}
			more, goOn := h[0].advance(yield)
			switch {
			case !goOn:
				return
			case more:
				heap.Fix(&h, 0)
			default:
				heap.Pop(&h).(*cursor).stop()
			}
		}
	}
}

// cursor is a file, and its next position.
type cursor struct {
	next   func() (Fix, error, bool)
	stop   func()
	number int // of the file
	fix    Fix
}

// advance goes to the next position of a file. more is false at its end, and goOn if no further
// position of any file is asked for.
func (c *cursor) advance(yield func(Fix, error) bool) (more, goOn bool) {
	for {
		fix, err, ok := c.next()
		if !ok {
			return false, true
		}
		if err == nil {
			c.fix = fix
			return true, true
		}
		_, rejected := errors.AsType[*Rejected](err)
		if !yield(Fix{}, err) || !rejected {
			return false, false
		}
	}
}

// cursors is a heap of files by the times of their next positions.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }

func (h cursors) Less(i, j int) bool {
	a, b := h[i], h[j]
	return a.fix.Due < b.fix.Due || a.fix.Due == b.fix.Due && a.number < b.number
}

func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *cursors) Push(c any) { *h = append(*h, c.(*cursor)) }

func (h *cursors) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

// Concat returns the positions of one file behind those of another. The first error that is no
// rejection ends it.
func Concat(files []Positions) Positions {
	return func(yield func(Fix, error) bool) {
		for _, file := range files {
			for fix, err := range file {
				_, rejected := errors.AsType[*Rejected](err)
				if !yield(fix, err) || err != nil && !rejected {
					return
				}
			}
		}
	}
}
