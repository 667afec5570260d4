package busd

import (
	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// webSocket reads the block of the door for web pages.
func (d *decoder) webSocket(s *Settings, f *natsconf.Field) *bus.WebSocket {
	w := new(bus.WebSocket)
	noTLS, clean := false, len(d.problems)
	d.mapping(f, setters{
		"listen":            d.listen(&w.Host, &w.Port),
		"host":              d.text(&w.Host),
		"port":              d.port(&w.Port),
		"no_tls":            d.boolean(&noTLS),
		"tls":               func(f *natsconf.Field) { d.webSocketTLS(w, f) },
		"same_origin":       func(f *natsconf.Field) { s.sameOriginGiven = true; d.boolean(&w.SameOrigin)(f) },
		"allowed_origins":   d.texts(&w.AllowedOrigins),
		"handshake_timeout": d.seconds(&w.HandshakeTimeout),
		"compression":       d.boolean(&w.Compression),
	}.alias("net", "host", "compress", "compression", "allowed_origin", "allowed_origins", "allow_origins", "allowed_origins",
		"allow_origin", "allowed_origins", "origins", "allowed_origins", "origin", "allowed_origins",
	).
		with(d.missing, "advertise", "headers").
		with(d.silent, "ping_interval").
		with(d.refused, "authorization", "authentication", "no_auth_user", "jwt_cookie", "user_cookie", "pass_cookie", "token_cookie"))
	switch {
	case len(d.problems) > clean || w.Port == 0: // no port: off, as in the reference
		return nil
	case w.TLS == nil && !noTLS:
		d.fail(f.Pos, "websocket requires TLS configuration")
	}
	return w
}

func (d *decoder) webSocketTLS(w *bus.WebSocket, f *natsconf.Field) {
	t := d.tlsBlock(f)
	if t == nil {
		return
	}
	if t.MapUsers || len(t.PinnedCerts) > 0 {
		d.fail(f.Pos, "verify_and_map and pinned_certs are not supported for websocket")
	}
	w.TLS = t.Config
}
