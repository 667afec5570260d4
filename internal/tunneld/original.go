package tunneld

import (
	"net"
	"strconv"
	"time"

	"paddock/internal/process/strictyaml"
)

// originalTunnel are the keys of a tunnel in a file of go-http-tunnel.
var originalTunnel = []string{"proto", "addr", "auth", "host", "remote_addr"}

// readOriginal reads a file of go-http-tunnel unchanged, with that program's defaults. The caller
// implements two of them: without root_ca the first key that the server shows is pinned, and
// max_time ends the client.
func (s *Settings) readOriginal(entries []strictyaml.Entry) {
	s.Connect.Cert, s.Connect.Key = "client.crt", "client.key"
	s.Backoff = Backoff{Interval: 500 * time.Millisecond, MaxInterval: time.Minute, MaxTime: 15 * time.Minute}
	multiplier := 1.5
	known := strictyaml.Fields{
		"server_addr": strictyaml.Into(&s.Connect.Server, serverAddress),
		"tls_crt":     strictyaml.Into(&s.Connect.Cert, strictyaml.NonEmpty),
		"tls_key":     strictyaml.Into(&s.Connect.Key, strictyaml.NonEmpty),
		"root_ca":     strictyaml.Into(&s.Connect.RootCA, text),
		"tunnels": func(e strictyaml.Entry) {
			for _, t := range e.Value.Entries(e.Key) {
				s.readTunnel(t, originalTunnel)
			}
		},
		"backoff": func(e strictyaml.Entry) {
			fields := backoffKeys(&s.Backoff).fields()
			fields["multiplier"] = strictyaml.Into(&multiplier, factor) // full jitter takes its place
			fields.Read(e.Value, e.Key)
		},
	}
	known.Take(entries)
	for _, key := range []string{"server_addr", "tunnels"} {
		if !has(entries, key) {
			entries[0].At.Fault("the file needs %s", key)
		}
	}
}

// originalPort is the one of the server that is meant where none is given.
const originalPort = "5223"

// serverAddress takes a host with or without a port.
func serverAddress(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil && s != "" {
		s = net.JoinHostPort(s, originalPort)
	}
	return address(s)
}

func factor(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && !(f >= 1) {
		err = strconv.ErrRange
	}
	return f, err
}
