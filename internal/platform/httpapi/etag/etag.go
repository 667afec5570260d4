// Package etag decides on the conditions of requests: the headers If-Match and If-None-Match of RFC
// 9110, section 13.1, which other interfaces have too.
package etag

import (
	"fmt"
	"strings"
)

// Condition holds the state for which a change is meant. An empty field is no condition.
type Condition struct {
	Match     string // If-Match: a list of ETags, or *
	NoneMatch string // If-None-Match
}

// A FailedError refuses a change whose condition does not hold. Its text names the way out.
type FailedError struct{ text string }

func (e *FailedError) Error() string { return e.text }

func failed(format string, args ...any) error {
	return &FailedError{fmt.Sprintf(format, args...)}
}

// Check refuses a change if the condition does not hold. tag names the present state, or is "" if
// there is none. The error is a *FailedError.
func (c Condition) Check(exists bool, tag string) error {
	switch {
	case c.Match != "" && !exists:
		return failed("If-Match: it does not exist: leave the header out to create it")
	case c.Match != "" && !Names(c.Match, tag, false):
		return failed("If-Match: it has changed, and its ETag is now %s: read it again", tag)
	case exists && c.NoneMatch == "*":
		return failed("If-None-Match: it exists: leave the header out to replace it")
	case exists && c.NoneMatch != "" && Names(c.NoneMatch, tag, true):
		return failed("If-None-Match: it is in this state, %s", tag)
	}
	return nil
}

// Names reports whether a list of ETags contains tag. A proxy that compresses weakens ETags; weak
// reports whether a weak one counts.
func Names(list, tag string, weak bool) bool {
	for known := range strings.SplitSeq(list, ",") {
		known = strings.TrimSpace(known)
		if weak {
			known = strings.TrimPrefix(known, "W/")
		}
		if known == tag || known == "*" {
			return true
		}
	}
	return false
}
