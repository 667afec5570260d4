package events

import (
	"bytes"
	"encoding/json"

	"paddock/fence/track"
)

// What the attributes of an event's JSON are found by. A quote in a value is escaped, so none of
// them is part of a value.
const (
	parentFollows = `,"traceparent":`
	stateFollows  = `,"tracestate":`
	dataFollows   = `,"datacontenttype":`
)

// appendTrace appends the attributes of a trace. nil: there are none.
func appendTrace(b []byte, t *track.Trace) []byte {
	if t == nil {
		return b
	}
	b = appendString(append(b, parentFollows...), t.Parent)
	if t.State != "" {
		b = appendString(append(b, stateFollows...), t.State)
	}
	return b
}

// Trace returns the trace of the request that caused the event, as its JSON has it, and whether
// there is one.
func (r *Record) Trace() (t track.Trace, ok bool) {
	head, _, _ := bytes.Cut(r.JSON.own, []byte(dataFollows))
	_, attributes, ok := bytes.Cut(head, []byte(parentFollows))
	if !ok {
		return track.Trace{}, false
	}
	parent, state, _ := bytes.Cut(attributes, []byte(stateFollows))
	return track.Trace{Parent: unquote(parent), State: unquote(state)}, true
}

// unquote returns the text of a JSON string, "" of nothing.
func unquote(text []byte) (s string) {
	_ = json.Unmarshal(text, &s) // it is one, of appendTrace
	return s
}
