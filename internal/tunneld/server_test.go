package tunneld_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld"
	"paddock/tunnel/client"
)

var silent = slog.New(slog.DiscardHandler)

// stage is a server whose settings are a file, on free ports.
type stage struct {
	t       *testing.T
	dir     string
	server  *tunneld.Server
	hangups chan os.Signal // each is taken when the one before has been dealt with
	client  *keyid.Key
	control string
	serve   string
}

// newStage opens it. serve are further keys of that section.
func newStage(t *testing.T, serve ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), hangups: make(chan os.Signal), control: socketPath(t), serve: strings.Join(serve, "")}
	var err error
	if s.client, err = keyid.Make(s.path("client.key")); err != nil {
		t.Fatal(err)
	}
	s.list("app.example")
	file := s.path("paddock.yaml")
	load := func() (*tunneld.Settings, error) { return tunneld.Load(file, nil) }
	settings, err := load()
	if err != nil {
		t.Fatal(err)
	}
	s.server, err = tunneld.OpenServer(t.Context(), tunneld.ServerOptions{
		Settings: settings, File: "", Reload: load, Hangups: s.hangups, Control: s.control, Logger: silent,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	group := &lifecycle.Group{Logger: silent, Signals: make(chan os.Signal)}
	s.server.AddTo(group)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// list writes the settings: the client may have this host.
func (s *stage) list(host string) {
	s.write("tunnel:\n  serve: {" + s.serve + " listen: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0', key: server.key}\n" +
		"  clients: [{name: a, id: " + s.client.ID.String() + ", hosts: [" + host + "]}]\n")
}

func (s *stage) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path("paddock.yaml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// reload has the settings read, and waits until they count.
func (s *stage) reload() {
	s.hangups <- os.Interrupt
	s.hangups <- os.Interrupt
}

// connect runs a client for app.example until ctx ends.
func (s *stage) connect(ctx context.Context, target, firstSeen string, change func(*tunneld.Connect)) (bound chan string, ended chan error) {
	s.t.Helper()
	return s.connectTo(ctx, "app.example", target, firstSeen, change)
}

// connectTo runs one for any host.
func (s *stage) connectTo(ctx context.Context, host, target, firstSeen string, change func(*tunneld.Connect)) (bound chan string, ended chan error) {
	s.t.Helper()
	settings := &tunneld.Settings{
		Connect: tunneld.Connect{Server: s.server.Link().String(), Key: s.path("client.key"), ServerID: s.server.ID(), Pinned: firstSeen == ""},
		Tunnels: []client.Tunnel{{Name: "web", Protocol: "http", Host: host, Target: target}},
		Backoff: tunneld.Backoff{Interval: time.Millisecond, MaxInterval: 10 * time.Millisecond},
	}
	if change != nil {
		change(&settings.Connect)
	}
	bound, ended = make(chan string, 16), make(chan error, 1)
	client, err := tunneld.NewClient(tunneld.ClientOptions{
		Settings: settings, FirstSeen: firstSeen, Logger: silent, Bound: func(_, where, _ string) { bound <- where },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { ended <- client.Run(ctx) }()
	return bound, ended
}

// status returns the status of a request for app.example.
func (s *stage) status() int {
	s.t.Helper()
	return s.statusOf("")
}

// statusOf is that of a path.
func (s *stage) statusOf(path string) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.server.HTTP().String()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host, r.Close = "app.example", true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// A reloaded list takes effect at once, for connected clients too. A faulty list changes nothing.
func TestReload(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	bound, ended := s.connect(ctx, target.Listener.Addr().String(), "", nil)
	<-bound
	if got := s.status(); got != http.StatusOK {
		t.Errorf("at first: %d", got)
	}
	s.write("tunnel: {clients: [{name: a}]}\n")
	s.reload()
	if got := s.status(); got != http.StatusOK {
		t.Errorf("after a wrong file: %d", got)
	}
	s.list("other.example")
	s.reload()
	if got := s.status(); got != http.StatusNotFound {
		t.Errorf("after the name was taken away: %d", got)
	}
	s.list("app.example")
	s.reload()
	if got := s.status(); got != http.StatusOK {
		t.Errorf("after it was given back: %d", got)
	}
	s.write("tunnel: {clients: []}\n")
	s.reload()
	if got := s.status(); got != http.StatusNotFound {
		t.Errorf("after the client was taken off the list: %d", got)
	}
	s.list("app.example")
	s.reload()
	got := s.status() // waits for the kicked client to come back
	for range 10 {
		if got != http.StatusServiceUnavailable {
			break
		}
		got = s.status()
	}
	if got != http.StatusOK {
		t.Errorf("after he was put on it again: %d", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The first key that the server shows is the only one that is trusted from then on. Without a file
// to remember it, a self-signed key is not trusted.
func TestTrust(t *testing.T) {
	s := newStage(t)
	seen := s.path("seen")
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		bound, ended := s.connect(ctx, "127.0.0.1:1", seen, nil)
		if where := <-bound; where == "" {
			t.Error("no URL")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(seen, []byte(s.client.ID.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, ended := s.connect(t.Context(), "127.0.0.1:1", seen, nil)
	other := new(keyid.ErrOtherKey)
	if err := <-ended; !errors.Is(err, tunneld.ErrRefused) || !errors.As(err, &other) || other.Got != s.server.ID() {
		t.Errorf("another key than the first: %v", err)
	}
	_, ended = s.connect(t.Context(), "127.0.0.1:1", "", func(c *tunneld.Connect) { c.Pinned = false })
	if err := <-ended; !errors.Is(err, tunneld.ErrRefused) {
		t.Errorf("a key that nobody has signed: %v", err)
	}
}

// A token admits the clients that know its secret, and no other.
func TestToken(t *testing.T) {
	s := newStage(t)
	s.tokens("a secret")
	token := s.tokenFile
	for _, wrong := range []string{"ci:another secret", "other:a secret"} {
		if _, ended := s.connect(t.Context(), "127.0.0.1:1", "", token(wrong)); !errors.Is(<-ended, tunneld.ErrRefused) {
			t.Errorf("%s was not refused", wrong)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	bound, ended := s.connect(ctx, "127.0.0.1:1", "", token("ci:a secret"))
	<-bound
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// tokens lists a single token, and returns the setting with which a client uses it.
func (s *stage) tokens(secret string) func(*tunneld.Connect) {
	hash := sha256.Sum256([]byte(secret))
	s.write("tunnel: {clients: [{name: ci, token_sha256: " + hex.EncodeToString(hash[:]) + ", hosts: [app.example]}]}\n")
	s.reload()
	return s.tokenFile("ci:" + secret)
}

// tokenFile lets a client come with a file that has this text.
func (s *stage) tokenFile(text string) func(*tunneld.Connect) {
	file := s.path("token")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return func(c *tunneld.Connect) { c.TokenFile = file }
}
