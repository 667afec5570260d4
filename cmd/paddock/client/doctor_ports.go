package client

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"paddock/internal/platform/doctor"
)

// portTimeout bounds an attempt to connect.
const portTimeout = 3 * time.Second

// port connects to an interface at the address that the server reports, as seen from here.
func (s *side) port(ctx context.Context, of string) doctor.Result {
	address, result := reachable(s.report.Addresses[of], s.answer.Request.URL.Hostname())
	if address == "" {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return doctor.Judge(doctor.Problem, fmt.Sprintf("%s cannot be reached: %v", address, err),
			fmt.Sprintf("let the firewall, the container (its published ports) or the load balancer pass the port, or look whether %s.listen is the address that clients use", of))
	}
	_ = conn.Close()
	return doctor.Judge(doctor.OK, address+" takes connections", "")
}

// reachable returns where a client that has reached a host reaches an interface, or the result of a
// check that cannot be made.
func reachable(reported, host string) (address string, result doctor.Result) {
	u, err := url.Parse(reported)
	if err != nil || u.Host == "" {
		if u != nil && u.Scheme == "unix" {
			return "", doctor.Skip("it listens on a socket of its machine, %s", reported)
		}
		return "", doctor.Skip("the server does not tell its address")
	}
	at, err := netip.ParseAddr(u.Hostname())
	here := isLoopback(host)
	switch {
	case err != nil: // a name
	case at.IsUnspecified():
		return net.JoinHostPort(host, u.Port()), result
	case at.IsLoopback() && !here:
		return "", doctor.Skip("it listens on loopback of its machine, %s, so that clients elsewhere do not reach it", u.Host)
	}
	return u.Host, result
}

func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}
