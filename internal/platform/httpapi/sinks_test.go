package httpapi

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/process/strictyaml"
)

// Sinks are listed with their state, and operated.
func TestSinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	file, root := strictyaml.Parse("p.yaml", []byte("- {id: archive, sets: [squares], file: {path: "+path+"}}\n"))
	settings := sinks.Read(root)
	must(t, file.Err())
	var all *sinks.Sinks
	tw := newTown(t, options{config: func(cfg *Config) {
		var err error
		all, err = sinks.Open(sinks.Options{Settings: settings, Log: cfg.Log, Store: &deliver.Volatile{}, Keeps: true, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		cfg.Sinks = all
	}})
	t.Cleanup(func() { must(t, all.Drain(context.Background())) })
	tw.expect(tw.get("/v1/sinks"), 200, `{"sinks":[{"id":"archive","kind":"file","to":"`+path+`","events":"sets squares","state":{"state":"active","cursor":"run1-0","lag":0,"failures":0,"delivered":0,"dead_letters":0,"missed":0}}]}`)
	if r := tw.post("/v1/sinks/archive/disable", ""); r.status != 200 || !strings.Contains(string(r.body), `"state":"disabled","reason":"by request"`) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	if r := tw.post("/v1/sinks/archive/enable", ""); r.status != 200 || !strings.Contains(string(r.body), `"state":"active"`) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	tw.expect(tw.post("/v1/sinks/archive/retry", ""), 200, "")
	tw.expect(tw.get("/v1/sinks/archive/attempts"), 200, `{"attempts":[]}`)
	tw.problem(tw.get("/v1/sinks/other/attempts"), 404, `no such sink: "other"; GET /v1/sinks lists them`)
	tw.problem(tw.post("/v1/sinks/other/retry", ""), 404, `no such sink: "other"; GET /v1/sinks lists them`)
}

// Without sinks the list is empty, and there is nothing to operate.
func TestNoSinks(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.get("/v1/sinks"), 200, `{"sinks":[]}`)
	tw.problem(tw.post("/v1/sinks/a/retry", ""), 404, "there are no sinks here")
	tw.problem(tw.get("/v1/sinks/a/attempts"), 404, "there are no sinks here")
	tw.problem(tw.get("/v1/webhooks"), 404, "there are no webhooks here")
}
