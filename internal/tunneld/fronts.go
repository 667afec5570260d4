package tunneld

import (
	"cmp"
	"net"
	"strconv"
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

// name is where visitors find an SNI tunnel.
func (f fronts) name(host string) string {
	port := cmp.Or(f.SNI, f.HTTPS)
	if port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(port)
}

// url is where visitors find an HTTP tunnel.
func (f fronts) url(where string) string {
	scheme, port, usual := "http", f.HTTP, 80
	if f.HTTPS != 0 {
		scheme, port, usual = "https", f.HTTPS, 443
	}
	host, path := where, ""
	for i := range len(where) {
		if where[i] == '/' {
			host, path = where[:i], where[i:]
			break
		}
	}
	if port != 0 && port != usual {
		host += ":" + strconv.Itoa(port)
	}
	return scheme + "://" + host + path
}
