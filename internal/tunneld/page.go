package tunneld

import (
	"fmt"
	"net/http"
	"strconv"

	"paddock/internal/platform/ui"
)

// maxShown bounds the clients, and the tunnels, of one answer: with 32 names of 253 bytes a
// client it stays below 2 MB.
const defaultShown, maxShown = 100, 200

// show puts the dashboard's page of the tunnel on m, and GET /v1/tunnel which it asks, as
// the platform has them.
func (r *Role) show(m *http.ServeMux) {
	m.HandleFunc("GET /v1/tunnel", func(w http.ResponseWriter, ask *http.Request) {
		most, query := defaultShown, ask.URL.Query()
		if s := query.Get("limit"); s != "" {
			var err error
			if most, err = strconv.Atoi(s); err != nil || most < 1 || most > maxShown {
				http.Error(w, fmt.Sprintf("limit is 1 to %d", maxShown), http.StatusBadRequest)
				return
			}
		}
		tell(w, r.Overview(query.Get("find"), most))
	})
	m.Handle("/", ui.TunnelHandler())
}
