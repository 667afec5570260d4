package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"paddock/internal/platform/journal"
)

// earlierName is the journal's value that holds the epochs before losses, and runName the one that
// holds the run of events since the last of them, see [NewRecord].
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

// Lose returns the values that a journal needs when its newest events are lost: new events have
// another epoch and another run, as clients may know lost ones with the same cursors and ids.
// Cursors of the present epoch stay valid; those behind last stand for last.
func Lose(j journal.Journal, last uint64) ([]journal.Value, error) {
	earlier, err := earlierEpochs(j)
	if err != nil {
		return nil, err
	}
	now := maps.Clone(earlier)
	if now == nil {
		now = map[string]uint64{}
	}
	switch epoch, err := j.Get(epochName); {
	case err == nil:
		now[string(epoch)] = last
	case !errors.Is(err, journal.ErrNotFound):
		return nil, err
	}
	text, _ := json.Marshal(now) // such a map always encodes
	epoch := []byte(NewEpoch())
	return []journal.Value{{Name: earlierName, Bytes: text}, {Name: epochName, Bytes: epoch}, {Name: runName, Bytes: epoch}}, nil
}

func earlierEpochs(j journal.Journal) (earlier map[string]uint64, err error) {
	text, err := optional(j, earlierName)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &earlier)
	}
	return earlier, err
}

// Run returns the run of the events of a journal: "" before the first loss.
func Run(j journal.Journal) (string, error) {
	run, err := optional(j, runName)
	return string(run), err
}

// optional returns a value, or nil if it is not there.
func optional(j journal.Journal, name string) ([]byte, error) {
	b, err := j.Get(name)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return b, err
}
