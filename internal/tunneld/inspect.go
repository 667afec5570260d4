package tunneld

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"

	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld/inspector"
	"paddock/tunnel/client"
)

// inspect routes the connections to the target of an HTTP tunnel through the inspector. For a
// target with TLS the handshake is made here, so that the inspector sees plain HTTP/1.1. Targets of
// h2c are left as they are.
func inspect(i *inspector.Inspector, t client.Tunnel) (client.Tunnel, error) {
	address, secured, dialer := t.Target, (*tls.Config)(nil), new(net.Dialer)
	if strings.Contains(t.Target, "://") {
		u, err := url.Parse(t.Target)
		if err != nil {
			return t, fmt.Errorf("tunnel %s: %w", t.Name, err)
		}
		if u.Scheme == "h2c" {
			return t, nil
		}
		port := "80"
		if u.Scheme == "https" {
			port = "443"
			if secured = t.TLS.Clone(); secured == nil {
				secured = &tls.Config{MinVersion: tls.VersionTLS12}
			}
			secured.ServerName, secured.NextProtos = cmp.Or(secured.ServerName, u.Hostname()), []string{"http/1.1"}
		}
		address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
		if secured != nil {
			u.Scheme, u.Host = "http", address
			t.Target = u.String()
		}
	}
	if address != "" && strings.Trim(address, "0123456789") == "" {
		address = "localhost:" + address
	}
	t.Dial = i.Dial(t.Name, func(ctx context.Context) (net.Conn, error) {
		if secured != nil {
			return (&tls.Dialer{NetDialer: dialer, Config: secured}).DialContext(ctx, "tcp", address)
		}
		return dialer.DialContext(ctx, "tcp", address)
	})
	return t, nil
}

// ServeInspector adds the page of the requests to g, if the settings have an address for
// it, and returns where it is: on this machine alone.
func (c *Client) ServeInspector(ctx context.Context, g *lifecycle.Group) (net.Addr, error) {
	if c.inspector == nil {
		return nil, nil
	}
	l, err := listen.Listen(ctx, c.options.Settings.Connect.Inspect, false)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	g.Add(serveHTTP("tunnel inspector", l, c.inspector.Handler(), 6*requestTime, c.log))
	return l.Addr(), nil
}
