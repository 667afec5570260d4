package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"paddock/fence"
	"paddock/internal/platform/httpapi/etag"
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
func (e *etags) tell(w http.ResponseWriter, s *fence.Set, snap *fence.Snapshot) (tag string) {
	tag = e.of(s, snap)
	w.Header().Set("ETag", tag)
	tellGeneration(w, snap)
	return tag
}

func tellGeneration(w http.ResponseWriter, snap *fence.Snapshot) {
	w.Header().Set("Paddock-Generation", strconv.FormatUint(snap.Generation(), 10))
}

// answered adds the state, and answers 304 if the client has it already.
func (e *etags) answered(w http.ResponseWriter, r *http.Request, s *fence.Set, snap *fence.Snapshot) bool {
	return answered(w, r, e.tell(w, s, snap))
}

// answered sets the ETag, and answers 304 if the client has this state already.
func answered(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if !etag.Names(conditionOf(r).NoneMatch, strings.TrimPrefix(tag, "W/"), true) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// conditionOf returns the state for which a change is meant.
func conditionOf(r *http.Request) etag.Condition {
	list := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	return etag.Condition{Match: list("If-Match"), NoneMatch: list("If-None-Match")}
}

// checkState refuses a change if its condition does not hold. tag names the state, or is "" if
// there is none.
func checkState(c etag.Condition, exists bool, tag string) error {
	if err := c.Check(exists, tag); err != nil {
		return fail(http.StatusPreconditionFailed, "%v", err)
	}
	return nil
}
