package doors

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/platform/position"
)

// HTTP posts positions as lines of JSON. Each connection has one request under way.
func (s *Sender) HTTP(ctx context.Context, address string, fleets []*Fleet, l Load) (Window, error) {
	return s.feed(ctx, func(ctx context.Context, _ int) (connection, error) {
		c, err := dialPlain(ctx, address)
		return &httpConn{plainConn: c, host: address}, err
	}, 1, fleets, l)
}

// plainConn is a TCP connection that ends with a context.
type plainConn struct {
	net.Conn
	in      *bufio.Reader
	release func() bool
}

func dialPlain(ctx context.Context, address string) (*plainConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newPlain(ctx, c, bufio.NewReaderSize(c, 64<<10)), nil
}

func newPlain(ctx context.Context, c net.Conn, in *bufio.Reader) *plainConn {
	return &plainConn{c, in, context.AfterFunc(ctx, func() { _ = c.Close() })}
}

func (c *plainConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// httpConn is a connection of an HTTP client.
type httpConn struct {
	*plainConn
	host       string
	body, head []byte
}

func (c *httpConn) encode(positions []position.Position) error {
	c.body = c.body[:0]
	for i := range positions {
		c.body = append(appendJSON(append(c.body, `{"id":`...), &positions[i], true), '\n')
	}
	c.head = fmt.Appendf(c.head[:0], "POST /v1/positions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n",
		c.host, len(c.body))
	return nil
}

// appendJSON writes the members of a position, from the value of id on if the name is wanted.
func appendJSON(dst []byte, p *position.Position, id bool) []byte {
	if id {
		dst = append(strconv.AppendQuote(dst, p.ID), ',')
		if p.Fleet != "" {
			dst = append(strconv.AppendQuote(append(dst, `"fleet":`...), p.Fleet), ',')
		}
	}
	dst = strconv.AppendInt(append(dst, `"t":`...), p.Time, 10)
	dst = strconv.AppendFloat(append(dst, `,"lon":`...), p.Lon, 'f', 7, 64)
	return append(strconv.AppendFloat(append(dst, `,"lat":`...), p.Lat, 'f', 7, 64), '}')
}

func (c *httpConn) post(context.Context) (uint64, error) {
	both := net.Buffers{c.head, c.body}
	_, err := both.WriteTo(c.Conn)
	return 0, err
}

func (c *httpConn) await(context.Context, batch) error { return ReadAnswer(c, c.in) }

// ReadAnswer reads an answer, which must be 200.
func ReadAnswer(c net.Conn, in *bufio.Reader) error {
	if err := c.SetReadDeadline(time.Now().Add(AnswerWithin)); err != nil {
		return err
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s", answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
