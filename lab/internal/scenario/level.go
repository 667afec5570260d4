package scenario

import (
	"fmt"

	"paddock/lab/internal/figure"
)

// Level is one of the things that a side of a tunnel holds.
type Level struct {
	Name   string  `json:"name"`
	Before float64 `json:"before"` // at rest
	Peak   float64 `json:"peak"`   // under load
	After  float64 `json:"after"`  // at rest again, or when it should have been

	Bytes bool    `json:"bytes"` // the unit, otherwise a count
	More  float64 `json:"more"`  // the part by which After may be above Before
	Least float64 `json:"least"` // what it may be above Before anyhow

	Unjudged bool `json:"unjudged"` // it says nothing after so short a run
}

// AtRest reports whether it is back where it was, as far as that can be said.
func (l *Level) AtRest() bool { return l.Unjudged || l.After <= l.Before+max(l.More*l.Before, l.Least) }

// verdict is a word about that.
func (l *Level) verdict() string {
	switch {
	case l.Unjudged:
		return "not judged"
	case l.AtRest():
		return "holds"
	}
	return "MISSED"
}

// text is a number of it.
func (l *Level) text(v float64) string {
	if l.Bytes {
		return figure.Bytes(int64(v))
	}
	return fmt.Sprint(int64(v))
}

// missed says that it is not.
func (l *Level) missed() string {
	return fmt.Sprintf("%v after the load there are %s of %s, and %s were before", IdleWithin, l.text(l.After), l.Name, l.text(l.Before))
}
