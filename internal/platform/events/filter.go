package events

import (
	"fmt"

	"paddock/fence/track"
)

// Filter selects events; an empty field selects all. It matches whole names, by
// the true ids and not their tokens.
type Filter struct {
	Set    string `json:"set"`
	Fence  string `json:"fence"`
	Event  string `json:"event"` // enter, exit or inside
	Fleet  string `json:"fleet"`
	Object string `json:"object"`
}

// Validate refuses an event kind that does not exist: such a filter would wait
// for ever.
func (f *Filter) Validate() error {
	if f.Event == "" {
		return nil
	}
	if _, err := track.ParseKind(f.Event); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return nil
}

// Match says whether the filter selects the record.
func (f *Filter) Match(r *Record) bool {
	return (f.Set == "" || f.Set == r.Set) &&
		(f.Fence == "" || f.Fence == r.Fence) &&
		(f.Event == "" || f.Event == r.Kind.String()) &&
		(f.Fleet == "" || f.Fleet == r.Fleet) &&
		(f.Object == "" || f.Object == r.Object)
}
