package ingest

import (
	"errors"
	"fmt"

	"paddock/fence/track"
)

// A pipeline of a cluster is the leader, which makes the records, or a replica, which applies the
// records of the leader: the fold is a function of the records, so it has the same state, the same
// events and the same cursors.

// ErrReplica is returned by a replica for what only a leader does.
var ErrReplica = errors.New("this node is not the leader")

// Role tells whether a pipeline makes records.
type Role int32

// The roles of a pipeline.
const (
	Leader  Role = iota // of a pipeline on its own, too
	Replica             // Replicate gives it the records
)

// Role returns the present role.
func (p *Pipeline) Role() Role { return Role(p.role.Load()) }

// Lead makes a replica the leader. It must have all records that earlier leaders have stored.
func (p *Pipeline) Lead() {
	p.role.Store(int32(Leader))
	p.signal()
}

// Replicate applies a record that the leader has made, and that the journal has by now. The records
// are given in order, without a gap.
func (p *Pipeline) Replicate(number uint64, stored []byte) error {
	in, err := parseInput(stored)
	if err != nil {
		return recordError(number, err)
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.applying <- struct{}{}
	defer func() { <-p.applying }()
	if p.Role() != Replica || number != p.folding.store.number+1 {
		return recordError(number, fmt.Errorf("it is not the next one of a replica: the last one is %d", p.folding.store.number))
	}
	r, err := p.copyOf(number, in)
	if err != nil {
		return recordError(number, err)
	}
	p.clock.atLeast(in.at)
	p.fold(r)
	return nil
}

// copyOf returns the record of a stored one. The caller has the turn.
func (p *Pipeline) copyOf(number uint64, in *input) (r *record, err error) {
	m := &p.making
	r = &m.records[m.count%2]
	m.count++
	r.reset(in.at)
	r.number, r.stepping, r.count = number, in.stepping, len(in.positions)
	r.done, r.copied = in.handled, &replayed{positions: in.positions, traces: in.traces}
	if in.options != nil {
		if r.track, err = decodeOptions(in.options); err != nil {
			return nil, err
		}
		r.options, m.options = in.options, in.options
	}
	if in.view != nil {
		if r.view, err = p.cfg.Fences.Follow(in.view); err != nil {
			return nil, err
		}
		r.viewID, m.view = in.view, r.view
		p.cfg.Fences.Begin(in.view, number)
	}
	for i := range in.removals {
		r.removals = append(r.removals, &in.removals[i])
	}
	split(&r.parts, r.copied, in.positions, 0)
	return r, nil
}

// Applied returns the number and the time of the last applied record.
func (p *Pipeline) Applied() (number uint64, at track.Millis) {
	p.applying <- struct{}{}
	defer func() { <-p.applying }()
	return p.folding.store.number, p.folding.store.at
}
