package gofence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// dialTimeout is how long a server may take to accept.
	dialTimeout = 10 * time.Second
	// connBuffer holds the head of any answer, and most answers whole.
	connBuffer = 16 << 10
)

// Post renders a request with a JSON body.
func Post(host, path string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, host, len(body))
	return append([]byte(head), body...)
}

// Conn is an HTTP/1.1 connection that stays open, with as little as can be between
// the load and the socket: it understands answers with a Content-Length alone. It
// belongs to one goroutine.
type Conn struct {
	nc net.Conn
	in *bufio.Reader
}

// Dial connects to host:port.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	nc, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{nc, bufio.NewReaderSize(nc, connBuffer)}, nil
}

// Close closes the connection; an exchange in another goroutine fails then.
func (c *Conn) Close() error { return c.nc.Close() }

// Exchange sends a rendered request and drops the answer's body. An answer other than
// 200 is an error with its first line and body.
func (c *Conn) Exchange(request []byte) error {
	if _, err := c.nc.Write(request); err != nil {
		return err
	}
	status, length, err := c.head()
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(c.in, min(length, 512))) // as much as there is
		return fmt.Errorf("answer %d: %q", status, text)
	}
	_, err = c.in.Discard(int(length))
	return err
}

var contentLength = []byte("content-length:")

// head reads a status line and a header. It is not internal/netio/h1, because it reads from a
// buffered reader and needs the status and the length alone.
func (c *Conn) head() (status int, length int64, err error) {
	line, err := c.line()
	if err != nil {
		return 0, 0, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, 0, fmt.Errorf("a status line of %.40q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, fmt.Errorf("a status line of %.40q", line)
	}
	length = -1
	for {
		if line, err = c.line(); err != nil {
			return 0, 0, err
		}
		if len(line) == 0 {
			break
		}
		if n := len(contentLength); len(line) > n && bytes.EqualFold(line[:n], contentLength) {
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(line[n:])), 10, 32); err != nil || length < 0 {
				return 0, 0, fmt.Errorf("a header of %.40q", line)
			}
		}
	}
	if length < 0 {
		return 0, 0, errors.New("an answer without Content-Length")
	}
	return status, length, nil
}

// line is the next line without its end, borrowed until the next read.
func (c *Conn) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
