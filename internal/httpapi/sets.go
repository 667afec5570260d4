package httpapi

import (
	"bytes"
	"errors"
	"fmt"
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
	Reasons    []findingJSON `json:"reasons,omitempty"`
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
	return writeJSON(w, http.StatusOK, map[string]any{"sets": describeSets(a.cfg.Catalog)})
}

// set finds the set that the path names.
func (a *API) set(r *http.Request) (*fence.Set, error) {
	name := r.PathValue("set")
	s, ok := a.cfg.Catalog.Get(name)
	if !ok {
		return nil, fail(http.StatusNotFound, "no set %q; GET /v1/sets lists them", name)
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
		return writeFindings(w, s)
	}
	snap := s.Snapshot()
	etag := etag(s, snap)
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", "no-cache")
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	w.Header().Set("Content-Type", "application/geo+json")
	_ = snap.WriteGeoJSON(w) // fails only if the client is gone
	return nil
}

// etag names a state of a set. The address tells apart sets that had the same
// name one after the other.
func etag(s *fence.Set, snap *fence.Snapshot) string {
	return fmt.Sprintf("\"%p-%d\"", s, snap.Generation())
}

func writeFindings(w http.ResponseWriter, s *fence.Set) error {
	j := describeSet(s)
	j.Reasons = []findingJSON{}
	for _, f := range s.Snapshot().Findings() {
		reason := findingJSON{Feature: f.Feature, Fence: f.Key, Code: f.Code, Reason: f.Reason, Refused: f.Fatal}
		if f.At != nil {
			reason.At = &[2]float64{f.At.Lon, f.At.Lat}
		}
		j.Reasons = append(j.Reasons, reason)
	}
	return writeJSON(w, http.StatusOK, &j)
}

// putSet makes a GeoJSON document the whole set, in one publication.
func (a *API) putSet(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	name := r.PathValue("set")
	if name == "" || name != fence.Slug(name) {
		return fail(http.StatusBadRequest, "set %q: a name is lower-case letters, digits and single dashes", name)
	}
	body, err := readBody(w, r, a.cfg.MaxBody)
	if err != nil {
		return err
	}
	c, err := fence.ReadGeoJSON(bytes.NewReader(body), name, fence.ReadOptions{
		IDProperty: a.cfg.Fences.IDProperty, Strict: a.cfg.Fences.Strict, Limits: a.cfg.Fences.Limits,
	})
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	s, found := a.cfg.Catalog.Get(name)
	if !found {
		if s, err = fence.NewSet(name, a.cfg.Fences); err != nil {
			return err
		}
	}
	if _, err := s.Replace(c); err != nil {
		return refused(err)
	}
	status := http.StatusOK
	if !found {
		status = http.StatusCreated
		if err := a.cfg.Catalog.Add(s); errors.Is(err, fence.ErrExists) {
			return fail(http.StatusConflict, "set %q was made by another request meanwhile", name)
		}
	}
	return writeJSON(w, status, describeSet(s))
}

func (a *API) deleteSet(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	if !a.cfg.Catalog.Remove(r.PathValue("set")) {
		return fail(http.StatusNotFound, "no set %q", r.PathValue("set"))
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
	w.Header().Set("ETag", etag(s, snap))
	w.Header().Set("Content-Type", "application/geo+json")
	_, _ = w.Write(append(f.AppendFeature(nil, quote(f.Key)), '\n'))
	return nil
}

func find(s *fence.Set, snap *fence.Snapshot, key string) (*fence.Fence, error) {
	ref, ok := snap.Lookup(key)
	if !ok {
		return nil, fail(http.StatusNotFound, "no fence %q in set %q", key, s.Name())
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
	body, err := readBody(w, r, a.cfg.MaxBody)
	if err != nil {
		return err
	}
	f, findings, err := fence.ParseFeature(body, fence.ReadOptions{Strict: a.cfg.Fences.Strict, Limits: a.cfg.Fences.Limits})
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
		return fail(http.StatusNotFound, "no fence %q in set %q", r.PathValue("id"), s.Name())
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refused turns what package fence says of bad data into a 400.
func refused(err error) error {
	if errors.Is(err, fence.ErrFull) {
		return fail(http.StatusInsufficientStorage, "%v", err)
	}
	return fail(http.StatusBadRequest, "%s", strings.TrimPrefix(err.Error(), ": "))
}
