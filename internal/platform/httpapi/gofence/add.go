package gofence

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/julienschmidt/httprouter"

	"paddock/fence"
	"paddock/fence/geojson"
)

// add answers POST /fence/{name}/add. Order of checks: size, feature, name. It never replaces a
// fence: after two equal requests a search returns two fences.
func (h *Handler) add(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	var body bytes.Buffer
	l := h.bodies.Lease()
	defer l.Release()
	if err := readBody(w, r, &body, l, maxAddBody, "Body 64 MB max"); err != nil {
		refuse(w, err)
		return
	}
	name := ps.ByName("name")
	set, ok := h.serving.Load().catalog.Get(name)
	var reading geojson.ReadOptions
	if ok {
		reading = set.Reading()
	}
	f, err := decodeFeature(body.Bytes(), reading)
	if err != nil {
		h.refuseFeature(w, name, err)
		return
	}
	if !ok {
		refuse(w, badRequest("Error adding feature "+unknownFence(name)))
		return
	}
	var key string
	var snap *fence.Snapshot
	var bad error // the fence, not the change
	err = h.change(r, name, func() error {
		key, snap, bad = set.Add(f)
		return bad
	})
	if _, refused := errors.AsType[*geojson.RefusedError](bad); refused {
		h.refuseFeature(w, name, bad)
		return
	}
	if bad != nil {
		refuse(w, badRequest("Error adding feature "+bad.Error()))
		return
	}
	if err != nil {
		refuse(w, &refusal{http.StatusServiceUnavailable, "Error adding feature " + err.Error()})
		return
	}
	h.log.Debug("fence added", "set", name, "key", key, "generation", snap.Generation(), "fences", snap.Len())
	respond(w, "application/json", []byte(`"success"`))
}

// refuseFeature sends the client the original's text, and logs the reason.
func (h *Handler) refuseFeature(w http.ResponseWriter, set string, reason error) {
	h.log.Debug("feature refused", "set", set, "reason", reason)
	refuse(w, badRequest("Unable to read geojson feature"))
}
