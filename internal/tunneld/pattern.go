package tunneld

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Covers reports whether a pattern of package hostname allows a client to bind host, which may
// be a pattern itself.
func Covers(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, wild := strings.CutPrefix(pattern, "*")
	if !wild || strings.HasPrefix(host, "*") {
		return false
	}
	first, found := strings.CutSuffix(host, suffix)
	return found && first != "" && !strings.Contains(first, ".")
}

// PortRange is where a client may listen.
type PortRange struct {
	Host        string // an address, or "" for those of all families
	First, Last uint16
}

// ParsePortRange reads host:port or host:first-last.
func ParsePortRange(s string) (r PortRange, err error) {
	host, ports, err := net.SplitHostPort(s)
	if err != nil {
		return r, fmt.Errorf("%q is not host:port or host:first-last", s)
	}
	first, last, ranged := strings.Cut(ports, "-")
	if !ranged {
		last = first
	}
	a, err1 := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if errors.Join(err1, err2) != nil || a == 0 || b < a {
		return r, fmt.Errorf("%q: ports are 1 to 65535, the first before the last", s)
	}
	if host != "" && host != "localhost" {
		if _, err := netip.ParseAddr(host); err != nil {
			return r, fmt.Errorf("%q: the host is an address or localhost", s)
		}
	}
	return PortRange{host, uint16(a), uint16(b)}, nil
}

// Covers reports whether a client may listen on host:port. Port 0, any that is free, needs
// a range that has them all.
func (r PortRange) Covers(address string) bool {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || !sameHost(r.Host, host) {
		return false
	}
	if port == 0 {
		return r.First == 1 && r.Last == 65535
	}
	return uint64(r.First) <= port && port <= uint64(r.Last)
}

// sameHost compares addresses, not how they are written.
func sameHost(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err1 == nil && err2 == nil && x.Unmap() == y.Unmap()
}

// String returns the form that ParsePortRange reads.
func (r PortRange) String() string {
	ports := strconv.Itoa(int(r.First))
	if r.Last != r.First {
		ports += "-" + strconv.Itoa(int(r.Last))
	}
	return net.JoinHostPort(r.Host, ports)
}
