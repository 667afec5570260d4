// Package agenda keeps values by the times at which they are due.
package agenda

// Entry is a value with its time.
type Entry[T any] struct {
	At    int64 // ns
	Value T
}

// Agenda is a heap of entries, the next one first.
type Agenda[T any] []Entry[T]

// Add adds a value.
func (a *Agenda[T]) Add(at int64, value T) {
	h := append(*a, Entry[T]{at, value})
	i := len(h) - 1
	for ; i > 0 && h[(i-1)/2].At > at; i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = Entry[T]{at, value}
	*a = h
}

// Take removes the next entry. There must be one.
func (a *Agenda[T]) Take() Entry[T] {
	h := *a
	first, x := h[0], h[len(h)-1]
	h[len(h)-1] = Entry[T]{}
	h = h[:len(h)-1]
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].At < h[child].At {
			child++
		}
		if h[child].At >= x.At {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = x
	}
	*a = h
	return first
}
