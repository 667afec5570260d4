package client

import (
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// A client's default bounds suffice for everything that a server admits to one tunnel by default:
// otherwise connections that stay open would take the capacity for requests.
func TestDefaultsFitTogether(t *testing.T) {
	l := tunnel.Limits{}.WithDefaults()
	of, err := newTarget(Tunnel{Name: "web", Protocol: tunnel.HTTP, Target: "127.0.0.1:1"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := l.TunnelRequests + l.TunnelStreams; of.MaxInflight < want || defaultBudget < want*message.ExchangeBytes {
		t.Errorf("%d at a target, %d bytes; %d are let in, of %d bytes", of.MaxInflight, defaultBudget, want, message.ExchangeBytes)
	}
}

// A server without groups ignores the request for one, and the client logs it.
func TestGroupAtAnOldServer(t *testing.T) {
	w := &target{Tunnel: Tunnel{Name: "w", Group: "web"}}
	old := &message.BindAnswer{Results: []message.BindResult{{Where: "example.com"}, {Code: wire.AlreadyExists, Reason: "held"}}}
	var b Bound
	if b.take(w, old, 0); b.Err != nil || b.Group != "" {
		t.Errorf("%+v", b)
	}
	if b.take(w, old, 1); b.Err == nil || !strings.Contains(b.Err.Error(), "knows no groups") {
		t.Errorf("%+v", b)
	}
	old.Groups = true
	if b.take(w, old, 0); b.Group != "web" {
		t.Errorf("%+v", b)
	}
	if b.take(w, old, 1); strings.Contains(b.Err.Error(), "knows no groups") {
		t.Errorf("%+v", b)
	}
}
