package ingest

import (
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/subjects"
)

// Result is the outcome of a batch. Its JSON form is the answer of every door.
type Result struct {
	Accepted int         `json:"accepted"`
	Late     int         `json:"late"`
	Outliers int         `json:"outliers,omitempty"` // too far from the position before, see track.Policy
	Rejected []Rejection `json:"rejected"`
	Omitted  int         `json:"omitted,omitempty"` // further rejections, which are not listed
	// LatePositions holds the first late ones, each with the time of the last fix.
	LatePositions []Rejection `json:"late_positions,omitempty"`
	Ignored

	// Overloaded counts the rejections because there was no room or the process was ending; Full
	// those of new objects beyond the bound.
	Overloaded int `json:"-"`
	Full       int `json:"-"`
}

// Rejection names one position that was not accepted.
type Rejection struct {
	Index  int    `json:"index"` // in the batch as it was sent, from 0
	Reason string `json:"reason"`
}

// request is an input that waits for a record: a batch, or a removal with an empty batch.
type request struct {
	pending *pending
	removal *removal    // nil: none
	queued  bool        // its sender does not wait for its end: no later one of these overtakes it
	next    int         // position from which on they are not part of a record; belongs to the turn
	taken   atomic.Bool // none is left
}

// removal is an object to forget.
type removal struct {
	fleet, id string
	removed   bool
}

// pending is a batch in progress. A position's outcome is written by the goroutine that applies its
// partition.
type pending struct {
	batch    *Batch
	metrics  *Metrics
	weight   int64               // in Pipeline.room
	room     *semaphore.Weighted // of which it holds a part; nil: none yet
	holds    int64               // of it at present
	outcomes []outcome
	late     lateList
	left     atomic.Int32 // positions without an outcome, and one until the record is published
	reason   string       // of refused
	failure  error        // why its record was not applied; nil: it was
	done     func(*pending)
	crowded  bool // some outcomes are Full before a record, see Pipeline.admit
}

var _ fold.Job = (*pending)(nil)

func (p *Pipeline) newPending(b *Batch, done func(*pending)) *pending {
	n := len(b.Positions)
	pd := &pending{batch: b, metrics: p.Metrics, weight: p.room.weight(b), outcomes: make([]outcome, n), done: done}
	pd.left.Store(int32(n) + 1)
	p.Metrics.results[resultRejected].Add(uint64(len(b.Rejected) + b.Omitted))
	p.Metrics.renamed.Add(uint64(b.Renamed))
	p.Metrics.ignored.Add(uint64(b.Ignored.Count))
	return pd
}

// outcome is track.Outcome, with two further values of the pipeline.
type outcome uint8

const (
	overloaded = outcome(255) // there was no room
	unapplied  = outcome(254) // the pipeline ended before the position was applied
	unstored   = outcome(253) // the journal could not be written
	refused    = outcome(252) // for the reason of Pipeline.Refuse
)

// Position implements [fold.Job].
func (pd *pending) Position(i int32) *track.Position { return &pd.batch.Positions[i] }

// Trace implements [fold.Job].
func (pd *pending) Trace(int32) *track.Trace { return pd.batch.Trace }

// Applied implements [fold.Job].
func (pd *pending) Applied(i int32, o track.Outcome, state *track.Shard) {
	pd.outcomes[i] = outcome(o)
	if o == track.Late {
		pd.late.note(i, pd.Position(i), state)
	}
	pd.left.Add(-1)
}

// admitted returns the end of the positions from one on, below to, that a record may take: from is
// the end if it may not take the first one.
func (pd *pending) admitted(from, to int) (end int) {
	if !pd.crowded {
		return to
	}
	for end = from; end < to && pd.outcomes[end] != outcome(track.Full); end++ {
	}
	return end
}

// refuse sets the outcome of a position that is not applied.
func (pd *pending) refuse(i int32, o outcome) {
	pd.outcomes[i] = o
	pd.left.Add(-1)
}

func (pd *pending) refuseAll(o outcome) {
	for i := range pd.outcomes {
		pd.refuse(int32(i), o)
	}
	pd.count()
}

// counts counts the outcomes of applied positions, and the others.
func (pd *pending) counts() (applied [track.Past + 1]int, left int) {
	for _, o := range pd.outcomes {
		if o >= refused {
			left++
		} else {
			applied[o]++
		}
	}
	return applied, left
}

// count counts the outcomes, when all are known.
func (pd *pending) count() {
	applied, left := pd.counts()
	pd.metrics.applied(applied)
	pd.tell(applied)
	if !pd.batch.Again {
		pd.metrics.results[resultOverloaded].Add(uint64(left))
	}
}

// tell tells the door what became of the positions.
func (pd *pending) tell(applied [track.Past + 1]int) {
	door := pd.batch.Door
	if door == nil {
		return
	}
	door.Count(applied[track.Accepted]+applied[track.Held], applied[track.Late]+applied[track.Past], applied[track.Outlier])
	listed, full, left := 0, 0, 0
	for i, o := range pd.outcomes {
		switch {
		case o != outcome(track.Full) && (o < refused || pd.batch.Again):
		case listed < doors.Kept:
			listed++
			door.Refuse(classOf(o), pd.batch.Positions[i].ID, pd.why(o))
		case o == outcome(track.Full):
			full++
		default:
			left++
		}
	}
	door.Refused(doors.Full, full)
	door.Refused(doors.Overloaded, left)
}

func classOf(o outcome) doors.Class {
	if o == outcome(track.Full) {
		return doors.Full
	}
	return doors.Overloaded
}

// why returns the reason why a position was not applied.
func (pd *pending) why(o outcome) string {
	switch o {
	case outcome(track.Full):
		return "too many objects: the limit is reached and this one is new"
	case overloaded:
		return "overloaded: the queue is full, send it again later"
	case unapplied:
		return "not applied: shutting down, send it again later"
	case unstored:
		return "not stored: the journal cannot be written, send it again later"
	}
	return pd.reason
}

func (pd *pending) result() Result {
	r := Result{Rejected: append([]Rejection{}, pd.batch.Rejected...), Omitted: pd.batch.Omitted, Ignored: pd.batch.Ignored}
	for i, o := range pd.outcomes {
		switch o {
		case outcome(track.Accepted), outcome(track.Held):
			r.Accepted++
		case outcome(track.Late), outcome(track.Past):
			r.Late++
		case outcome(track.Outlier):
			r.Outliers++
		case outcome(track.Full):
			r.Full++
			r.reject(pd.batch.index(i), pd.why(o))
		case overloaded, unapplied, unstored, refused:
			r.Overloaded++
			r.reject(pd.batch.index(i), pd.why(o))
		}
	}
	r.list()
	r.LatePositions = pd.late.rejections(pd.batch)
	return r
}

// part is the positions of a batch that belong to one partition.
type part struct {
	job     fold.Job
	members []int32
}

// split appends positions of a job, of which the first one has the index from, to the parts of
// their partitions, in their order.
func split(parts *[subjects.Partitions][]part, job fold.Job, positions []track.Position, from int) {
	if len(positions) == 1 {
		q := subjects.Partition(positions[0].Fleet, positions[0].ID)
		parts[q] = append(parts[q], part{job, []int32{int32(from)}})
		return
	}
	of := make([]uint8, len(positions))
	var ends [subjects.Partitions]int32 // counts first
	for i := range positions {
		q := subjects.Partition(positions[i].Fleet, positions[i].ID)
		of[i] = uint8(q)
		ends[q]++
	}
	members := make([]int32, len(positions))
	sum := int32(0)
	for q, n := range ends {
		if n > 0 {
			parts[q] = append(parts[q], part{job, members[sum : sum+n : sum+n]})
		}
		ends[q], sum = sum, sum+n
	}
	for i, q := range of {
		members[ends[q]] = int32(from + i)
		ends[q]++
	}
}
