// Package fold applies the inputs of a partition: positions, ticks, changed fences, removals. It
// reads no clock and starts no goroutine, and the work of an input is bounded by counts, not by
// time. So the same inputs in the same order always give the same events.
package fold

import (
	"paddock/fence/track"
)

// StepEvents is the number of events after which Apply and Step postpone further work. One position
// may exceed it. It is part of the fold's definition: another value gives another order of events.
const StepEvents = 1000

// Job holds positions of one request or record.
type Job interface {
	// Position returns a position, which the job keeps until Applied was called for it.
	Position(i int32) *track.Position
	// Applied is called once for each position that was applied, with the state after it.
	Applied(i int32, o track.Outcome, state *track.Shard)
}

// Partition is the state of some objects, and the positions that wait for their turn. One goroutine
// at a time may use it.
type Partition struct {
	*track.Shard
	held    []held         // in the order of their arrival
	waiting map[object]int // number of held positions, by object
}

// held is a position that waits.
type held struct {
	job Job
	i   int32
}

type object struct{ fleet, id string }

// NewPartition returns a partition without objects and without fences.
func NewPartition(o track.Options) *Partition { return &Partition{Shard: track.NewShard(o)} }

// Apply applies members of a job, and appends the events. Positions beyond StepEvents, and
// positions of an object of which others wait, are held: Step applies them.
func (p *Partition) Apply(j Job, members []int32, events []track.Event) []track.Event {
	most := len(events) + StepEvents
	for _, i := range members {
		if len(events) >= most || p.waits(j, i) {
			p.hold(j, i)
			continue
		}
		events = p.apply(j, i, events)
	}
	return events
}

func (p *Partition) apply(j Job, i int32, events []track.Event) []track.Event {
	o, events := p.Shard.Apply(j.Position(i), events)
	j.Applied(i, o, p.Shard)
	return events
}

// Step does a part of the postponed work: timeouts, then changes of the fences, then held
// positions. It reports whether more is due.
func (p *Partition) Step(events []track.Event) (out []track.Event, more bool) {
	most := len(events) + StepEvents
	events, more = p.Shard.Step(events)
	n := 0
	for ; n < len(p.held) && len(events) < most; n++ {
		h := p.held[n]
		p.let(h)
		events = p.apply(h.job, h.i, events)
	}
	p.drop(n)
	return events, more || len(p.held) > 0
}

// Held is the number of positions that wait.
func (p *Partition) Held() int { return len(p.held) }

// Refuse forgets the held positions, and calls f for each.
func (p *Partition) Refuse(f func(j Job, i int32)) {
	for _, h := range p.held {
		f(h.job, h.i)
	}
	p.drop(len(p.held))
}

func (p *Partition) waits(j Job, i int32) bool {
	return len(p.held) > 0 && p.waiting[objectOf(j, i)] > 0
}

func (p *Partition) hold(j Job, i int32) {
	if p.waiting == nil {
		p.waiting = map[object]int{}
	}
	p.held = append(p.held, held{j, i})
	p.waiting[objectOf(j, i)]++
}

// let ends the waiting of one position.
func (p *Partition) let(h held) {
	o := objectOf(h.job, h.i)
	if p.waiting[o]--; p.waiting[o] == 0 {
		delete(p.waiting, o)
	}
}

// drop removes the first n held positions. The memory of a backlog goes with its end.
func (p *Partition) drop(n int) {
	clear(p.held[:n])
	if p.held = p.held[n:]; len(p.held) == 0 {
		p.held, p.waiting = nil, nil
	}
}

func objectOf(j Job, i int32) object {
	p := j.Position(i)
	return object{p.Fleet, p.ID}
}
