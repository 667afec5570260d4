package server

import (
	"fmt"
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// As many tunnels as a client may have are bound, however long their names are.
func TestLongNamesAreBound(t *testing.T) {
	p := newPair(t, &Server{})
	var config client.Config
	label := strings.Repeat("a", 60)
	for i := range message.MaxTunnels {
		config.Tunnels = append(config.Tunnels, client.Tunnel{
			Name: fmt.Sprint(i), Protocol: tunnel.HTTP, Host: fmt.Sprintf("n%d.%s.%s.example.com", i, label, label), Target: "127.0.0.1:1", Auth: "user:password",
		})
	}
	c, _ := p.start(config, wire.ClientConfig{})
	p.Eventually("not bound", func() bool {
		for _, b := range c.Bindings() {
			if b.Err != nil {
				return false
			}
		}
		return true
	})
}
