package platform_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"paddock/internal/platform"
	"paddock/internal/process/config"
	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// tunneled is a platform over TLS whose tunnel lists one client by its key.
type tunneled struct {
	*running
	link *wire.Config // of that client
}

func startTunneled(t *testing.T) *tunneled {
	t.Helper()
	key, err := keyid.Make(filepath.Join(t.TempDir(), "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Wire.Token = "s3cret"
	trust := certify(t, cfg)
	settings := &tunneld.Settings{
		Serve:   tunneld.Serve{HTTP: "127.0.0.1:0"},
		Clients: []tunneld.Peer{{Name: "depot", ID: key.ID, Hosts: []string{"door.example"}}},
	}
	r := startWith(t, platform.Options{Config: cfg, Catalog: square(t), Tunnel: &tunneld.ServerOptions{Settings: settings}})
	return &tunneled{r, &wire.Config{TLS: &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{key.Certificate}}}}
}

// offer serves visitors of door.example from url until the test ends, over one connection, which it
// returns.
func (r *tunneled) offer(url string) *wire.Conn {
	r.t.Helper()
	bound := make(chan client.Bound, 1)
	client, err := client.New(client.Config{
		Tunnels: []client.Tunnel{{Name: "door", Protocol: tunnel.HTTP, Host: "door.example", Target: url}},
		OnBound: func(b client.Bound) { bound <- b }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(client.CloseIdle)
	r.link.Mux = wire.NewMux()
	client.Register(r.link.Mux)
	conn, err := wire.Dial(r.t.Context(), "tcp", r.WireAddr().String(), r.link)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	client.Connected(r.t.Context(), conn) // returns when all is bound
	if b := <-bound; b.Err != nil {
		r.t.Fatal(b.Err)
	}
	return conn
}

// visit sends a request to door.example.
func (r *tunneled) visit() (status int, text string, err error) {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.VisitorsAddr().String()+"/", nil)
	if err != nil {
		return 0, "", err
	}
	req.Host, req.Close = "door.example", true
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// A client that is listed by its key has visitors and all services of the platform. A client with
// the token has only the platform.
func TestTunnelsClients(t *testing.T) {
	r := startTunneled(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer service.Close()
	conn := r.offer(service.URL)
	if status, text, err := r.visit(); err != nil || status != http.StatusOK || text != "hello" {
		t.Errorf("%d %s, %v", status, text, err)
	}
	sendByWire(t, conn, [][]byte{wireBody(t, "", "v1", place{lon: 0.5, lat: 0.5}, shuttleTime, false)})
	if n := r.Objects(); n != 1 {
		t.Errorf("%d objects", n)
	}
	_, metrics, err := r.call(http.MethodGet, "metrics", "", nil)
	if err != nil || !strings.Contains(string(metrics), "\npaddock_tunnel_sessions 1\n") {
		t.Errorf("no session in the metrics, %v", err)
	}
	status, told, err := r.call(http.MethodGet, "v1/tunnel", "", nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("v1/tunnel: %d %s, %v", status, told, err)
	}
	conforms(t, told, "Tunnel")
	if !strings.Contains(string(told), `"at":"door.example","protocol":"http","client":"depot"`) {
		t.Errorf("no tunnel in %s", told)
	}

	byToken := r.link.TLS.Clone()
	byToken.Certificates = nil
	other, err := wire.Dial(t.Context(), "tcp", r.WireAddr().String(), &wire.Config{TLS: byToken, Auth: wire.TokenAuth("depot", []byte("s3cret"))})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	sendByWire(t, other, [][]byte{wireBody(t, "", "v2", place{lon: 0.5, lat: 0.5}, shuttleTime, false)})
	_, err = wire.Call[struct{}, struct{}](t.Context(), other, "tunnel.bind", struct{}{})
	if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Code != wire.PermissionDenied {
		t.Errorf("tunnel.bind with the token: %v", err)
	}
}

// conforms checks an answer against a schema of the OpenAPI document.
func conforms(t *testing.T, answer []byte, schema string) {
	t.Helper()
	text, err := os.ReadFile("httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", tree); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("openapi.json#/components/schemas/" + schema)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%v: %s", err, answer)
	}
}

// A visitor in progress when the platform is stopped is answered: the connections of clients
// outlive the visitors.
func TestDrainAnswersVisitors(t *testing.T) {
	r := startTunneled(t)
	visited, answer := make(chan struct{}), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(visited)
		<-answer
		_, _ = io.WriteString(w, "late")
	}))
	defer service.Close()
	r.offer(service.URL)
	answered := make(chan error, 1)
	go func() { // ends with the answer, at the latest after patience
		status, text, err := r.visit()
		if err == nil && (status != http.StatusOK || text != "late") {
			err = errors.New(text)
		}
		answered <- err
	}()
	<-visited
	at := r.VisitorsAddr().String()
	r.signal()
	for { // until no further visitors are accepted
		conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", at)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(answer)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	r.awaitEnd()
}

// A platform that takes the place of another one has the clients that its file lists by now.
func TestTakenTunnel(t *testing.T) {
	listed := func(client string) *tunneld.Settings {
		return &tunneld.Settings{Clients: []tunneld.Peer{{Name: client}}}
	}
	o := platform.Options{Config: config.Default(), Logger: slog.New(slog.DiscardHandler), Tunnel: &tunneld.ServerOptions{
		Settings: listed("first"), Reload: func() (*tunneld.Settings, error) { return listed("second"), nil },
	}}
	if now := platform.New(o).Taken().Tunnel.Settings.Clients; len(now) != 1 || now[0].Name != "second" {
		t.Errorf("%+v", now)
	}
}
