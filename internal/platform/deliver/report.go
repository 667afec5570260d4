package deliver

import (
	"slices"
	"time"
)

// Report is the state of a follower as it is answered.
type Report struct {
	State   string    `json:"state"` // active, waiting for its next attempt, or disabled
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"disabled_at,omitzero"`
	Cursor  string    `json:"cursor"`
	Lag     uint64    `json:"lag"`
	Last    *Attempt  `json:"last_attempt,omitempty"`
	Next    time.Time `json:"next_attempt,omitzero"`
	Fails   int       `json:"failures"`
	Since   time.Time `json:"failing_since,omitzero"`
	Sent    uint64    `json:"delivered"`
	Letters int       `json:"dead_letters"`
	Missed  uint64    `json:"missed"`
	Replay  *Range    `json:"replay,omitempty"`
	Again   int       `json:"replay_letters,omitempty"`
}

// Report returns the present state as it is answered.
func (f *Follower) Report() Report {
	s := f.Status()
	r := Report{
		State: s.State, Reason: s.Reason, Cursor: s.Cursor, Lag: s.Lag, Last: s.Stored.Last, Fails: s.Stored.Failures, Since: s.Stored.Since,
		Sent: s.Stored.Delivered, Letters: s.Letters, Missed: s.Stored.Missed, Replay: s.Stored.Replay, Again: len(s.Stored.Letters),
	}
	if s.State == StateWaiting {
		r.Next = s.Stored.Next
	}
	if s.Stored.Disabled != nil {
		r.At = s.Stored.Disabled.At
	}
	return r
}

// Attempts returns the last attempts since the start of the process, the newest first, at most 50.
func (f *Follower) Attempts() []Attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append([]Attempt{}, f.recent...)
	slices.Reverse(list)
	return list
}
