package httpapi

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"paddock/fence"
	"paddock/internal/platform/httpapi/etag"
)

// etags names states of sets, and never uses a name for two. Where nodes share the sets, a state
// has the same name at all of them: that of its content, with the generation. Elsewhere it has one
// of its own, as generations restart in each process, and with each set that takes the name of a
// deleted one.
type etags struct {
	shared bool   // by nodes
	epoch  string // identifies the process

	mu   sync.Mutex
	next uint64
	sets map[weak.Pointer[fence.Set]]*tagged // by identity, without keeping the set
}

// tagged is what the names of a set's states are made of.
type tagged struct {
	id   uint64
	last weak.Pointer[fence.Snapshot] // of which hash is
	hash string
}

func newETags(shared bool) etags {
	return etags{shared: shared, epoch: strconv.FormatInt(time.Now().UnixNano(), 36), sets: map[weak.Pointer[fence.Set]]*tagged{}}
}

func (e *etags) of(s *fence.Set, snap *fence.Snapshot) string {
	generation := strconv.FormatUint(snap.Generation(), 10)
	if e.shared {
		return `"` + e.hash(s, snap) + "-" + generation + `"`
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return `"` + e.epoch + "-" + strconv.FormatUint(e.tagged(s).id, 36) + "-" + generation + `"`
}

// tagged returns the parts of a set's names. The caller holds the lock.
func (e *etags) tagged(s *fence.Set) *tagged {
	t, ok := e.sets[weak.Make(s)]
	if !ok {
		for p := range e.sets { // of deleted sets
			if p.Value() == nil {
				delete(e.sets, p)
			}
		}
		e.next++
		t = &tagged{id: e.next}
		e.sets[weak.Make(s)] = t
	}
	return t
}

// hash returns the hash of a snapshot as text. That of a large set takes a while the first time.
func (e *etags) hash(s *fence.Set, snap *fence.Snapshot) string {
	e.mu.Lock()
	t := e.tagged(s)
	known, hash := t.last == weak.Make(snap), t.hash
	e.mu.Unlock()
	if known {
		return hash
	}
	digest := snap.Digest()
	hash = hex.EncodeToString(digest[:16])
	e.mu.Lock()
	defer e.mu.Unlock()
	t.last, t.hash = weak.Make(snap), hash
	return hash
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
