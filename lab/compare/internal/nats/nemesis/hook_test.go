package nemesis

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// receiver is the endpoint of a webhook, which notes the events in the order of their first
// arrivals.
type receiver struct {
	server *httptest.Server

	mu    sync.Mutex
	seen  map[string]bool // by source and id
	order []string
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{seen: map[string]bool{}}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var batch []event
		if err := json.NewDecoder(req.Body).Decode(&batch); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError) // of a node that was killed meanwhile
			return
		}
		r.take(batch)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) take(batch []event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		if name := batch[i].name(); !r.seen[name] {
			r.seen[name] = true
			r.order = append(r.order, name)
		}
	}
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.order)
}
