package httpapi

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strings"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/process/keyring"
)

// setJSON describes a set.
type setJSON struct {
	Name       string      `json:"name"`
	Generation uint64      `json:"generation"`
	Fences     int         `json:"fences"`
	Parts      int         `json:"parts"`
	Edges      int         `json:"edges"`
	Kind       fence.Kind  `json:"kind"`
	Index      indexJSON   `json:"index"`
	BBox       *[4]float64 `json:"bbox"` // west, south, east, north; null if the set is empty
	Findings   int         `json:"findings"`
	Source     *sourceJSON `json:"source,omitempty"` // nil if it was not read from a file

	// In answers about one set.
	ETag    string        `json:"etag,omitzero"`
	Reasons []findingJSON `json:"reasons,omitzero"`
}

// indexJSON describes the index of a set.
type indexJSON struct {
	Kind         fence.Kind `json:"kind"` // the present one, if the set's kind is auto
	Bytes        int64      `json:"bytes"`
	BytesPerEdge float64    `json:"bytes_per_edge"` // 0 if there is none
	Building     bool       `json:"building"`       // a new one, while this one answers
}

type findingJSON struct {
	Feature int          `json:"feature"`
	Fence   string       `json:"fence,omitempty"`
	Code    geojson.Code `json:"code"`
	Reason  string       `json:"reason"`
	At      *[2]float64  `json:"at,omitempty"`
	Refused bool         `json:"refused"`
}

// describeFinding returns a finding as JSON. A coordinate that is too large for a float64 is no
// place, and JSON has no number for it.
func describeFinding(f geojson.Finding) findingJSON {
	j := findingJSON{Feature: f.Feature, Fence: f.Key, Code: f.Code, Reason: f.Reason, Refused: f.Fatal}
	if f.At != nil && !math.IsInf(f.At.Lon, 0) && !math.IsInf(f.At.Lat, 0) {
		j.At = &[2]float64{f.At.Lon, f.At.Lat}
	}
	return j
}

func describeSet(s *fence.Set, snap *fence.Snapshot) setJSON {
	stats := snap.Stats()
	j := setJSON{
		Name: s.Name(), Generation: snap.Generation(), Kind: s.Kind(),
		Fences: snap.Len(), Parts: stats.Parts, Edges: stats.Edges, Findings: len(snap.Findings()),
		Index: indexJSON{Kind: stats.Kind, Bytes: stats.Bytes, Building: s.Building()},
	}
	if stats.Edges > 0 {
		j.Index.BytesPerEdge = math.Round(10*float64(stats.Bytes)/float64(stats.Edges)) / 10
	}
	if b := snap.Bounds(); !b.Empty() {
		j.BBox = &[4]float64{b.MinLon, b.MinLat, b.MaxLon, b.MaxLat}
	}
	return j
}

// describeSets describes the sets that a key is for.
func describeSets(c *fence.Catalog, g *keyring.Grant) []setJSON {
	sets := []setJSON{}
	for s := range c.All() {
		if g.Set(s.Name()) {
			sets = append(sets, describeSet(s, s.Snapshot()))
		}
	}
	return sets
}

func (a *API) getSets(w http.ResponseWriter, r *http.Request) error {
	files, g := a.files(), keyring.From(r.Context())
	list := setList{Sets: describeSets(a.cfg.Catalog, g)}
	if !g.OfSets() {
		list.Failing = a.failing(files)
	}
	for i := range list.Sets {
		list.Sets[i].Source = describeSource(files, list.Sets[i].Name)
	}
	return writeJSON(w, http.StatusOK, &list)
}

// setList is the answer of GET /v1/sets.
type setList struct {
	Sets    []setJSON     `json:"sets"`
	Failing []*sourceJSON `json:"failing,omitempty"` // files without a set
}

// set returns the set in the path.
func (a *API) set(r *http.Request) (*fence.Set, error) {
	if err := permitSet(r, r.PathValue("set")); err != nil {
		return nil, err
	}
	s, ok := a.cfg.Catalog.Get(r.PathValue("set"))
	if !ok {
		return nil, noSet(r.PathValue("set"))
	}
	return s, nil
}

func noSet(name string) error {
	return fail(http.StatusNotFound, "no set %.64q; GET /v1/sets lists them", name)
}

// getSet answers with the fences as GeoJSON, or for findings=1 with the findings at load.
func (a *API) getSet(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	if findings, err := flag(r, "findings"); err != nil {
		return err
	} else if findings {
		return a.writeReport(w, http.StatusOK, s, s.Snapshot())
	}
	snap := s.Snapshot()
	if a.etags.answered(w, r, s, snap) {
		return nil
	}
	w.Header().Set("Content-Type", "application/geo+json")
	_ = snap.WriteGeoJSON(w) // fails only if the client is gone
	return nil
}

// writeReport describes a set with its findings. The ETag is in the body: in the head it would be
// that of the body (RFC 9110, section 9.3.4).
func (a *API) writeReport(w http.ResponseWriter, status int, s *fence.Set, snap *fence.Snapshot) error {
	j := describeSet(s, snap)
	j.ETag, j.Reasons = a.etags.of(s, snap), []findingJSON{}
	tellGeneration(w, snap)
	for _, f := range snap.Findings() {
		j.Reasons = append(j.Reasons, describeFinding(f))
	}
	return writeJSON(w, status, &j)
}

// maxSetName bounds the name of a set, in bytes: it is part of bus subjects.
const maxSetName = 128

// checkSetName refuses a name that no set can have.
func checkSetName(name string) error {
	if name == "" || len(name) > maxSetName || name != fence.Slug(name) {
		return fail(http.StatusBadRequest, "set %.64q: a name is at most %d lower-case letters, digits and single dashes", name, maxSetName)
	}
	return nil
}

// putSet replaces the whole set with a GeoJSON document, in one publication, and answers with the
// findings.
func (a *API) putSet(w http.ResponseWriter, r *http.Request) error {
	return a.receiveSet(w, r, a.replaceSet)
}

// postSet creates a set that does not exist yet.
func (a *API) postSet(w http.ResponseWriter, r *http.Request) error {
	if s, err := a.set(r); err == nil { // refuse before the body is read
		return taken(s.Name())
	}
	return a.receiveSet(w, r, func(name string, c *geojson.Collection, given etag.Condition) (s *fence.Set, snap *fence.Snapshot, status int, err error) {
		s, snap, err = a.makeSet(name, c, given)
		return s, snap, http.StatusCreated, err
	})
}

func taken(name string) error {
	return fail(http.StatusConflict, "set %q exists: PUT replaces it", name)
}

// receiveSet reads a GeoJSON document, passes it to give, and answers with the result.
func (a *API) receiveSet(w http.ResponseWriter, r *http.Request,
	give func(name string, c *geojson.Collection, given etag.Condition) (*fence.Set, *fence.Snapshot, int, error),
) error {
	name := r.PathValue("set")
	if err := permitSet(r, name); err != nil {
		return err
	}
	if err := checkSetName(name); err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	c, err := geojson.ReadGeoJSON(bytes.NewReader(body), name, a.cfg.Fences.Reading())
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	if err := a.storable(c.Fences...); err != nil {
		return err
	}
	var s *fence.Set
	var snap *fence.Snapshot
	var status int
	err = a.audited(r, "set.put", name, func() (err error) {
		if s, snap, status, err = give(name, c, conditionOf(r)); err != nil {
			return err
		}
		return a.settle()
	})
	if err != nil {
		return err
	}
	return a.writeReport(w, status, s, snap)
}

// replaceSet replaces the fences of a set, or creates the set.
func (a *API) replaceSet(name string, c *geojson.Collection, given etag.Condition) (s *fence.Set, snap *fence.Snapshot, status int, err error) {
	for { // repeat if another request has created or removed it meanwhile
		var found bool
		if s, found = a.cfg.Catalog.Get(name); found {
			snap, err = s.If(a.setGuard(s, given)).Replace(c)
			status, err = http.StatusOK, refused(err)
		} else {
			s, snap, err = a.makeSet(name, c, given)
			status = http.StatusCreated
		}
		if p, ok := errors.AsType[*Problem](err); !ok || p.Status != http.StatusNotFound && p.Status != http.StatusConflict {
			return s, snap, status, err
		}
	}
}

// makeSet creates a set of the fences of c.
func (a *API) makeSet(name string, c *geojson.Collection, given etag.Condition) (*fence.Set, *fence.Snapshot, error) {
	if err := checkState(given, false, ""); err != nil {
		return nil, nil, err
	}
	s, err := fence.NewSet(name, a.cfg.Fences)
	if err != nil {
		return nil, nil, err
	}
	a.making.Lock()
	defer a.making.Unlock()
	if _, ok := a.cfg.Catalog.Get(name); ok {
		return nil, nil, taken(name)
	}
	if n := a.cfg.Catalog.Len(); n >= a.cfg.MaxSets {
		a.refused.sets.Add(1)
		return nil, nil, fail(http.StatusInsufficientStorage, "there are %d sets, and at most %d may be created; remove one first", n, a.cfg.MaxSets)
	}
	snap, err := s.Replace(c)
	if err != nil {
		return nil, nil, refused(err)
	}
	if err = a.cfg.Catalog.Add(s); errors.Is(err, fence.ErrExists) { // from a file, meanwhile
		err = taken(name)
	}
	return s, snap, err
}

// guard checks a condition against the state of a set, which includes its fences. The set must not
// have been removed meanwhile.
func (a *API) guard(s *fence.Set, given etag.Condition, exists func(now *fence.Snapshot) bool) fence.Guard {
	return func(now *fence.Snapshot) error {
		if there, _ := a.cfg.Catalog.Get(s.Name()); there != s {
			return noSet(s.Name())
		}
		if given == (etag.Condition{}) {
			return nil
		}
		return checkState(given, exists(now), a.etags.of(s, now))
	}
}

func (a *API) setGuard(s *fence.Set, given etag.Condition) fence.Guard {
	return a.guard(s, given, func(*fence.Snapshot) bool { return true })
}

func (a *API) deleteSet(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	var last *fence.Snapshot
	err := a.audited(r, "set.delete", s.Name(), func() (err error) {
		if last, err = a.removeSet(s, conditionOf(r)); err != nil {
			return err
		}
		return a.settle()
	})
	if err != nil {
		return err
	}
	tellGeneration(w, last)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// removeSet removes a set and its policy, and returns its last state.
func (a *API) removeSet(s *fence.Set, given etag.Condition) (*fence.Snapshot, error) {
	a.making.Lock()
	defer a.making.Unlock()
	last, err := a.cfg.Catalog.RemoveIf(s, a.setGuard(s, given))
	if err != nil {
		return nil, err
	}
	if last == nil { // another request was faster
		return nil, noSet(s.Name())
	}
	a.cfg.Book.Forget(s.Name())
	return last, nil
}

// whileStored refuses changes that could not be stored.
func (a *API) whileStored(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if reason := a.cfg.Pipeline.Refusing(); reason != "" {
			return fail(http.StatusServiceUnavailable, "%s", reason)
		}
		return h(w, r)
	}
}

// settle waits until a change of the fences is durable and in use for positions.
func (a *API) settle() error {
	if err := a.cfg.Pipeline.Settle(); err != nil {
		return fail(http.StatusServiceUnavailable, "the change is in use, but not stored: %v", err)
	}
	return nil
}

// storable refuses fences that the log of a cluster does not take. In use, they would keep each
// later change of sets from being stored.
func (a *API) storable(fences ...fence.Fence) error {
	if a.cfg.MaxPage == 0 {
		return nil
	}
	if n := fence.StoredSize(fences); n > a.cfg.MaxPage {
		return fail(http.StatusRequestEntityTooLarge, "fences that follow each other have %d MiB, and a cluster stores at most %d MiB together: simplify them, or put them into several sets", n>>20, a.cfg.MaxPage>>20)
	}
	return nil
}

// refused converts an error of package fence about bad data into a 400 with the finding.
func refused(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p // a failed condition
	}
	if errors.Is(err, fence.ErrFull) {
		return fail(http.StatusInsufficientStorage, "%v", err)
	}
	p := fail(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), ": "))
	if e, ok := errors.AsType[*geojson.RefusedError](err); ok {
		e.Finding.Fatal = true
		p.Findings = []findingJSON{describeFinding(e.Finding)}
	}
	return p
}
