package gofence

import (
	"bytes"
	"net/http"

	"github.com/julienschmidt/httprouter"
)

// add answers POST /fence/{name}/add. Order of checks: size, feature, name. It
// never replaces: what is added twice is answered twice.
func (h *Handler) add(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	var body bytes.Buffer
	if err := readBody(w, r, &body, maxAddBody, "Body 64 MB max"); err != nil {
		refuse(w, err)
		return
	}
	name := ps.ByName("name")
	f, err := decodeFeature(body.Bytes())
	if err != nil {
		h.log.Info("feature refused", "set", name, "reason", err)
		refuse(w, badRequest("Unable to read geojson feature"))
		return
	}
	set, ok := h.serving.Load().catalog.Get(name)
	if !ok {
		refuse(w, badRequest("Error adding feature "+unknownFence(name)))
		return
	}
	key, snap, err := set.Add(f)
	if err != nil {
		refuse(w, badRequest("Error adding feature "+err.Error()))
		return
	}
	h.log.Info("fence added", "set", name, "key", key, "generation", snap.Generation(), "fences", snap.Len())
	respond(w, "application/json", []byte(`"success"`))
}
