package access

import (
	"net"
	"net/netip"
	"strings"
)

// LocalName reports whether the host of a request, with or without a port, is an
// address or localhost. A service without credentials answers for no other name: a
// web page whose name was made to resolve to this machine (DNS rebinding) would
// otherwise be of the service's own origin. An empty host is no name.
func LocalName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
