package wireapi

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyring"
	"paddock/wire"
)

// lodger is an Extension that knows clients named its, and refuses clients named kept.
type lodger struct{}

type lodgersOwn struct{}

func (lodger) Register(m *wire.Mux) {
	wire.Handle(m, "lodger.ask", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
}

func (lodger) AltProtocol() *wire.AltProtocol { return nil }

func (lodger) Verify(c *wire.Conn, h *wire.Hello) error {
	switch {
	case h.Auth != nil && strings.HasSuffix(string(h.Auth.Data), "its"):
		c.SetIdentity(lodgersOwn{})
		return nil
	case h.Auth != nil && strings.HasSuffix(string(h.Auth.Data), "kept"):
		return &wire.Error{Code: wire.PermissionDenied}
	}
	return &wire.Error{Code: wire.Unauthenticated}
}

func (lodger) Authorize(c *wire.Conn, kind string) error {
	if _, its := c.Identity().(lodgersOwn); kind == "lodger.ask" && !its {
		return &wire.Error{Code: wire.PermissionDenied, NotStarted: true}
	}
	return nil
}

// All admitted clients may use the platform's own kinds. Only the extension's clients may use its
// kinds too.
func TestExtension(t *testing.T) {
	const token = "the platform's"
	for _, c := range []struct {
		name, token, as, secret string // as "": the client presents nothing
		in                      bool
		asks                    bool
	}{
		{"its own", token, "its", "x", true, true},
		{"kept out", token, "kept", token, false, false},
		{"with the token", token, "anybody", token, true, false},
		{"with another one", token, "anybody", "x", false, false},
		{"with nothing", token, "", "", false, false},
		{"its own, no token", "", "its", "x", true, true},
		{"kept out, no token", "", "kept", "x", false, false},
		{"unknown, no token", "", "anybody", "x", false, false},
		{"with nothing, no token", "", "", "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, func(cfg *Config) { cfg.Token, cfg.Extension = c.token, lodger{} })
			config := &wire.Config{}
			if c.as != "" {
				config.Auth = wire.TokenAuth(c.as, []byte(c.secret))
			}
			conn := s.dial(config)
			_, err := wire.Call[struct{}, struct{}](s.ctx(), conn, "lodger.ask", struct{}{})
			refused, _ := errors.AsType[*wire.Error](err)
			if in := conn.Err() == nil; in != c.in || (err == nil) != c.asks {
				t.Fatalf("in %v, want %v; %v", in, c.in, err)
			}
			if c.in && !c.asks && (refused == nil || refused.Code != wire.PermissionDenied) {
				t.Errorf("%v", err)
			}
			if !c.in {
				return
			}
			number, err := conn.PostAck(s.ctx(), KindUpdate, body(t, "v", 1, 1, 1_700_000_000_000))
			if err == nil {
				err = conn.WaitAcked(s.ctx(), number)
			}
			must(t, err)
		})
	}
}

// A handler may run when its connection has ended already. The key of the connection limits it then
// too.
func TestAKeyLimitsHandlersBehindTheEndOfTheirConnection(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	defer ring.Close()
	must(t, ring.Add(keyring.Key{Name: "reader", SHA256: keyring.DigestOf("secret"), Verbs: []string{"lookup"}}))
	s := newSite(t, func(cfg *Config) { cfg.Keys, cfg.KeyRequired = ring, true })
	client := s.dial(&wire.Config{Auth: wire.TokenAuth("reader", []byte("secret"))})
	_, err = client.Call(s.ctx(), KindSearch, []byte("[1,1]"))
	must(t, err)
	var served *wire.Conn
	for c := range s.api.server.All() {
		served = c
	}
	must(t, client.Close())
	<-served.Done()
	for range 1000 {
		if _, err := s.api.permit(served, keyring.PositionsWrite); err == nil {
			t.Fatal("a key for look-ups may send positions")
		}
		runtime.Gosched()
	}
}

// A subscription to a set or a fleet that the key is not for is refused.
func TestEventsThatAKeyIsNotFor(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	defer ring.Close()
	must(t, ring.Add(keyring.Key{Name: "one", SHA256: keyring.DigestOf("secret"), Verbs: []string{"events:read"}, Fleets: []string{"taxis"}, Sets: []string{"squares"}}))
	s := newSite(t, func(cfg *Config) { cfg.Keys, cfg.KeyRequired = ring, true })
	client := s.dial(&wire.Config{Auth: wire.TokenAuth("one", []byte("secret"))})
	for filter, want := range map[string]string{
		`{"fleet":"buses"}`:             `the key "one" is not for the fleet "buses"`,
		`{"set":"far","fleet":"taxis"}`: `the key "one" is not for the set "far"`,
	} {
		stream, err := client.Open(s.ctx(), KindEvents, wire.OpenOptions{})
		must(t, err)
		must(t, stream.WriteMsg([]byte(filter)))
		must(t, stream.SetReadDeadline(time.Now().Add(patience)))
		_, err = stream.ReadMsg(nil)
		if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.PermissionDenied || e.Msg != want {
			t.Errorf("%s: %v", filter, err)
		}
	}
	s.subscribe(client, `{"set":"squares","fleet":"taxis"}`)
}
