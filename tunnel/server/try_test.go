package server

import (
	"context"
	"errors"
	"net"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// try is the answer to tunnel.try over a client's connection.
func try(t *testing.T, conn *wire.Conn, ask ...message.BindAsk) []message.BindResult {
	t.Helper()
	for i := range ask {
		ask[i].ID = uint16(i + 1)
	}
	a, err := wire.Call[message.BindRequest, message.BindAnswer](t.Context(), conn, message.KindTry, message.BindRequest{Version: message.Version, Tunnels: ask})
	if err != nil {
		t.Fatal(err)
	}
	return a.Results
}

// A trial binds nothing: a name and an address are free as before, and an owner keeps its name.
func TestTry(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	c, _ := p.says("a", "a.example.com", "x")
	p.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
	before := p.server.Stats()
	taken := tunneltest.Listen(t)
	defer taken.Close()
	conn := p.dial("b")
	for i, want := range []struct {
		ask  message.BindAsk
		code wire.Code
	}{
		{message.BindAsk{Protocol: tunnel.HTTP, Host: "free.example.com"}, 0},
		{message.BindAsk{Protocol: tunnel.TCP, Address: "127.0.0.1:0"}, 0},
		{message.BindAsk{Protocol: tunnel.HTTP, Host: "a.example.com"}, wire.AlreadyExists},
		{message.BindAsk{Protocol: tunnel.SNI, Host: "a.example.com"}, wire.AlreadyExists},
		{message.BindAsk{Protocol: tunnel.TCP, Address: taken.Addr().String()}, wire.Unavailable},
		{message.BindAsk{Protocol: tunnel.HTTP}, wire.PermissionDenied}, // names are not chosen here
		{message.BindAsk{Protocol: "x"}, wire.InvalidArgument},
	} {
		if got := try(t, conn, want.ask)[0]; got.Code != want.code || (got.Where == "") != (want.code != 0) {
			t.Errorf("%d: %+v, want code %v", i, got, want.code)
		}
	}
	if after := p.server.Stats(); after.Names != before.Names || after.Sessions != before.Sessions || after.Takeovers != 0 {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// A target that accepts connections is distinguished from one that does not.
func TestTryTargets(t *testing.T) {
	gone := errors.New("gone")
	l := tunneltest.Listen(t)
	defer l.Close()
	p := newPair(t, &Server{Identify: named})
	c, err := client.New(client.Config{Tunnels: []client.Tunnel{
		{Name: "there", Protocol: tunnel.HTTP, Host: "there.example.com", Target: l.Addr().String()},
		{Name: "gone", Protocol: tunnel.HTTP, Host: "gone.example.com", Target: "localhost:1", Dial: func(context.Context) (net.Conn, error) { return nil, gone }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	trials, err := c.Try(t.Context(), p.dial("a"))
	if err != nil || len(trials) != 2 || trials[0].Target != nil || !errors.Is(trials[1].Target, gone) || trials[0].Where != "there.example.com" || trials[1].Err != nil {
		t.Errorf("%+v, %v", trials, err)
	}
}

// dial connects under a name, and binds nothing.
func (p *pair) dial(agent string) *wire.Conn {
	p.T.Helper()
	conn, err := wire.Dial(p.T.Context(), "tcp", p.Link.Addr().String(), &wire.Config{Agent: agent, Mux: wire.NewMux(), Logger: silent})
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() })
	return conn
}
