package tunneld_test

import (
	"errors"
	"testing"
	"time"

	"paddock/internal/tunneld"
	"paddock/tunnel"
)

// Names that are not listed are not allowed, and a new list takes effect at once.
func TestRosterAllows(t *testing.T) {
	web := func(host string) tunnel.Binding { return tunnel.Binding{Protocol: tunnel.HTTP, Host: host} }
	tcp := func(address string) tunnel.Binding {
		return tunnel.Binding{Protocol: tunnel.TCP, Address: address}
	}
	r := tunneld.NewRoster([]tunneld.Peer{
		{Name: "bus", Hosts: []string{"bus.example", "*.bus.example"}, Ports: []tunneld.PortRange{{Host: "127.0.0.1", First: 20, Last: 29}}},
		{Name: "web", Hosts: []string{"web.example"}, Ports: []tunneld.PortRange{{Host: "127.0.0.1", First: 1, Last: 65535}}, Protocols: []tunnel.Protocol{"http"}, Groups: []string{"one"}},
		{Name: "past", Hosts: []string{"past.example"}, Expires: time.Now().Add(-time.Second)},
		{Name: "soon", Hosts: []string{"soon.example"}, Expires: time.Now().Add(time.Hour)},
	})
	for _, c := range []struct {
		who  string
		b    tunnel.Binding
		want bool
	}{
		{"bus", web("bus.example"), true},
		{"bus", web("a.bus.example"), true},
		{"bus", web("*.bus.example"), true},
		{"bus", web("web.example"), false},
		{"bus", tunnel.Binding{Protocol: tunnel.SNI, Host: "bus.example"}, true},
		{"bus", tcp("127.0.0.1:20"), true},
		{"bus", tcp("127.0.0.1:30"), false},
		{"bus", tcp("0.0.0.0:20"), false},
		{"web", web("web.example"), true},
		{"web", tcp("127.0.0.1:20"), false},
		{"web", tunnel.Binding{Protocol: tunnel.SNI, Host: "web.example"}, false},
		{"web", tunnel.Binding{Protocol: tunnel.HTTP, Host: "web.example", Group: "one"}, true},
		{"web", tunnel.Binding{Protocol: tunnel.HTTP, Host: "web.example", Group: "two"}, false},
		{"bus", tunnel.Binding{Protocol: tunnel.HTTP, Host: "bus.example", Group: "one"}, false},
		{"past", web("past.example"), false},
		{"soon", web("soon.example"), true},
		{"nobody", web("bus.example"), false},
		{"", web("bus.example"), false},
	} {
		err := r.Allow(c.who, c.b)
		if (err == nil) != c.want || err != nil && !errors.Is(err, tunnel.ErrDenied) {
			t.Errorf("%s, %v: %v", c.who, c.b, err)
		}
	}
	r.Replace(nil)
	if err := r.Allow("bus", web("bus.example")); !errors.Is(err, tunnel.ErrDenied) {
		t.Errorf("after he was taken off the list: %v", err)
	}
}
