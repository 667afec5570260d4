package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/server"
	"paddock/wire"
)

// visitable is a platform whose visitors request door.example.
type visitable struct {
	*platform
	front    *httptest.Server
	followed chan error // how each stream of events ended
}

func newVisitable(t *testing.T) *visitable {
	t.Helper()
	server := &server.Server{Logger: slog.New(slog.DiscardHandler), Policy: tunnel.PolicyFunc(func(_ string, b tunnel.Binding) error {
		if b.Host == "door.example" {
			return nil
		}
		return tunnel.ErrDenied
	})}
	p := &platform{t: t, addr: "127.0.0.1:0", arrived: make(chan struct{})}
	v := &visitable{p, httptest.NewServer(server), make(chan error, 16)}
	p.mux = func(m *wire.Mux) {
		server.Register(m)
		m.HandleStream(kindEvents, func(_ context.Context, s *wire.Stream) (err error) {
			for err == nil {
				_, err = s.ReadMsg(nil)
			}
			v.followed <- err
			return nil
		})
	}
	p.start()
	t.Cleanup(func() {
		v.front.Close()
		p.kill()
		must(t, server.Close())
	})
	return v
}

// visit sends a request to door.example.
func (v *visitable) visit() (status int, text string, err error) {
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.front.URL, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host, req.Close = "door.example", true
	resp, err := v.front.Client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// until waits until so returns true.
func (v *visitable) until(so func() bool) {
	v.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !so() {
		select {
		case <-tick.C:
		case <-timeout:
			v.t.Fatal("it never was")
		}
	}
}

// Visitors reach a local service beside positions, on each further connection as on the first. A
// visitor in progress at the end is answered.
func TestVisitors(t *testing.T) {
	v := newVisitable(t)
	visited, answer := make(chan struct{}), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visited <- struct{}{}
		<-answer
		_, _ = io.WriteString(w, "hello")
	}))
	defer service.Close()
	enter := func() (answered chan error) { // returns when a visitor is there
		for {
			answered = make(chan error, 1)
			go func() { // ends with the answer
				status, text, err := v.visit()
				if err == nil && (status != http.StatusOK || text != "hello") {
					err = fmt.Errorf("%d %s", status, text)
				}
				answered <- err
			}()
			select {
			case <-visited:
				return answered
			case err := <-answered: // the tunnel is not bound yet
				t.Log(err)
			}
		}
	}
	s := v.settings(t.TempDir(), fmt.Sprintf("tunnels:\n  door: {proto: http, addr: %q, host: door.example}\n  other: {proto: http, addr: 1, host: other.example}\n", service.URL))
	r := start(t, s)
	v.until(func() bool { return r.Status().Tunnels["door"].Where != "" && r.Status().Tunnels["other"].Reason != "" })
	first := enter()
	r.post(0, 100) // beside a visitor
	sequence(t, v.await(100), 100)
	answer <- struct{}{}
	must(t, <-first)
	if other := r.Status().Tunnels["other"]; other.Where != "" || other.Reason == "" {
		t.Errorf("what is not allowed: %+v", other)
	}
	if _, metrics := r.do("GET", "/metrics", ""); !strings.Contains(metrics, "\npaddock_tunnel_client_bound{tunnel=\"door\"} 1\n") {
		t.Error("door is not bound in the metrics")
	}

	connects := r.Status().Link.Connects
	v.cut()
	<-v.followed
	v.until(func() bool { return r.Status().Link.Connects > connects })
	last := enter()
	stopped := make(chan struct{})
	go func() { // ends once the last visitor was answered
		r.stop()
		close(stopped)
	}()
	v.until(func() bool { // the agent's own endpoint is closed
		conn, err := net.Dial("tcp", r.HTTP().String())
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	// The end does not wait for the stream of events, which is endless.
	if refused, ok := errors.AsType[*wire.Error](<-v.followed); !ok || refused.Code != wire.Cancelled {
		t.Errorf("the stream of events ends with %v", refused)
	}
	answer <- struct{}{}
	must(t, <-last)
	<-stopped
}

// The file's tunnels are read as in a tunnel's own file.
func TestTunnelSettings(t *testing.T) {
	_, err := Read("agent.yaml", []byte("connect: {server: 'a:1'}\nbuffer: {dir: b}\ntunnels: {door: {proto: http, adr: 8080}, ssh: {proto: tcp, addr: 22}}\n"),
		func(string) (string, bool) { return "", false })
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{"agent.yaml:3:31: unknown key adr; did you mean addr?", "agent.yaml:3:11: tunnel door needs addr", "agent.yaml:3:43: tunnel ssh is of tcp, which needs remote_addr"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
