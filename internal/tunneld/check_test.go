package tunneld_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
	"paddock/tunnel/client"
)

// check asks the server for tunnels of these hosts, each to a target.
func (s *stage) check(key string, hosts map[string]string) (tunneld.Check, error) {
	s.t.Helper()
	settings := &tunneld.Settings{Connect: tunneld.Connect{Server: s.server.Link().String(), Key: key, ServerID: s.server.ID(), Pinned: true}}
	for host, target := range hosts {
		settings.Tunnels = append(settings.Tunnels, client.Tunnel{Name: host, Protocol: "http", Host: host, Target: target})
	}
	return tunneld.CheckServer(s.t.Context(), tunneld.ClientOptions{Settings: settings})
}

// The check reports the bindings that the server would make, the ones that it would refuse, and the
// targets that are missing. The client that serves visitors meanwhile is not disturbed.
func TestCheckServer(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	target := service.Listener.Addr().String()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	bound, ended := s.connect(ctx, target, "", nil)
	<-bound
	check, err := s.check(s.path("client.key"), map[string]string{"app.example": target})
	if err != nil || check.ID != s.client.ID.String() || len(check.Tunnels) != 1 || !strings.HasPrefix(check.Tunnels[0].Where, "http://app.example:") {
		t.Errorf("%+v, %v", check, err)
	}
	check, err = s.check(s.path("client.key"), map[string]string{"app.example": "127.0.0.1:1"})
	if !errors.Is(err, tunneld.ErrTarget) || errors.Is(err, tunneld.ErrRefused) || check.Tunnels[0].Fault == "" || check.Tunnels[0].Where == "" {
		t.Errorf("no target: %+v, %v", check, err)
	}
	check, err = s.check(s.path("client.key"), map[string]string{"other.example": target})
	if !errors.Is(err, tunneld.ErrRefused) || check.Tunnels[0].Where != "" || !strings.Contains(check.Tunnels[0].Refused, "other.example is not among the hosts") {
		t.Errorf("a host that is not ours: %+v, %v", check, err)
	}
	stranger, err := keyid.Make(s.path("stranger.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.check(s.path("stranger.key"), map[string]string{"app.example": target}); !errors.Is(err, tunneld.ErrRefused) ||
		!strings.Contains(err.Error(), stranger.ID.String()) {
		t.Errorf("a stranger: %v", err)
	}
	if o := s.overview(""); o.Figures.Takeovers != 0 || o.TunnelsAll != 1 {
		t.Errorf("after all that: %+v", o)
	}
	if got := s.status(); got != http.StatusOK {
		t.Errorf("a visitor: %d", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
