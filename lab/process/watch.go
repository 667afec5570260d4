package process

import (
	"sync"

	"paddock/load"
)

// Watch reads the use of processes at every interval of a run: it is a load.Observer. A process
// that cannot be read keeps its last values.
type Watch struct {
	pids []int

	mu   sync.Mutex // guards all below
	most []Use      // the largest of each number
	last []Use
}

// NewWatch watches these processes.
func NewWatch(pids ...int) *Watch {
	w := &Watch{pids: pids, most: make([]Use, len(pids)), last: make([]Use, len(pids))}
	w.Look()
	return w
}

// Interval looks.
func (w *Watch) Interval(*load.Interval) { w.Look() }

// Look reads them now.
func (w *Watch) Look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, pid := range w.pids {
		u, err := Read(pid)
		if err != nil {
			continue
		}
		w.last[i] = u
		m := &w.most[i]
		m.CPU, m.Resident, m.MaxResident = u.CPU, max(m.Resident, u.Resident), u.MaxResident
		m.Descriptors, m.Threads = max(m.Descriptors, u.Descriptors), max(m.Threads, u.Threads)
	}
}

// Last returns the values of the last reading of each process, and most the largest ones so far.
func (w *Watch) Last() (last, most []Use) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Use(nil), w.last...), append([]Use(nil), w.most...)
}
