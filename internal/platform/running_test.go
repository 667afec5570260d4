package platform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/fence"
	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
)

// patience bounds every wait of the tests; it is never the expected outcome.
const patience = 30 * time.Second

// running is a platform as `paddock up` runs it, within the test's process.
type running struct {
	*platform.Platform
	t       *testing.T
	client  *http.Client
	signals chan os.Signal
	reload  chan os.Signal
	done    chan error // the result of the run
	stopped bool
}

// start runs a platform on free ports until the test ends or stops it.
func start(t *testing.T, cfg *config.Config, catalog *fence.Catalog) *running {
	t.Helper()
	return startWith(t, platform.Options{Config: cfg, Catalog: catalog})
}

// startWith is start with further options.
func startWith(t *testing.T, o platform.Options) *running {
	t.Helper()
	r, err := tryStart(t, o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return r
}

// tryStart is startWith for a platform that may not start.
func tryStart(t *testing.T, o platform.Options) (*running, error) {
	t.Helper()
	cfg := o.Config
	cfg.HTTP.Listen, cfg.Bus.Listen, cfg.Wire.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	if cfg.Track.Policy == config.Default().Track.Policy {
		cfg.Track.Policy = "raw" // one position, one event
	}
	cfg.Sets.Snapshots = "off" // nothing of the tests is left in the user's cache
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	reload := make(chan os.Signal)
	o.Logger, o.Version, o.Reload = log, "test", reload
	r := &running{
		Platform: platform.New(o),
		t:        t, reload: reload, signals: make(chan os.Signal, 1), done: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: patience},
	}
	group := &lifecycle.Group{Logger: log, Signals: r.signals, Timeout: patience}
	r.AddTo(group)
	ready := make(chan struct{})
	group.Add(lifecycle.Service{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	go func() { r.done <- group.Run(context.WithoutCancel(t.Context())) }() // ends by a signal; stop waits for it
	select {
	case <-ready:
	case err := <-r.done:
		r.client.CloseIdleConnections()
		return nil, err
	}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if !r.stopped {
			r.signal()
			r.awaitEnd()
		}
	})
	return r, nil
}

// signal sends SIGTERM.
func (r *running) signal() { r.signals <- syscall.SIGTERM }

// awaitEnd checks that the platform ends without an error.
func (r *running) awaitEnd() {
	r.t.Helper()
	r.stopped = true
	if err := <-r.done; err != nil {
		r.t.Errorf("the platform ended with: %v", err)
	}
}

// call makes a request and returns the answer.
func (r *running) call(method, path, contentType string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// ask makes a request that must succeed and decodes its answer into v.
func (r *running) ask(v any, method, path, contentType string, body []byte) {
	r.t.Helper()
	status, answer, err := r.call(method, path, contentType, body)
	if err != nil || status != http.StatusOK {
		r.t.Fatalf("%s %s: %d, %v: %.300s", method, path, status, err, answer)
	}
	if err := json.Unmarshal(answer, v); err != nil {
		r.t.Fatalf("%s %s: %v: %.300s", method, path, err, answer)
	}
}

// accounts is the answer to positions, by every door.
type accounts struct {
	Accepted, Late int
	Rejected       []struct {
		Index  int
		Reason string
	}
	Error string
}

// take posts positions, all of which must be accepted.
func (r *running) take(want int, path, contentType string, body []byte) {
	r.t.Helper()
	var a accounts
	r.ask(&a, http.MethodPost, path, contentType, body)
	if a.Accepted != want || a.Late != 0 || len(a.Rejected) != 0 {
		r.t.Fatalf("%s: %d of %d accepted, %d late, rejected: %.300v", path, a.Accepted, want, a.Late, a.Rejected)
	}
}

// dial connects to the bus. The client does not reconnect; closed is called when the connection
// ends.
func (r *running) dial(closed func()) *nats.Conn {
	r.t.Helper()
	nc, err := nats.Connect("nats://"+r.BusAddr().String(), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { closed() }))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(nc.Close)
	return nc
}
