package tunneld_test

import (
	"crypto/tls"
	"os"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld"
	"paddock/wire"
)

// A client that comes back to a server that was started again needs no full handshake,
// and is known by the key that it proved in the first one.
func TestSessionsAreResumedAfterARestart(t *testing.T) {
	dir := t.TempDir()
	client, err := keyid.Make(dir + "/client.key")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{client.Certificate}, ClientSessionCache: tls.NewLRUClientSessionCache(1),
		InsecureSkipVerify: true, ServerName: "tunnel",
	}
	for i := range 2 {
		resumed := make(chan bool, 1)
		config.VerifyConnection = func(s tls.ConnectionState) error { resumed <- s.DidResume; return nil }
		server, err := tunneld.OpenServer(t.Context(), tunneld.ServerOptions{
			Settings: &tunneld.Settings{
				Serve:   tunneld.Serve{Listen: "127.0.0.1:0", Identity: dir + "/server.key"},
				Clients: []tunneld.Peer{{Name: "a", ID: client.ID, Hosts: []string{"*.b.example"}}},
			},
			Logger: silent,
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, server)
		conn, err := wire.Dial(t.Context(), "tcp", server.Link().String(), &wire.Config{TLS: config, Mux: wire.NewMux()})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := wire.Call[struct{}, struct{}](t.Context(), conn, "tunnel.fronts", struct{}{}); err != nil { // the client is admitted
			t.Fatal(err)
		}
		if got, want := <-resumed, i > 0; got != want {
			t.Errorf("start %d: resumed: %v", i, got)
		}
		_ = conn.Close()
		stop()
	}
}

// run runs a server until stop.
func run(t *testing.T, s *tunneld.Server) (stop func()) {
	t.Helper()
	signals := make(chan os.Signal)
	group := &lifecycle.Group{Logger: silent, Signals: signals}
	s.AddTo(group)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(t.Context()) }()
	return func() {
		signals <- os.Interrupt
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A client that asks for no host gets a name under its pattern, the same one each time.
func TestNamesAreChosen(t *testing.T) {
	roster := tunneld.NewRoster([]tunneld.Peer{
		{Name: "a", TokenID: "a", TokenHash: [32]byte{1}, Hosts: []string{"a.example", "*.b.example"}},
		{Name: "c", TokenID: "c", TokenHash: [32]byte{2}, Hosts: []string{"c.example"}},
	})
	first, err := roster.Name("a", 1, 0)
	if err != nil || len(first) != 8+len(".b.example") || !tunneld.Covers("*.b.example", first) {
		t.Errorf("%q, %v", first, err)
	}
	again, _ := roster.Name("a", 1, 0)
	second, _ := roster.Name("a", 2, 0)
	next, _ := roster.Name("a", 1, 1)
	if again != first || second == first || next == first || next == second {
		t.Error(first, again, second, next)
	}
	for _, who := range []string{"c", "nobody"} {
		if name, err := roster.Name(who, 1, 0); err == nil {
			t.Errorf("%s got %s", who, name)
		}
	}

	s := newStage(t)
	s.list("'*.b.example'")
	s.reload()
	bound, _ := s.connectTo(t.Context(), "", "127.0.0.1:1", "", nil)
	if where := <-bound; len(where) < len("http://12345678.b.example") || where[15:25] != ".b.example" {
		t.Error(where)
	}
}

// Plaintext is limited to this machine, and admits every client with a token.
func TestPlaintext(t *testing.T) {
	settings := &tunneld.Settings{Serve: tunneld.Serve{Listen: "0.0.0.0:0", Plaintext: true}, Clients: []tunneld.Peer{{Name: "a"}}}
	if _, err := tunneld.OpenServer(t.Context(), tunneld.ServerOptions{Settings: settings, Key: t.TempDir() + "/key", Logger: silent}); err == nil {
		t.Fatal("a plaintext server listens beyond this machine")
	}
	s := newStage(t, "plaintext: true,")
	change := s.tokens("a secret")
	plain := func(c *tunneld.Connect) { change(c); c.Pinned, c.Plaintext = false, true }
	bound, _ := s.connect(t.Context(), "127.0.0.1:1", "", plain)
	if where := <-bound; where == "" {
		t.Error("not bound")
	}
}
