package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/httpapi/tiles"
	"paddock/internal/platform/lookup"
)

const (
	defaultFound = 100
	maxFound     = 10_000
)

// getFences lists a set's fences by their ordinals, which answers in columns have instead of ids:
// all fences, the requested ones, or those whose id or name holds a text. It writes the list
// without building it in memory.
func (a *API) getFences(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "ordinals", "properties", "text", "limit")
	if err != nil {
		return err
	}
	choice := q.Get("properties")
	if err := lookup.CheckProperties(choice); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	snap := s.Snapshot()
	fences := snap.All()
	if q.Has("ordinals") {
		if fences, err = chosen(snap, q.Get("ordinals")); err != nil {
			return err
		}
	}
	if q.Has("text") || q.Has("limit") {
		if fences, err = holding(r.Context(), fences, q); err != nil {
			return err
		}
	}
	if a.etags.answered(w, r, s, snap) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	writeFences(w, s.Name(), snap.Generation(), fences, choice == lookup.PropertiesAll)
	return nil
}

// holding returns the first of the fences whose id or name holds a text, whatever its case. Few of
// very many may, so the search ends with ctx.
func holding(ctx context.Context, fences iter.Seq2[fence.Ref, *fence.Fence], q url.Values) (iter.Seq2[fence.Ref, *fence.Fence], error) {
	text, limit := strings.ToLower(q.Get("text")), defaultFound
	if text == "" {
		return nil, fail(http.StatusBadRequest, "query: text is empty")
	}
	if s := q.Get("limit"); s != "" {
		var err error
		if limit, err = count("limit", s, maxFound); err != nil {
			return nil, err
		}
	}
	return func(yield func(fence.Ref, *fence.Fence) bool) {
		left, looked := limit, 0
		for ref, f := range fences {
			if looked++; looked%256 == 0 && ctx.Err() != nil {
				return
			}
			if !strings.Contains(strings.ToLower(f.Key), text) && !strings.Contains(strings.ToLower(tiles.NameOf(f.Properties)), text) {
				continue
			}
			if left--; !yield(ref, f) || left == 0 {
				return
			}
		}
	}, nil
}

// chosen returns the fences with the ordinals of a list, except for deleted ones.
func chosen(snap *fence.Snapshot, list string) (iter.Seq2[fence.Ref, *fence.Fence], error) {
	var refs []fence.Ref
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "query: ordinals: %.32q is not a whole number below 2^32", text)
		}
		refs = append(refs, fence.Ref(n))
	}
	return func(yield func(fence.Ref, *fence.Fence) bool) {
		for _, ref := range refs {
			if f := snap.Fence(ref); f != nil && !yield(ref, f) {
				return
			}
		}
	}, nil
}

// writeFences fails only if the client is gone; the error is ignored.
func writeFences(w http.ResponseWriter, set string, generation uint64, fences iter.Seq2[fence.Ref, *fence.Fence], properties bool) {
	b := bufio.NewWriterSize(w, 64<<10)
	_, _ = fmt.Fprintf(b, `{"set":%s,"generation":%d,"fences":[`, quote(set), generation)
	comma := ""
	for ref, f := range fences {
		if _, err := fmt.Fprintf(b, `%s{"ordinal":%d,"id":%s`, comma, ref, quote(f.Key)); err != nil {
			return
		}
		if properties {
			_, _ = b.WriteString(`,"properties":`)
			_, _ = b.Write(orNull(f.Properties))
		}
		_ = b.WriteByte('}')
		comma = ","
	}
	_, _ = b.WriteString("]}\n")
	_ = b.Flush()
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

func (a *API) getFence(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	snap := s.Snapshot()
	f, err := find(s, snap, r.PathValue("id"))
	if err != nil {
		return err
	}
	if a.etags.answered(w, r, s, snap) {
		return nil
	}
	w.Header().Set("Content-Type", "application/geo+json")
	_, _ = w.Write(append(f.AppendFeature(nil, quote(f.Key)), '\n'))
	return nil
}

// quote returns s as a JSON string.
func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string always encodes
	return b
}

func find(s *fence.Set, snap *fence.Snapshot, key string) (*fence.Fence, error) {
	ref, ok := snap.Lookup(key)
	if !ok {
		return nil, fail(http.StatusNotFound, "no fence %.64q in set %q", key, s.Name())
	}
	return snap.Fence(ref), nil
}

// edit is the answer to a change of one fence.
type edit struct {
	Set        string        `json:"set"`
	ID         string        `json:"id"`
	Generation uint64        `json:"generation"`
	ETag       string        `json:"etag"`
	DryRun     bool          `json:"dry_run,omitempty"` // nothing has changed
	Findings   []findingJSON `json:"findings,omitempty"`
}

func (a *API) fenceGuard(s *fence.Set, key string, given etag.Condition) fence.Guard {
	return a.guard(s, given, func(now *fence.Snapshot) bool { _, ok := now.Lookup(key); return ok })
}

// readFence reads the fence of a request under the key of its path. A fence with an invalid setting
// is refused.
func (a *API) readFence(w http.ResponseWriter, r *http.Request) (fence.Fence, []findingJSON, error) {
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return fence.Fence{}, nil, err
	}
	key := r.PathValue("id")
	if key == "" || len(key) > 256 {
		return fence.Fence{}, nil, fail(http.StatusBadRequest, "id: 1 to 256 bytes")
	}
	f, findings, err := geojson.ParseFeature(body, a.cfg.Fences.Reading())
	if err != nil {
		return fence.Fence{}, nil, refused(err)
	}
	f.Key = key
	if err := a.storable(f); err != nil {
		return fence.Fence{}, nil, err
	}
	var told []findingJSON
	var bad *Problem
	for _, fd := range findings {
		fd.Key, fd.Fatal = key, fd.Code == geojson.CodeInvalidSetting
		told = append(told, describeFinding(fd))
		if fd.Fatal && bad == nil {
			bad = fail(http.StatusBadRequest, "properties: %s", fd.Reason)
		}
	}
	if bad != nil {
		bad.Findings = told
		return fence.Fence{}, nil, bad
	}
	return f, told, nil
}

// putFence adds or replaces a fence. A dry run makes the same checks and changes nothing; its set
// may be one that is still to be made.
func (a *API) putFence(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r, "dry-run"); err != nil {
		return err
	}
	dry, err := flag(r, "dry-run")
	if err != nil {
		return err
	}
	s, err := a.set(r)
	if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusNotFound && dry {
		return a.tryFirstFence(w, r)
	}
	if err != nil {
		return err
	}
	f, findings, err := a.readFence(w, r)
	if err != nil {
		return err
	}
	guard := a.fenceGuard(s, f.Key, conditionOf(r))
	if dry {
		return a.tryFence(w, s, &f, guard, findings)
	}
	var created bool
	var snap *fence.Snapshot
	err = a.audited(r, "fence.put", s.Name()+"/"+f.Key, func() (err error) {
		if created, snap, err = s.If(guard).Put(f); err != nil {
			return refused(err)
		}
		return a.settle()
	})
	if err != nil {
		return err
	}
	tellGeneration(w, snap)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, &edit{Set: s.Name(), ID: f.Key, Generation: snap.Generation(), ETag: a.etags.of(s, snap), Findings: findings})
}

// tryFence answers a dry run with the present state of the set.
func (a *API) tryFence(w http.ResponseWriter, s *fence.Set, f *fence.Fence, guard fence.Guard, findings []findingJSON) error {
	snap := s.Snapshot()
	if err := guard(snap); err != nil {
		return err
	}
	tellGeneration(w, snap)
	return writeJSON(w, http.StatusOK, &edit{
		Set: s.Name(), ID: f.Key, Generation: snap.Generation(), ETag: a.etags.of(s, snap), DryRun: true, Findings: findings,
	})
}

// tryFirstFence answers a dry run in a set that is still to be made.
func (a *API) tryFirstFence(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("set")
	if err := checkSetName(name); err != nil {
		return err
	}
	f, findings, err := a.readFence(w, r)
	if err != nil {
		return err
	}
	if err := checkState(conditionOf(r), false, ""); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, &edit{Set: name, ID: f.Key, DryRun: true, Findings: findings})
}

func (a *API) deleteFence(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	key := r.PathValue("id")
	if _, err := find(s, s.Snapshot(), key); err != nil {
		return err // the condition does not matter
	}
	var snap *fence.Snapshot
	err := a.audited(r, "fence.delete", s.Name()+"/"+key, func() error {
		now, ok, err := s.If(a.fenceGuard(s, key, conditionOf(r))).Delete(key)
		if err != nil {
			return err
		}
		if !ok { // another request was faster
			return fail(http.StatusNotFound, "no fence %.64q in set %q", key, s.Name())
		}
		snap = now
		return a.settle()
	})
	if err != nil {
		return err
	}
	a.etags.tell(w, s, snap)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
