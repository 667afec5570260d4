package tunneld_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/tunneld"
)

// ask is GET of a path at an admin listener.
func ask(t *testing.T, address, path, host, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	if host != "" {
		r.Host = host
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// Every bound has a gauge beside it, and refusals are counted by stage and reason. Label values
// come from fixed lists: the input of visitors makes no series.
func TestAdminTells(t *testing.T) {
	s := newStage(t)
	bound, _ := s.connect(t.Context(), "127.0.0.1:1", "", nil)
	<-bound
	if got := s.status(); got != http.StatusBadGateway {
		t.Errorf("a target that is not there: %d", got)
	}
	address := s.server.Admin().String()
	code, text := ask(t, address, "/metrics", "", "")
	for deadline := time.Now().Add(5 * time.Second); !strings.Contains(text, "\npaddock_tunnel_inflight 0\n") && time.Now().Before(deadline); {
		// The visitor receives its answer a moment before the link reports that the request is
		// over.
		code, text = ask(t, address, "/metrics", "", "")
	}
	if code != http.StatusOK {
		t.Fatalf("/metrics: %d", code)
	}
	for _, want := range []string{
		"\npaddock_tunnel_sessions 1\n", "\npaddock_tunnel_names 1\n", "\npaddock_tunnel_inflight 0\n",
		`paddock_tunnel_refused_total{reason="unreachable",stage="target"} 1`, `paddock_tunnel_refused_total{reason="overloaded",stage="permit"} 0`,
		`paddock_tunnel_requests_total{class="request",client="a"} 1`, `paddock_tunnel_exchange_total{verb="request"} 1`,
		`paddock_tunnel_budget_bytes{kind="held"} 0`, `paddock_tunnel_limit{of="sessions"} 16384`, "paddock_tunnel_rtt_seconds_count ",
		"paddock_tunnel_queue_seconds_count 0", `paddock_tunnel_bytes_total{direction="received"} `, "\npaddock_wire_", "\nprocess_open_fds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "app.example") {
		t.Error("a name that visitors know is in the metrics")
	}
	var status struct {
		ID     string
		Tunnel struct {
			Sessions int
			Refused  map[string]int
		}
	}
	if code, text = ask(t, address, "/status", "", ""); code != http.StatusOK || json.Unmarshal([]byte(text), &status) != nil {
		t.Errorf("/status: %d %s", code, text)
	}
	if status.ID != s.server.ID().String() || status.Tunnel.Sessions != 1 || status.Tunnel.Refused["unreachable"] != 1 {
		t.Errorf("/status: %s", text)
	}
	if code, _ = ask(t, address, "/status", "evil.example", ""); code != http.StatusMisdirectedRequest {
		t.Errorf("for another name than this machine's: %d", code)
	}
	if code, text = ask(t, address, "/", "", ""); code != http.StatusOK || !strings.Contains(text, "<title>Paddock") {
		t.Errorf("/: %d %s", code, text)
	}
	if code, _ = ask(t, address, "/other.txt", "", ""); code != http.StatusNotFound {
		t.Errorf("/other.txt: %d", code)
	}
}

// Beyond this machine /metrics and /status are there with a token only.
func TestAdminIsNotExposed(t *testing.T) {
	dir := t.TempDir()
	settings := &tunneld.Settings{Serve: tunneld.Serve{Listen: "127.0.0.1:0", Admin: "0.0.0.0:0", Identity: dir + "/key"}}
	_, err := tunneld.OpenServer(t.Context(), tunneld.ServerOptions{Settings: settings, Logger: silent})
	if !errors.Is(err, listen.ErrExposed) {
		t.Errorf("without a token: %v", err)
	}
	s := newStage(t, "admin_token: secret,")
	if code, _ := ask(t, s.server.Admin().String(), "/metrics", "", "wrong"); code != http.StatusUnauthorized {
		t.Errorf("another token: %d", code)
	}
	if code, _ := ask(t, s.server.Admin().String(), "/metrics", "evil.example", "secret"); code != http.StatusOK {
		t.Errorf("the token: %d", code)
	}
}
