package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"paddock/fence"
)

// setJSON describes a set.
type setJSON struct {
	Name       string        `json:"name"`
	Generation uint64        `json:"generation"`
	Fences     int           `json:"fences"`
	Parts      int           `json:"parts"`
	Edges      int           `json:"edges"`
	Kind       fence.Kind    `json:"kind"`
	BBox       *[4]float64   `json:"bbox"` // west, south, east, north; null if the set is empty
	Findings   int           `json:"findings"`
	Source     *sourceJSON   `json:"source,omitempty"` // nil if it was not read from a file
	Reasons    []findingJSON `json:"reasons,omitzero"`
}

type findingJSON struct {
	Feature int         `json:"feature"`
	Fence   string      `json:"fence,omitempty"`
	Code    fence.Code  `json:"code"`
	Reason  string      `json:"reason"`
	At      *[2]float64 `json:"at,omitempty"`
	Refused bool        `json:"refused"`
}

func describeSet(s *fence.Set) setJSON {
	snap := s.Snapshot()
	stats := snap.Stats()
	j := setJSON{
		Name: s.Name(), Generation: snap.Generation(), Kind: s.Kind(),
		Fences: snap.Len(), Parts: stats.Parts, Edges: stats.Edges, Findings: len(snap.Findings()),
	}
	if b := snap.Bounds(); !b.Empty() {
		j.BBox = &[4]float64{b.MinLon, b.MinLat, b.MaxLon, b.MaxLat}
	}
	return j
}

func describeSets(c *fence.Catalog) []setJSON {
	sets := []setJSON{}
	for s := range c.All() {
		sets = append(sets, describeSet(s))
	}
	return sets
}

func (a *API) getSets(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	files := a.files()
	list := setList{Sets: describeSets(a.cfg.Catalog), Failing: a.failing(files)}
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

// set finds the set that the path names.
func (a *API) set(r *http.Request) (*fence.Set, error) {
	name := r.PathValue("set")
	s, ok := a.cfg.Catalog.Get(name)
	if !ok {
		return nil, fail(http.StatusNotFound, "no set %.64q; GET /v1/sets lists them", name)
	}
	return s, nil
}

// getSet answers the fences as GeoJSON, or with findings=1 what was found wrong
// in them at load.
func (a *API) getSet(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "findings")
	if err != nil {
		return err
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	if f := q.Get("findings"); f == "1" || f == "true" {
		return writeFindings(w, http.StatusOK, s)
	} else if f != "" && f != "0" && f != "false" {
		return fail(http.StatusBadRequest, "query: findings %.64q: use 0 or 1", f)
	}
	snap := s.Snapshot()
	if answered(w, r, a.etags.of(s, snap)) {
		return nil
	}
	w.Header().Set("Content-Type", "application/geo+json")
	_ = snap.WriteGeoJSON(w) // fails only if the client is gone
	return nil
}

func writeFindings(w http.ResponseWriter, status int, s *fence.Set) error {
	j := describeSet(s)
	j.Reasons = []findingJSON{}
	for _, f := range s.Snapshot().Findings() {
		reason := findingJSON{Feature: f.Feature, Fence: f.Key, Code: f.Code, Reason: f.Reason, Refused: f.Fatal}
		if f.At != nil {
			reason.At = &[2]float64{f.At.Lon, f.At.Lat}
		}
		j.Reasons = append(j.Reasons, reason)
	}
	return writeJSON(w, status, &j)
}

// maxSetName bounds the name of a set, in bytes: it is part of bus subjects.
const maxSetName = 128

// putSet makes a GeoJSON document the whole set, in one publication, and answers
// with what was found wrong in it.
func (a *API) putSet(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	name := r.PathValue("set")
	if name == "" || len(name) > maxSetName || name != fence.Slug(name) {
		return fail(http.StatusBadRequest, "set %.64q: a name is at most %d lower-case letters, digits and single dashes", name, maxSetName)
	}
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	c, err := fence.ReadGeoJSON(bytes.NewReader(body), name, a.cfg.Fences.Reading())
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	s, status, err := a.replaceSet(name, c)
	if err != nil {
		return err
	}
	return writeFindings(w, status, s)
}

// replaceSet gives a set of this name the fences of c, making it if need be.
func (a *API) replaceSet(name string, c *fence.Collection) (*fence.Set, int, error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	s, found := a.cfg.Catalog.Get(name)
	if found {
		_, err := s.Replace(c)
		return s, http.StatusOK, refused(err)
	}
	if n := a.cfg.Catalog.Len(); n >= a.cfg.MaxSets {
		a.refused.sets.Add(1)
		return nil, 0, fail(http.StatusInsufficientStorage, "there are %d sets, and at most %d may be made; remove one first", n, a.cfg.MaxSets)
	}
	s, err := fence.NewSet(name, a.cfg.Fences)
	if err != nil {
		return nil, 0, err
	}
	if _, err := s.Replace(c); err != nil {
		return nil, 0, refused(err)
	}
	return s, http.StatusCreated, a.cfg.Catalog.Add(s)
}

func (a *API) deleteSet(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	if !a.cfg.Catalog.Remove(r.PathValue("set")) {
		return fail(http.StatusNotFound, "no set %.64q", r.PathValue("set"))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) getFence(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	snap := s.Snapshot()
	f, err := find(s, snap, r.PathValue("id"))
	if err != nil {
		return err
	}
	if answered(w, r, a.etags.of(s, snap)) {
		return nil
	}
	w.Header().Set("Content-Type", "application/geo+json")
	_, _ = w.Write(append(f.AppendFeature(nil, quote(f.Key)), '\n'))
	return nil
}

// quote writes s as JSON text.
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
	Findings   []findingJSON `json:"findings,omitempty"`
}

func (a *API) putFence(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	f, findings, err := fence.ParseFeature(body, a.cfg.Fences.Reading())
	if err != nil {
		return refused(err)
	}
	f.Key = r.PathValue("id")
	if f.Key == "" || len(f.Key) > 256 {
		return fail(http.StatusBadRequest, "id: 1 to 256 bytes")
	}
	created, snap, err := s.Put(f)
	if err != nil {
		return refused(err)
	}
	answer := edit{Set: s.Name(), ID: f.Key, Generation: snap.Generation()}
	for _, fd := range findings {
		answer.Findings = append(answer.Findings, findingJSON{Feature: fd.Feature, Fence: f.Key, Code: fd.Code, Reason: fd.Reason})
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, &answer)
}

func (a *API) deleteFence(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	s, err := a.set(r)
	if err != nil {
		return err
	}
	if _, ok := s.Delete(r.PathValue("id")); !ok {
		return fail(http.StatusNotFound, "no fence %.64q in set %q", r.PathValue("id"), s.Name())
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refused turns what package fence says of bad data into a 400.
func refused(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fence.ErrFull) {
		return fail(http.StatusInsufficientStorage, "%v", err)
	}
	return fail(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), ": "))
}
