package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"paddock/fence"
)

// etags names states of sets, and never uses a name twice: generations restart in each process, and
// with each set that takes the name of a deleted one.
type etags struct {
	epoch string // identifies the process

	mu   sync.Mutex
	next uint64
	ids  map[weak.Pointer[fence.Set]]uint64 // by identity, without keeping the set
}

func newETags() etags {
	return etags{epoch: strconv.FormatInt(time.Now().UnixNano(), 36), ids: map[weak.Pointer[fence.Set]]uint64{}}
}

func (e *etags) of(s *fence.Set, snap *fence.Snapshot) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	id, ok := e.ids[weak.Make(s)]
	if !ok {
		for p := range e.ids { // of deleted sets
			if p.Value() == nil {
				delete(e.ids, p)
			}
		}
		e.next++
		id = e.next
		e.ids[weak.Make(s)] = id
	}
	return `"` + e.epoch + "-" + strconv.FormatUint(id, 36) + "-" + strconv.FormatUint(snap.Generation(), 10) + `"`
}

// tell adds the state of a set to the head of an answer.
func (e *etags) tell(w http.ResponseWriter, s *fence.Set, snap *fence.Snapshot) (etag string) {
	etag = e.of(s, snap)
	w.Header().Set("ETag", etag)
	tellGeneration(w, snap)
	return etag
}

func tellGeneration(w http.ResponseWriter, snap *fence.Snapshot) {
	w.Header().Set("Paddock-Generation", strconv.FormatUint(snap.Generation(), 10))
}

// answered adds the state, and answers 304 if the client has it already.
func (e *etags) answered(w http.ResponseWriter, r *http.Request, s *fence.Set, snap *fence.Snapshot) bool {
	return answered(w, r, e.tell(w, s, snap))
}

// answered sets the ETag, and answers 304 if the client has this state already.
func answered(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "no-cache")
	if !names(conditionOf(r).noneMatch, strings.TrimPrefix(etag, "W/"), true) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// condition holds the state for which a change is meant: the headers If-Match and If-None-Match
// (RFC 9110, section 13.1).
type condition struct{ match, noneMatch string }

func conditionOf(r *http.Request) condition {
	list := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	return condition{match: list("If-Match"), noneMatch: list("If-None-Match")}
}

// check refuses a change if the condition does not hold. etag names the state of the set, or is ""
// if there is no set.
func (c condition) check(exists bool, etag string) error {
	switch {
	case c.match != "" && !exists:
		return fail(http.StatusPreconditionFailed, "If-Match: it does not exist: leave the header out to create it")
	case c.match != "" && !names(c.match, etag, false):
		return fail(http.StatusPreconditionFailed, "If-Match: it has changed, and its ETag is now %s: read it again", etag)
	case exists && c.noneMatch == "*":
		return fail(http.StatusPreconditionFailed, "If-None-Match: it exists: leave the header out to replace it")
	case exists && c.noneMatch != "" && names(c.noneMatch, etag, true):
		return fail(http.StatusPreconditionFailed, "If-None-Match: it is in this state, %s", etag)
	}
	return nil
}

// names reports whether a list of ETags contains etag. A proxy that compresses weakens ETags; weak
// reports whether a weak one counts.
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
