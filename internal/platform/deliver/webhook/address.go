package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// AddressError refuses to dial an address.
type AddressError struct{ Addr netip.Addr }

func (e *AddressError) Error() string {
	return fmt.Sprintf("the address %v is not of the public internet: webhooks.allow in the configuration can allow it", e.Addr)
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

var (
	// special4 are the IPv4 blocks that are not of the public internet: the IANA registry of
	// special-purpose addresses (RFC 6890) and multicast. Link-local addresses include those of
	// clouds' metadata, and 100.64.0.0/10 some more of them.
	special4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	)
	// global6 is the IPv6 block of the public internet, and special6 are the parts of it that are
	// not: protocol assignments and Teredo, documentation, 6to4.
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
	// nat64 embeds an IPv4 address in its last four bytes (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// public reports whether an address is of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	special := special6
	if a.Is4() {
		special = special4
	} else if !global6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Network decides which addresses are dialled.
type Network struct {
	Allow    []netip.Prefix // beside the public internet
	Resolver *net.Resolver  // nil: the system's
}

// Check refuses an address, by an *AddressError.
func (n *Network) Check(a netip.Addr) error {
	if public(a) {
		return nil
	}
	a = a.Unmap().WithZone("")
	for _, p := range n.Allow {
		if p.Contains(a) {
			return nil
		}
	}
	return &AddressError{a}
}

// dialer returns a dialer that checks each address when it is dialled, behind the resolver: a name
// may have another address than a moment before.
func (n *Network) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: timeout, KeepAlive: time.Minute, Resolver: n.Resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%s %s: %w", network, address, err)
			}
			return n.Check(at.Addr())
		},
	}
}
