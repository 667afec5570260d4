package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/tunnel"
	"paddock/tunnel/client"
)

// h2Case is a request of HTTP/2 as it is written: fields in their order, then the body.
type h2Case struct {
	name   string
	fields []string // name, value, name, value
	body   string   // no frame of it if empty
	late   []string // trailers
	seen   string   // as the service receives it; "": the request is refused
}

// pseudo are the fields with which a request begins.
func pseudo(method, path, authority string, more ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":path", path, ":authority", authority}, more...)
}

var h2Cases = []h2Case{
	{name: "plain", fields: pseudo("GET", "/a?b", "example.com"), seen: `GET /a?b ""`},
	{name: "host alone", fields: []string{":method", "GET", ":scheme", "http", ":path", "/", "host", "example.com"}, seen: `GET / ""`},
	{name: "same host", fields: pseudo("GET", "/", "example.com", "host", "EXAMPLE.com"), seen: `GET / ""`},
	{name: "body", fields: pseudo("POST", "/", "example.com"), body: "body", seen: `POST / "body"`},
	{name: "length", fields: pseudo("POST", "/", "example.com", "content-length", "4"), body: "body", seen: `POST / "body"`},
	{name: "trailers", fields: pseudo("POST", "/", "example.com", "te", "trailers"), body: "body", late: []string{"x-sum", "1"}, seen: `POST / "body"`},
	{name: "escapes", fields: pseudo("GET", "/a%0d%0aHost:%20b", "example.com"), seen: `GET /a%0d%0aHost:%20b ""`},
	{name: "cookies", fields: pseudo("GET", "/", "example.com", "cookie", "a=b", "cookie", "c=d"), seen: `GET / ""`},

	{name: "other host", fields: pseudo("GET", "/", "example.com", "host", "example.org")},
	{name: "two hosts", fields: pseudo("GET", "/", "example.com", "host", "example.com", "host", "example.org")},
	{name: "no authority", fields: []string{":method", "GET", ":scheme", "http", ":path", "/"}},
	{name: "authority CRLF", fields: pseudo("GET", "/", "example.com\r\nX: y")},
	{name: "authority user", fields: pseudo("GET", "/", "u@example.com")},
	{name: "authority path", fields: pseudo("GET", "/", "example.com/a")},
	{name: "authority space", fields: pseudo("GET", "/", "example.com example.org")},
	{name: "no path", fields: []string{":method", "GET", ":scheme", "http", ":authority", "example.com"}},
	{name: "empty path", fields: pseudo("GET", "", "example.com")},
	{name: "relative path", fields: pseudo("GET", "a", "example.com")},
	{name: "absolute path", fields: pseudo("GET", "http://example.com/x", "example.com")},
	{name: "absolute path elsewhere", fields: pseudo("GET", "http://other/x", "example.com")},
	{name: "star", fields: pseudo("GET", "*", "example.com")},
	{name: "path space", fields: pseudo("GET", "/ HTTP/1.1", "example.com")},
	{name: "path CRLF", fields: pseudo("GET", "/ HTTP/1.1\r\nHost: b\r\n\r\n", "example.com")},
	{name: "path NUL", fields: pseudo("GET", "/\x00", "example.com")},
	{name: "path fragment", fields: pseudo("GET", "/#a", "example.com")},
	{name: "path twice", fields: pseudo("GET", "/", "example.com", ":path", "/b")},
	{name: "no method", fields: []string{":scheme", "http", ":path", "/", ":authority", "example.com"}},
	{name: "method space", fields: pseudo("GET /b HTTP/1.1", "/", "example.com")},
	{name: "method CRLF", fields: pseudo("GET\r\n", "/", "example.com")},
	{name: "method empty", fields: pseudo("", "/", "example.com")},
	{name: "CONNECT", fields: []string{":method", "CONNECT", ":authority", "example.com:80"}},
	{name: "no scheme", fields: []string{":method", "GET", ":path", "/", ":authority", "example.com"}},
	{name: "pseudo late", fields: []string{":method", "GET", ":scheme", "http", "x", "y", ":path", "/", ":authority", "example.com"}},
	{name: "pseudo unknown", fields: pseudo("GET", "/", "example.com", ":x", "y")},
	{name: "pseudo of an answer", fields: pseudo("GET", "/", "example.com", ":status", "200")},

	{name: "name upper case", fields: pseudo("GET", "/", "example.com", "X-Upper", "y")},
	{name: "name colon", fields: pseudo("GET", "/", "example.com", "x:y", "z")},
	{name: "name space", fields: pseudo("GET", "/", "example.com", "x y", "z")},
	{name: "name CRLF", fields: pseudo("GET", "/", "example.com", "x\r\ny", "z")},
	{name: "name NUL", fields: pseudo("GET", "/", "example.com", "x\x00", "z")},
	{name: "name high", fields: pseudo("GET", "/", "example.com", "x\xff", "z")},
	{name: "name empty", fields: pseudo("GET", "/", "example.com", "", "z")},
	{name: "value CR", fields: pseudo("GET", "/", "example.com", "x", "a\rb")},
	{name: "value LF", fields: pseudo("GET", "/", "example.com", "x", "a\nb")},
	{name: "value CRLF", fields: pseudo("GET", "/", "example.com", "x", "a\r\nTransfer-Encoding: chunked")},
	{name: "value NUL", fields: pseudo("GET", "/", "example.com", "x", "a\x00")},
	{name: "connection", fields: pseudo("GET", "/", "example.com", "connection", "close")},
	{name: "keep-alive", fields: pseudo("GET", "/", "example.com", "keep-alive", "timeout=5")},
	{name: "transfer-encoding", fields: pseudo("POST", "/", "example.com", "transfer-encoding", "chunked"), body: "0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"},
	{name: "upgrade", fields: pseudo("GET", "/", "example.com", "upgrade", "websocket")},
	{name: "te", fields: pseudo("GET", "/", "example.com", "te", "gzip")},

	{name: "length short", fields: pseudo("POST", "/", "example.com", "content-length", "3"), body: "body"},
	{name: "length long", fields: pseudo("POST", "/", "example.com", "content-length", "5"), body: "body"},
	{name: "length long and large", fields: pseudo("POST", "/", "example.com", "content-length", "50000"), body: "body"},
	{name: "length no body", fields: pseudo("POST", "/", "example.com", "content-length", "5")},
	{name: "length twice", fields: pseudo("POST", "/", "example.com", "content-length", "4", "content-length", "5"), body: "body"},
	{name: "length plus", fields: pseudo("POST", "/", "example.com", "content-length", "+4"), body: "body"},
	{name: "length list", fields: pseudo("POST", "/", "example.com", "content-length", "4, 4"), body: "body"},
	{name: "trailers pseudo", fields: pseudo("POST", "/", "example.com"), body: "body", late: []string{":path", "/b"}},
}

// bodyBehindNone has a body although it announces none. Whether net/http or the front notices first
// is not certain: the request may have been forwarded then, without the body.
var bodyBehindNone = h2Case{name: "length 0", fields: pseudo("POST", "/", "example.com", "content-length", "0"), body: "GET /smuggled HTTP/1.1\r\n\r\n"}

// Input over HTTP/2 is refused, or reaches the service as one request of HTTP/1.1: no field and no
// body becomes another line or another request.
func TestHostileHTTP2(t *testing.T) {
	service := &recorder{}
	backend := httptest.NewServer(service)
	t.Cleanup(backend.Close)
	p := newPair(t, &Server{})
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: backend.Listener.Addr().String()}}})
	for _, c := range h2Cases {
		got, err := c.ask(t, p.Front.Addr().String())
		seen := strings.Join(service.take(), "\n")
		switch {
		case seen != c.seen:
			t.Errorf("%s: the service sees %q, want %q", c.name, seen, c.seen)
		case c.seen != "" && (err != nil || got != "200"):
			t.Errorf("%s: %s, %v", c.name, got, err)
		case c.seen == "" && err == nil && got < "400":
			t.Errorf("%s: answered %s", c.name, got)
		}
	}
	_, _ = bodyBehindNone.ask(t, p.Front.Addr().String())
	if seen := strings.Join(service.take(), "\n"); seen != "" && seen != `POST / ""` {
		t.Errorf("%s: the service sees %q", bodyBehindNone.name, seen)
	}
}

// errRefused is an end of the stream or the connection in place of an answer.
var errRefused = errors.New("refused")

// ask sends the request over a connection of its own and returns the status of its answer.
func (c *h2Case) ask(t *testing.T, address string) (status string, err error) {
	conn := dialTCP(t, address)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(&out, conn), hpack.NewEncoder(&block)
	framer.AllowIllegalWrites = true
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	write := func(fields []string, end bool) {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
	}
	_ = framer.WriteSettings()
	write(c.fields, c.body == "")
	if c.body != "" {
		_ = framer.WriteData(1, c.late == nil, []byte(c.body))
	}
	if c.late != nil {
		write(c.late, true)
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		return "", err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return status, fmt.Errorf("%w: %w", errRefused, err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			status = f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return status, fmt.Errorf("%w: %v", errRefused, f.ErrCode)
		case *http2.GoAwayFrame:
			return status, fmt.Errorf("%w: %v", errRefused, f.ErrCode)
		}
		if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			return status, nil
		}
	}
}
