package server

import (
	"fmt"
	"net/http"
	"time"

	"paddock/internal/netio/h1"
)

// errNoHTTP2 is what a visitor is told who begins with the preface of HTTP/2 where there is
// none.
var errNoHTTP2 = h1.BadRequest(http.StatusHTTPVersionNotSupported, "HTTP/2 is off at this front")

// declined is what he gets: the SETTINGS with which a server begins, none, and GOAWAY with
// HTTP_1_1_REQUIRED and a word for people; RFC 9113 sections 3.4, 6.8 and 7.
var declined = func() []byte {
	const settings, goAway, http11Required, word = 4, 7, 0xd, "HTTP/1.1 is spoken here, and HTTP/2 is off"
	frame := func(kind byte, payload string) []byte {
		return append([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 0}, payload...)
	}
	return append(frame(settings, ""), frame(goAway, fmt.Sprintf("\x00\x00\x00\x00\x00\x00\x00%c%s", http11Required, word))...)
}()

// decline refuses HTTP/2 in its own words.
func (c *h1Conn) decline() {
	c.f.s.refused(Refusal{Reason: Malformed, Status: http.StatusHTTPVersionNotSupported, Peer: c.peer.String(), Err: errNoHTTP2})
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.f.s.limits.Stall))
	if _, err := c.conn.Write(declined); err == nil {
		c.linger()
	}
}

// protocols are those that visitors are offered when TLS begins.
func (s *Server) protocols() []string {
	if s.NoHTTP2 {
		return []string{"http/1.1"}
	}
	return []string{"h2", "http/1.1"}
}
