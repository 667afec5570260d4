package tunneld

import "paddock/internal/process/strictyaml"

// elsewhere maps the keys of a server with a link of its own to the setting that replaces each if
// another program owns the link.
var elsewhere = map[string]string{
	"listen":      "clients come to wire.listen here",
	"key":         "clients know the platform by the key of wire.cert",
	"plaintext":   "without wire.cert the link is plain text, on this machine alone",
	"admin":       "the metrics are among those of http.listen",
	"admin_token": "the metrics are among those of http.listen, behind http.token",
}

// ServerSide are the entries of the section for a process in which the link is another
// one's: serve and clients.
func (s *Settings) ServerSide() strictyaml.Fields {
	serve := s.serveKeys().fields()
	for key, why := range elsewhere {
		serve[key] = func(e strictyaml.Entry) { e.At.Fault("serve.%s has no place here: %s", key, why) }
	}
	side := strictyaml.Fields{
		"serve":   func(e strictyaml.Entry) { s.readServe(e, serve) },
		"clients": s.fields()["clients"],
	}
	for _, key := range []string{"connect", "tunnels", "backoff"} {
		side[key] = func(e strictyaml.Entry) {
			e.At.Fault("%s is a client's, and this is the server: see \"paddock agent\" and \"paddock tunnel start\"", key)
		}
	}
	return side
}
