package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"paddock/wire"
)

// tokens serves echoMux to clients that have the token "gate" with the secret "open".
func tokens(t *testing.T, cfg wire.Config) (s *wire.Server, address string) {
	hash, empty := wire.TokenHash([]byte("open")), wire.TokenHash(nil)
	cfg.Mux, cfg.Verify = echoMux(), wire.VerifyTokens(func(id string) ([]byte, bool) {
		switch id {
		case "gate":
			return hash[:], true
		case "empty":
			return empty[:], true
		case "short":
			return nil, true
		}
		return hash[:], false
	})
	s = &wire.Server{Config: &cfg}
	return s, serve(t, s)
}

// unauthenticated holds that a call over a connection with these credentials fails with
// UNAUTHENTICATED.
func unauthenticated(t *testing.T, what, address string, cfg wire.Config) {
	t.Helper()
	c := dial(t, address, &cfg)
	var e *wire.Error
	if _, err := c.Call(t.Context(), "echo", nil); !errors.As(err, &e) || e.Code != wire.Unauthenticated {
		t.Errorf("%s: %v", what, err)
	}
}

func TestToken(t *testing.T) {
	for name, secured := range map[string]bool{"loopback": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			var server, client wire.Config
			if secured {
				server.TLS, client.TLS = serverTLS(), clientTLS()
			}
			s, address := tokens(t, server)
			with := func(auth func(net.Conn) (*wire.Auth, error)) wire.Config {
				client.Auth = auth
				return client
			}
			good := with(wire.TokenAuth("gate", []byte("open")))
			if _, err := dial(t, address, &good).Call(t.Context(), "echo", nil); err != nil {
				t.Fatal(err)
			}
			for c := range s.All() {
				if who := c.Identity(); who != (wire.Identity{Scheme: "token", Name: "gate"}) {
					t.Errorf("identity %v", who)
				}
			}
			unauthenticated(t, "wrong secret", address, with(wire.TokenAuth("gate", []byte("shut"))))
			unauthenticated(t, "unknown id", address, with(wire.TokenAuth("door", []byte("open"))))
			unauthenticated(t, "hash of nothing", address, with(wire.TokenAuth("short", []byte("open"))))
			unauthenticated(t, "none", address, with(nil))
			for _, data := range [][]byte{nil, []byte("gate"), make([]byte, 32), bytes.Repeat([]byte("x"), 32+129)} {
				unauthenticated(t, "malformed", address, with(func(net.Conn) (*wire.Auth, error) {
					return &wire.Auth{Scheme: "token", Data: data}, nil
				}))
			}
			unauthenticated(t, "another scheme", address, with(func(nc net.Conn) (*wire.Auth, error) {
				a, err := wire.TokenAuth("gate", []byte("open"))(nc)
				a.Scheme = "password"
				return a, err
			}))
			unauthenticated(t, "empty secret", address, with(func(nc net.Conn) (*wire.Auth, error) {
				return wire.EmptyToken(nc, "empty")
			}))
		})
	}
}

// TestTokenReplay uses the proof of one TLS connection on another.
func TestTokenReplay(t *testing.T) {
	_, address := tokens(t, wire.Config{TLS: serverTLS()})
	var stolen *wire.Auth
	cfg := wire.Config{TLS: clientTLS(), Auth: func(nc net.Conn) (a *wire.Auth, err error) {
		stolen, err = wire.TokenAuth("gate", []byte("open"))(nc)
		return stolen, err
	}}
	if _, err := dial(t, address, &cfg).Call(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	cfg.Auth = func(net.Conn) (*wire.Auth, error) { return stolen, nil }
	unauthenticated(t, "replay", address, cfg)
}

// remote is a connection that leaves the machine.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7400} }

func (remote) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 50_000} }

func TestTokenStaysLocal(t *testing.T) {
	if _, err := wire.TokenAuth("gate", []byte("open"))(remote{}); !errors.Is(err, wire.ErrNotLocal) {
		t.Errorf("got %v", err)
	}
	a, _ := net.Pipe()
	defer a.Close()
	for _, bad := range []struct{ id, secret string }{{"gate", ""}, {"", "open"}, {strings.Repeat("x", 129), "open"}, {"\xff", "open"}} {
		if _, err := wire.TokenAuth(bad.id, []byte(bad.secret))(a); err == nil {
			t.Errorf("%q with secret %q is fine", bad.id, bad.secret)
		}
	}
}

// TestTokenVectors computes those of SPEC section 12.
func TestTokenVectors(t *testing.T) {
	spec, err := os.ReadFile("../docs/wire/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	exporter := make([]byte, 32)
	for i := range exporter {
		exporter[i] = byte(i)
	}
	for _, binding := range [][]byte{exporter, []byte("wire/1 token over a local socket")} {
		data := wire.TokenData("gate", []byte("open"), binding)
		if text := hex.EncodeToString(data); !strings.Contains(string(spec), text) {
			t.Errorf("SPEC has no %s", text)
		}
	}
}
