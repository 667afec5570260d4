package events

import (
	"encoding/json"
	"errors"
	"fmt"

	"paddock/internal/platform/journal"
)

// earlierName is the journal's value that holds the epochs before losses, and runName the one that
// holds the runs since the first of them.
const (
	earlierName = "epochs"
	runName     = "run"
)

// Loss tells why events are missing from a journal. It is what a piece of lost events holds.
type Loss struct {
	Reason  string `json:"reason"`
	Counted bool   `json:"counted"` // the number of missing events is known
}

// Encode returns the loss as the events of a piece.
func (l Loss) Encode() []byte {
	b, _ := json.Marshal(l) // such a struct always encodes
	return b
}

// gapOf returns the gap that a piece of lost events is.
func gapOf(p *journal.Piece) (Gap, error) {
	g := Gap{From: p.First, To: p.Next() - 1, Lost: &Loss{}}
	if err := json.Unmarshal(p.Events, g.Lost); err != nil {
		return Gap{}, fmt.Errorf("%w: the gap at event %d: %w", errStored, p.First, err)
	}
	return g, nil
}

// Run is the run of the events of a journal's records from one on, see [NewRecord].
type Run struct {
	From uint64 `json:"from"`
	Name string `json:"name"`
}

// Runs are in the order of their records.
type Runs []Run

// Of returns the name of the run of a record: "" before the first one.
func (all Runs) Of(record uint64) (name string) {
	for _, r := range all {
		if r.From <= record {
			name = r.Name
		}
	}
	return name
}

// RunsOf returns the runs of a journal, of which there are none before the first loss.
func RunsOf(j journal.Journal) (all Runs, err error) {
	text, err := optional(j, runName)
	switch {
	case err != nil || len(text) == 0:
		return nil, err
	case text[0] != '[': // the name alone: all records that are left have this run
		return Runs{{Name: string(text)}}, nil
	}
	return all, json.Unmarshal(text, &all)
}

// Lose returns the values that a journal needs when its newest events are lost: those of the
// records from one on have another epoch and another run, as clients may know lost ones with the
// same cursors and ids. Cursors of the present epoch stay valid, and ones behind last stand for
// last.
func Lose(j journal.Journal, last, record uint64) ([]journal.Value, error) {
	earlier, err := earlierEpochs(j)
	if err != nil {
		return nil, err
	}
	now := map[string]uint64{}
	for epoch, its := range earlier { // this loss may go back further
		now[epoch] = min(its, last)
	}
	switch epoch, err := j.Get(epochName); {
	case err == nil:
		now[string(epoch)] = last
	case !errors.Is(err, journal.ErrNotFound):
		return nil, err
	}
	runs, err := RunsOf(j)
	if err != nil {
		return nil, err
	}
	epoch := NewEpoch()
	text, _ := json.Marshal(now) // such a map always encodes
	names, _ := json.Marshal(append(runs, Run{record, epoch}))
	return []journal.Value{{Name: earlierName, Bytes: text}, {Name: epochName, Bytes: []byte(epoch)}, {Name: runName, Bytes: names}}, nil
}

func earlierEpochs(j journal.Journal) (earlier map[string]uint64, err error) {
	text, err := optional(j, earlierName)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &earlier)
	}
	return earlier, err
}

// optional returns a value, or nil if it is not there.
func optional(j journal.Journal, name string) ([]byte, error) {
	b, err := j.Get(name)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return b, err
}
