package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"paddock/fence"
	"paddock/internal/platform/httpapi/tiles"
	"paddock/internal/platform/httpapi/tiles/basemap"
)

// tileType is the media type of a vector tile.
const tileType = "application/vnd.mapbox-vector-tile"

// getTile answers with a vector tile of a set: see package tiles. The parameter v is ignored: a map
// changes it to get a new URL when the set has changed.
func (a *API) getTile(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	t, err := tileOf(r)
	if err != nil {
		return err
	}
	snap := s.Snapshot()
	state := a.etags.of(s, snap)
	w.Header().Set("Vary", "Accept-Encoding")
	// Weak: the same tile is served compressed and plain.
	if answered(w, r, "W/"+state) {
		return nil
	}
	data, err := a.tiles.Get(r.Context(), s, snap, state, t)
	if errors.Is(err, context.DeadlineExceeded) {
		return fail(http.StatusServiceUnavailable, "the tile was not ready in time: ask again later, or for a smaller one")
	}
	if err != nil {
		return err // the client is gone
	}
	return writeTile(w, r, data)
}

// getBasemap answers with the archive of the base map, or ranges of it.
func (a *API) getBasemap(w http.ResponseWriter, r *http.Request) error {
	err := a.cfg.Basemap.Serve(w, r)
	switch {
	case errors.Is(err, basemap.ErrNone):
		return fail(http.StatusNotFound, "%v", err)
	case err != nil:
		return fail(http.StatusServiceUnavailable, "%v", err)
	}
	return nil
}

// tileOf parses the numbers of the path.
func tileOf(r *http.Request) (t tiles.Tile, err error) {
	for _, n := range []struct {
		name string
		to   *int
	}{{"z", &t.Z}, {"x", &t.X}, {"y", &t.Y}} {
		text := r.PathValue(n.name)
		if *n.to, err = strconv.Atoi(text); err != nil || strings.HasPrefix(text, "+") {
			return t, fail(http.StatusBadRequest, "%s %.64q: a whole number", n.name, text)
		}
	}
	if err := t.Valid(); err != nil {
		return t, fail(http.StatusBadRequest, "%v", err)
	}
	return t, nil
}

// writeTile answers with a compressed tile, and decompresses it for a client that does not accept
// gzip.
func writeTile(w http.ResponseWriter, r *http.Request, data []byte) error {
	w.Header().Set("Content-Type", tileType)
	if acceptsGzip(r.Header) {
		w.Header().Set("Content-Encoding", "gzip")
	} else {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(z); err != nil { // at most tiles.MaxBytes
			return err
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // fails only if the client is gone
	return nil
}

// acceptsGzip reports whether the client accepts gzip: RFC 9110 section 12.5.3.
func acceptsGzip(h http.Header) bool {
	any := false
	for _, line := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(item, ";")
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ReplaceAll(weight, " ", ""), "q="), 64)
			taken := err != nil || q > 0 // the default weight is 1
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return taken
			case "*":
				any = taken
			}
		}
	}
	return any
}
