package rule

import (
	"encoding/json"
	"time"
)

// Limits of a rule.
const (
	MaxRules      = 100_000 // of a table, and of a file
	MaxID         = 128     // bytes of the id of a rule, and of the name of a set
	MaxName       = 256     // bytes of a pattern, a fleet, or the id of a fence
	MaxFences     = 10_000  // ids of fences in one rule
	MaxProperties = 16      // properties in a where
	MaxDelivery   = 16 << 10
	MaxMetres     = 10_000
	MaxAtLeast    = 10_000_000
	MaxText       = 8 << 20 // bytes of the JSON of one rule
)

// maxSpan is the longest duration in a rule.
const maxSpan = 366 * 24 * time.Hour

// Rule selects objects and fences, and the events to tell about them. The package comment describes
// the fields. A rule that is in a [Table] is not changed.
type Rule struct {
	ID      string
	Set     string // name of a set of fences; empty only with Near
	Fences  Fences
	Objects string // pattern over the object's id, see Pattern; "" is *
	Fleet   string // "" and * are any
	Detect  Detect // 0 is enter and exit, except with AtLeast or Near
	Dwell   Dwell  // with DwellTime
	Inside  Repeat // with Inside
	Outside Repeat // with Outside

	When      *Condition // nil: always
	Direction Direction  // with Cross
	Active    *Schedule  // nil: always
	AtLeast   int        // count.at_least; 0: the rule does not count
	Near      *Near      // nil: the rule is not about objects near each other

	Deliver  json.RawMessage // JSON; nil: none
	Disabled bool
}

// Dwell tells how long an object stays in a fence until there is an event.
type Dwell struct {
	After time.Duration // since it entered
	Every time.Duration // between further events; 0: there is one
}

// Repeat bounds how often an event is repeated.
type Repeat struct {
	Every time.Duration // least time between two; 0: an event for each fix
}

// Near tells when two objects meet: one that the rule selects, and another.
type Near struct {
	Objects string  // pattern of the other object's id; "" is *
	Fleet   string  // of the other object; "" and * are any
	Metres  float64 // they meet at this distance, or less
	// ExitMetres is the distance beyond which they part. 0 is a quarter more than Metres.
	ExitMetres float64
}

// exitShare is ExitMetres over Metres, if it is not given.
const exitShare = 1.25

// Exit returns the distance beyond which objects part.
func (n *Near) Exit() float64 {
	if n.ExitMetres == 0 {
		return n.Metres * exitShare
	}
	return n.ExitMetres
}

// isAny reports whether a pattern or the name of a fleet stands for all.
func isAny(s string) bool { return s == "" || s == "*" }

// normal returns name, or "" if it stands for all.
func normal(name string) string {
	if isAny(name) {
		return ""
	}
	return name
}
