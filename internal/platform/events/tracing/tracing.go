// Package tracing reads the trace context of a request as W3C Trace Context defines it
// (https://www.w3.org/TR/trace-context/): the headers traceparent and tracestate. A context that is
// malformed is none, as section 4.3 of the standard says; no error is reported.
package tracing

import (
	"bytes"
	"net/http"
	"strings"

	"paddock/fence/track"
)

const (
	// MaxState bounds the bytes of a tracestate. Members of a longer one are left out, as section
	// 3.3.1.5 of the standard says: those of more than 128 bytes first, then the last ones.
	MaxState = 512
	// maxMembers and maxHeader bound what is read: members, and bytes of all lines together. A
	// longer tracestate is none.
	maxMembers = 32
	maxHeader  = 16 << 10
	longMember = 128
	maxKey     = 256
	maxValue   = 256

	// version-traceid-parentid-flags
	lengthOfParent = 2 + 1 + 32 + 1 + 16 + 1 + 2
)

// FromHTTP returns the trace context of a request, or nil.
func FromHTTP(h http.Header) *track.Trace {
	parents := h["Traceparent"]
	if len(parents) == 0 {
		return nil
	}
	return Parse(parents, h["Tracestate"])
}

// FromMessage returns the trace context of the header of a message on the bus, or nil. Names are
// compared without regard to case, because clients write them in both ways.
func FromMessage(header []byte) *track.Trace {
	var parents, states []string
	for line := range bytes.SplitSeq(header, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) < len("tracestate") || len(name) > len("traceparent") {
			continue
		}
		switch {
		case bytes.EqualFold(name, []byte("traceparent")):
			parents = append(parents, string(value))
		case bytes.EqualFold(name, []byte("tracestate")):
			states = append(states, string(value))
		}
	}
	return Parse(parents, states)
}

// Parse returns the trace context of the values of both headers, or nil if there is not exactly one
// valid traceparent. A tracestate that is malformed is left out.
func Parse(parents, states []string) *track.Trace {
	if len(parents) != 1 {
		return nil
	}
	parent, ok := parseParent(strings.Trim(parents[0], " \t"))
	if !ok {
		return nil
	}
	return &track.Trace{Parent: parent, State: parseState(states)}
}

// parseParent returns a traceparent in the form of version 00. Later versions may have more behind
// the fields of that one, and other flags than the first.
func parseParent(text string) (parent string, ok bool) {
	if len(text) < lengthOfParent || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return "", false
	}
	version, id, span, flags := text[:2], text[3:35], text[36:52], text[53:55]
	for _, field := range []string{version, id, span, flags} {
		if strings.Trim(field, "0123456789abcdef") != "" {
			return "", false
		}
	}
	switch {
	case version == "ff", strings.Trim(id, "0") == "", strings.Trim(span, "0") == "":
		return "", false
	case version == "00":
		return text, len(text) == lengthOfParent
	case len(text) > lengthOfParent && text[lengthOfParent] != '-':
		return "", false
	}
	sampled := "00"
	if strings.IndexByte("13579bdf", flags[1]) >= 0 {
		sampled = "01"
	}
	return "00-" + id + "-" + span + "-" + sampled, true
}

// parseState returns the members of all lines of a tracestate, at most MaxState bytes of them, or
// "" if one is malformed.
func parseState(lines []string) string {
	all := strings.Join(lines, ",")
	if len(all) > maxHeader {
		return ""
	}
	var members []string
	size := 0
	for member := range strings.SplitSeq(all, ",") {
		if member = strings.Trim(member, " \t"); member == "" {
			continue // empty members are allowed
		}
		if !validMember(member) || len(members) == maxMembers {
			return ""
		}
		members = append(members, member)
		size += len(member) + 1
	}
	for i := len(members) - 1; i >= 0 && size > MaxState+1; i-- {
		if len(members[i]) > longMember {
			size -= len(members[i]) + 1
			members = append(members[:i], members[i+1:]...)
		}
	}
	for size > MaxState+1 {
		last := len(members) - 1
		size -= len(members[last]) + 1
		members = members[:last]
	}
	return strings.Join(members, ",")
}

// validMember reports whether a member is key=value of the standard's characters.
func validMember(member string) bool {
	key, value, ok := strings.Cut(member, "=")
	if !ok || key == "" || len(key) > maxKey || value == "" || len(value) > maxValue {
		return false
	}
	for i := range len(key) {
		c := key[i]
		if lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'; !lower && (i == 0 || strings.IndexByte("_-*/@", c) < 0) {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return true
}
