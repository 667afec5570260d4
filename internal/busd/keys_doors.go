package busd

import (
	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// doorKeys adds what says how clients come in.
func (d *decoder) doorKeys(table map[string]setter, s *Settings) {
	table["tls"] = func(f *natsconf.Field) { s.Bus.TLS = d.tlsBlock(f) }
	table["allow_non_tls"] = d.boolean(&s.allowNonTLS)
	table["websocket"] = func(f *natsconf.Field) { s.Bus.WebSocket = d.webSocket(s, f) }
	alias(table, "ws", "websocket")
}

// webSocket reads the block of the door for web pages.
func (d *decoder) webSocket(s *Settings, f *natsconf.Field) *bus.WebSocket {
	w := new(bus.WebSocket)
	noTLS, clean := false, len(d.problems)
	d.mapping(f, alias(map[string]setter{
		"listen":            d.listen(&w.Host, &w.Port),
		"host":              d.text(&w.Host),
		"port":              d.port(&w.Port),
		"no_tls":            d.boolean(&noTLS),
		"tls":               func(f *natsconf.Field) { d.webSocketTLS(w, f) },
		"same_origin":       func(f *natsconf.Field) { s.sameOriginGiven = true; d.boolean(&w.SameOrigin)(f) },
		"allowed_origins":   d.texts(&w.AllowedOrigins),
		"handshake_timeout": d.seconds(&w.HandshakeTimeout),
		"compression":       d.boolean(&w.Compression),
		"advertise":         d.missing,
		"headers":           d.missing,
		"ping_interval":     d.silent,
		"authorization":     d.refused,
		"authentication":    d.refused,
		"no_auth_user":      d.refused,
		"jwt_cookie":        d.refused,
		"user_cookie":       d.refused,
		"pass_cookie":       d.refused,
		"token_cookie":      d.refused,
	}, "net", "host", "compress", "compression", "allowed_origin", "allowed_origins", "allow_origins", "allowed_origins",
		"allow_origin", "allowed_origins", "origins", "allowed_origins", "origin", "allowed_origins"))
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
