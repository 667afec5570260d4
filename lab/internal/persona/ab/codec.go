package ab

import (
	"bytes"

	"paddock/load"
	"paddock/load/http1"
)

// codec is HTTP/1 that looks at the first answer for the name of the server.
type codec struct {
	http1.Codec
	server *string
	known  bool
}

// newCodec is for a run of one thread. server is set before its first request has ended.
func newCodec(r *Request, server *string) *codec {
	return &codec{Codec: http1.Codec{Requests: r}, server: server}
}

// Thread returns the state of the thread.
func (c *codec) Thread(part, of int) load.Thread { return &thread{c.Codec.Thread(part, of), c} }

type thread struct {
	load.Thread
	codec *codec
}

// Session returns the state of a connection, which looks at nothing once the name is known.
func (t *thread) Session() load.Session {
	if t.codec.known {
		return t.Thread.Session()
	}
	return &session{t.Thread.Session(), t.codec}
}

type session struct {
	load.Session
	codec *codec
}

// Receive implements load.Session. An incomplete head is passed again with more.
func (s *session) Receive(in []byte, answers *load.Answers) (int, error) {
	if !s.codec.known {
		s.codec.look(in)
	}
	return s.Session.Receive(in, answers)
}

// maxServer is how much of the server's name is shown.
const maxServer = 256

// look finds the name in a head, if it has come whole.
func (c *codec) look(in []byte) {
	head, _, whole := bytes.Cut(in, []byte("\r\n\r\n"))
	if !whole {
		return
	}
	c.known = true
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("server")) {
			value = bytes.TrimSpace(value)
			if end := bytes.IndexFunc(value, func(r rune) bool { return r <= ' ' }); end >= 0 {
				value = value[:end] // as ab cuts it
			}
			*c.server = string(value[:min(len(value), maxServer)])
			return
		}
	}
}
