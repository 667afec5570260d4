package httpapi

import (
	"net/http"
	"strings"
)

// condition is what a change says about the state that it is meant for: the
// headers If-Match and If-None-Match (RFC 9110, section 13.1).
type condition struct{ match, noneMatch string }

func conditionOf(r *http.Request) condition {
	list := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	return condition{match: list("If-Match"), noneMatch: list("If-None-Match")}
}

// check refuses a change of a thing in a state with that name, or of none. etag
// names the state of the set, and is "" if there is no set.
func (c condition) check(exists bool, etag string) error {
	switch {
	case c.match != "" && !exists:
		return fail(http.StatusPreconditionFailed, "If-Match: there is no such thing: leave the header out to make it")
	case c.match != "" && !names(c.match, etag, false):
		return fail(http.StatusPreconditionFailed, "If-Match: the set has changed, its ETag is now %s: read it again", etag)
	case exists && c.noneMatch == "*":
		return fail(http.StatusPreconditionFailed, "If-None-Match: it exists: leave the header out to replace it")
	case exists && c.noneMatch != "" && names(c.noneMatch, etag, true):
		return fail(http.StatusPreconditionFailed, "If-None-Match: the set is in this state, %s", etag)
	}
	return nil
}

// names reports whether a list of ETags has this one. A proxy that compresses
// weakens ETags; weak says whether such a one counts.
func names(list, etag string, weak bool) bool {
	for known := range strings.SplitSeq(list, ",") {
		known = strings.TrimSpace(known)
		if weak {
			known = strings.TrimPrefix(known, "W/")
		}
		if known == etag || known == "*" {
			return true
		}
	}
	return false
}
