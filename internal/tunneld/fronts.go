package tunneld

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"paddock/tunnel"
)

// kindFronts asks a server for the ports of its fronts, so that a client can print a URL. Without
// an answer it prints the host alone.
const kindFronts = "tunnel.fronts"

// fronts are the ports, 0 for none. SNI is that of visitors whose TLS is passed through;
// servers before it was there named it in HTTPS, also where they had no certificate.
type fronts struct {
	HTTP  int `cbor:"1,keyasint,omitempty"`
	HTTPS int `cbor:"2,keyasint,omitempty"`
	SNI   int `cbor:"3,keyasint,omitempty"`
}

func (r *Role) fronts() fronts {
	f := fronts{HTTP: portOf(r.HTTP()), SNI: portOf(r.TLS())}
	if r.HTTPS() {
		f.HTTPS = f.SNI
	}
	return f
}

// HTTPS reports whether visitors of HTTP tunnels can come by TLS: that takes an address and
// a certificate.
func (r *Role) HTTPS() bool { return r.tls != nil && r.options.Settings.Serve.Cert != "" }

func portOf(a net.Addr) int {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.Port
	}
	return 0
}

// where is the place at which visitors find a tunnel that is bound there: a URL for HTTP, else a
// host with a port.
func (f fronts) where(p tunnel.Protocol, bound string) string {
	switch {
	case p == tunnel.SNI:
		return withPort(bound, cmp.Or(f.SNI, f.HTTPS), 0)
	case p != tunnel.HTTP:
		return bound
	}
	end := strings.IndexByte(bound+"/", '/')
	host, path := bound[:end], bound[end:]
	if f.HTTPS != 0 {
		return "https://" + withPort(host, f.HTTPS, 443) + path
	}
	return "http://" + withPort(host, f.HTTP, 80) + path
}

// withPort adds a port to a host, unless it is unknown or the usual one.
func withPort(host string, port, usual int) string {
	if port == 0 || port == usual {
		return host
	}
	return host + ":" + strconv.Itoa(port)
}
