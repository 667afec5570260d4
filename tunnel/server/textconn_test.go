package server

import (
	"io"
	"net"
	"time"
)

// textConn is a connection on which a text has come, and then its end.
type textConn struct {
	net.Conn
	text []byte
}

func (c *textConn) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text)
	c.text = c.text[n:]
	return n, nil
}

func (c *textConn) Write(p []byte) (int, error)     { return len(p), nil }
func (c *textConn) RemoteAddr() net.Addr            { return &net.TCPAddr{} }
func (c *textConn) SetReadDeadline(time.Time) error { return nil }
