package tunneld

import (
	"net"
	"strconv"
)

// kindFronts asks a server at which ports its visitors come in, so that a client can
// print a URL. Without an answer it prints the host alone.
const kindFronts = "tunnel.fronts"

// fronts are the ports, 0 for none.
type fronts struct {
	HTTP  int `cbor:"1,keyasint,omitempty"`
	HTTPS int `cbor:"2,keyasint,omitempty"`
}

func (r *Role) fronts() fronts { return fronts{portOf(r.HTTP()), portOf(r.TLS())} }

func portOf(a net.Addr) int {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.Port
	}
	return 0
}

// name is where visitors find an SNI tunnel.
func (f fronts) name(host string) string {
	if f.HTTPS == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(f.HTTPS)
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
