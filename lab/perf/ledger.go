package perf

import (
	"errors"
	"slices"
	"sync"

	"paddock/lab/internal/numbers"
)

// class is the verb by which a verified body came.
type class uint8

const (
	classPost class = iota
	classAcked
	classRequest
	classStream
	classes
)

var classNames = [classes]string{"post", "acked post", "request", "stream"}

// Bounds on a server's memory of verifying runs.
const (
	maxRuns  = 64      // the oldest one goes
	maxLanes = 1 << 18 // of one run
)

var errLanes = errors.New("wireperf: too many lanes in one run")

// ledger is a server's record of the bodies that it has received: the numbers of each run's lanes.
// It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	corrupt [classes]int64
	runs    map[uint64]map[laneKey]*numbers.Set
	order   []uint64 // of runs, the oldest first
}

type laneKey struct {
	class class
	lane  uint32
}

// take checks a body and enters it.
func (l *ledger) take(c class, body []byte) (bodyID, error) {
	id, err := parseBody(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.corrupt[c]++
		return id, err
	}
	return id, l.enter(c, id)
}

// enterOne notes that a body has come, which was checked elsewhere.
func (l *ledger) enterOne(c class, id bodyID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enter(c, id)
}

// enter notes that the body has come. The lock is held.
func (l *ledger) enter(c class, id bodyID) error {
	run := l.runs[id.run]
	if run == nil {
		if l.runs == nil {
			l.runs = map[uint64]map[laneKey]*numbers.Set{}
		}
		if len(l.order) == maxRuns {
			delete(l.runs, l.order[0])
			l.order = slices.Delete(l.order, 0, 1)
		}
		run = map[laneKey]*numbers.Set{}
		l.runs[id.run] = run
		l.order = append(l.order, id.run)
	}
	key := laneKey{c, id.lane}
	set := run[key]
	if set == nil {
		if len(run) == maxLanes {
			return errLanes
		}
		set = &numbers.Set{}
		run[key] = set
	}
	set.Add(id.seq)
	return nil
}

// spoiled counts a body that was not as expected.
func (l *ledger) spoiled(c class) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corrupt[c]++
}

// laneQuery asks for the server's record of a lane; laneReport is the answer.
type laneQuery struct {
	Run   uint64 `json:"run"`
	Class class  `json:"class"`
	Lane  uint32 `json:"lane"`
}

type laneReport struct {
	Spans      []numbers.Span `json:"spans"`
	Duplicates int64          `json:"duplicates"`
	Disorder   int64          `json:"disorder"`
	Overflow   int64          `json:"overflow"`
}

func (l *ledger) report(q laneQuery) laneReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := l.runs[q.Run][laneKey{q.Class, q.Lane}]
	if set == nil {
		return laneReport{}
	}
	return laneReport{slices.Clone(set.Spans), set.Duplicates, set.Disorder, set.Overflow}
}

// spoilt is how many bodies of each class were corrupt, of all runs.
func (l *ledger) spoilt() [classes]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.corrupt
}
