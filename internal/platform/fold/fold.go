// Package fold applies the inputs of a partition: positions, ticks, changed fences, removals. It
// reads no clock and starts no goroutine, and the work of an input is bounded by counts, not by
// time. So the same inputs in the same order always give the same events.
package fold

import (
	"paddock/fence/track"
)

// ApplyEvents and StepEvents are the numbers of events of a partition after which Apply and Step
// postpone further work in one record. One position may exceed them. For Apply an event counts once
// more for each 4 KiB of its properties. These numbers are part of the fold's definition: others
// would give another order of events.
const (
	ApplyEvents = 64
	StepEvents  = 256
)

// Job holds positions of one request or record.
type Job interface {
	// Position returns a position, which the job keeps until Applied was called for it.
	Position(i int32) *track.Position
	// Applied is called once for each position that was applied, with the state after it.
	Applied(i int32, o track.Outcome, state *track.Shard)
	// Trace returns the trace of the request that a position came with, or nil.
	Trace(i int32) *track.Trace
}

// Partition is the state of some objects, and the positions that wait for their turn. One goroutine
// at a time may use it.
type Partition struct {
	*track.Shard
	told    track.Told     // for the second fold
	spent   int            // of ApplyEvents, in this record
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
func NewPartition(o track.Options) *Partition {
	p := &Partition{Shard: track.NewShard(o)}
	p.TellTo(&p.told)
	return p
}

// Begin begins a record, in which Apply may cause ApplyEvents events.
func (p *Partition) Begin() { p.spent = 0 }

// Apply applies members of a job, and appends the events. Positions beyond ApplyEvents, and
// positions of an object of which others wait, are held: Step applies them.
func (p *Partition) Apply(j Job, members []int32, events []track.Event) []track.Event {
	for _, i := range members {
		if p.spent >= ApplyEvents || p.waits(j, i) {
			p.hold(j, i)
			continue
		}
		n := len(events)
		events = p.apply(j, i, events)
		for k := range events[n:] {
			e := &events[n+k]
			p.spent += 1 + weight(e)>>12
		}
	}
	return events
}

// weight returns the number of bytes of an event's properties.
func weight(e *track.Event) int {
	if e.Fence == nil {
		return len(e.Props)
	}
	return len(e.Props) + len(e.Fence.Properties)
}

func (p *Partition) apply(j Job, i int32, events []track.Event) []track.Event {
	at := j.Position(i)
	if trace := j.Trace(i); trace != nil {
		traced := *at
		traced.Trace = trace
		at = &traced
	}
	o, events := p.Shard.Apply(at, events)
	j.Applied(i, o, p.Shard)
	return events
}

// Step does a part of the postponed work, until it has appended most events: timeouts, then changes
// of the fences, then held positions. It reports whether more is due.
func (p *Partition) Step(events []track.Event, most int) (out []track.Event, more bool) {
	most += len(events)
	events, more = p.Shard.Step(events, most-len(events))
	n := 0
	for ; n < len(p.held) && len(events) < most; n++ {
		h := p.held[n]
		p.let(h)
		events = p.apply(h.job, h.i, events)
	}
	p.drop(n)
	return events, more || len(p.held) > 0
}

// More reports whether Step has something to do.
func (p *Partition) More() bool { return len(p.held) > 0 || p.Shard.More() }

// Remove is [track.Shard.Remove] behind the held positions of the object, however many there are:
// they came before it.
func (p *Partition) Remove(fleet, id string, now track.Millis, events []track.Event) (bool, []track.Event) {
	if o := (object{fleet, id}); p.waiting[o] > 0 {
		n := 0
		for _, h := range p.held {
			if objectOf(h.job, h.i) == o {
				p.let(h)
				events = p.apply(h.job, h.i, events)
			} else {
				p.held[n] = h
				n++
			}
		}
		clear(p.held[n:])
		p.held = p.held[:n]
		p.drop(0)
	}
	return p.Shard.Remove(fleet, id, now, events)
}

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
