package inspector

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a connection that is listened in on: what is written to it and read from it goes
// to a reader of requests and one of answers too, each with its goroutine.
type conn struct {
	net.Conn
	inspector *Inspector
	tunnel    string
	replayOf  uint64
	up, down  *io.PipeWriter

	asked    chan *exchange // whose answer is awaited, from requests to answers; one at a time, and a body need not wait for its answer
	switched chan bool      // whether an upgrade was granted, from answers to requests
	over     chan struct{}  // closed when one of the two has ended: the other waits for it no more
	end      sync.Once
	left     atomic.Int32 // of the two, those that have not ended
}

func (i *Inspector) listenIn(inner net.Conn, tunnel string, replayOf uint64) *conn {
	c := &conn{
		Conn: inner, inspector: i, tunnel: tunnel, replayOf: replayOf,
		asked: make(chan *exchange, 1), switched: make(chan bool, 1), over: make(chan struct{}),
	}
	up, down := (*io.PipeReader)(nil), (*io.PipeReader)(nil)
	up, c.up = io.Pipe()
	down, c.down = io.Pipe()
	i.parsers.Add(2)
	c.left.Store(2)
	go func() { // ends with the connection, or where it is no HTTP
		defer i.parsers.Done()
		c.requests(bufio.NewReader(up))
		_ = up.Close() // what is still written is not looked at, and does not wait for that
		c.parsed()
	}()
	go func() { // likewise
		defer i.parsers.Done()
		c.answers(bufio.NewReader(down))
		_ = down.Close()
		c.parsed()
	}()
	return c
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		_, _ = c.down.Write(p[:n])
	}
	if errors.Is(err, io.EOF) {
		_ = c.down.Close()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		_, _ = c.up.Write(p[:n])
	}
	return n, err
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	_ = c.up.Close()
	_ = c.down.Close()
	c.finish()
	return err
}

// parsed ends one of the two; the last one ends what nobody answers.
func (c *conn) parsed() {
	c.finish()
	if c.left.Add(-1) == 0 {
		c.nobody()
	}
}

// finish has nobody wait any more.
func (c *conn) finish() { c.end.Do(func() { close(c.over) }) }

// CloseWrite ends what is written.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetLinger is that of TCP.
func (c *conn) SetLinger(seconds int) error {
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return l.SetLinger(seconds)
	}
	return errors.ErrUnsupported
}

// requests reads what is written to the service.
func (c *conn) requests(in *bufio.Reader) {
	for {
		head, err := readHead(in)
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
		if err != nil {
			return
		}
		x := &exchange{
			tunnel: c.tunnel, replayOf: c.replayOf, method: r.Method, target: r.RequestURI, host: r.Host,
			upgrades: r.Header.Get("Upgrade") != "", request: message{head: head},
		}
		c.inspector.begin(x)
		select {
		case c.asked <- x:
		default: // a second request before the first one's answer: nobody of ours does that
			c.inspector.end(x, "sent before the answer to the one before")
			return
		}
		body := io.Reader(io.LimitReader(in, max(r.ContentLength, 0)))
		chunked := len(r.TransferEncoding) > 0
		if chunked {
			body = httputil.NewChunkedReader(in)
		}
		if c.inspector.read(x, &x.request, body, chunked, in) != nil || x.upgrades && c.isSwitched() {
			return
		}
	}
}

// isSwitched waits until it is known whether what follows is another protocol.
func (c *conn) isSwitched() bool {
	select {
	case switched := <-c.switched:
		return switched
	case <-c.over:
		return true
	}
}

// answers reads what the service says.
func (c *conn) answers(in *bufio.Reader) {
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		x := c.next()
		if x == nil || !c.answer(x, in) {
			return
		}
	}
}

// next is the request that is answered, nil if there will be none.
func (c *conn) next() *exchange {
	select {
	case x := <-c.asked:
		return x
	case <-c.over:
	}
	select {
	case x := <-c.asked:
		return x
	default:
		return nil
	}
}

// nobody ends the exchange that waits for an answer which does not come.
func (c *conn) nobody() {
	select {
	case x := <-c.asked:
		c.inspector.end(x, "the connection ended before the answer")
	default:
	}
}

// answer reads one, and says whether another may follow.
func (c *conn) answer(x *exchange, in *bufio.Reader) bool {
	head, err := readHead(in)
	if err != nil {
		c.inspector.end(x, "no HTTP/1.1")
		return false
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: x.method})
	if err != nil {
		c.inspector.end(x, "no HTTP/1.1")
		return false
	}
	c.inspector.answered(x, head, r.StatusCode)
	switch {
	case r.StatusCode == http.StatusSwitchingProtocols:
		c.inspector.end(x, "")
		c.switched <- true
		return false
	case r.StatusCode < 200:
		return c.answer(x, in)
	case x.upgrades:
		c.switched <- false
	}
	body, chunked := io.Reader(in), len(r.TransferEncoding) > 0 && r.ContentLength < 0
	switch {
	case x.method == http.MethodHead, r.StatusCode == http.StatusNoContent, r.StatusCode == http.StatusNotModified:
		body = io.LimitReader(in, 0)
	case chunked:
		body = httputil.NewChunkedReader(in)
	case r.ContentLength >= 0:
		body = io.LimitReader(in, r.ContentLength)
	}
	if err := c.inspector.read(x, &x.answer, body, chunked, in); err != nil {
		c.inspector.end(x, "the answer was cut")
		return false
	}
	fault := ""
	if r.ContentLength > 0 && x.method != http.MethodHead && c.inspector.short(x, r.ContentLength) {
		fault = "the answer was cut"
	}
	c.inspector.end(x, fault)
	return fault == ""
}

// read takes a body in, and behind chunks the trailers.
func (i *Inspector) read(x *exchange, m *message, body io.Reader, chunked bool, in *bufio.Reader) error {
	piece := make([]byte, 4<<10)
	for {
		n, err := body.Read(piece)
		i.note(x, func() { m.keep(piece[:n]) })
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if chunked {
			if _, err := readHead(in); err != nil {
				return err
			}
		}
		i.note(x, func() { m.whole = true })
		return nil
	}
}

// answered notes the head of an answer; that of an interim one is replaced by the next.
func (i *Inspector) answered(x *exchange, head []byte, status int) {
	i.note(x, func() { x.answer.head, x.status, x.toHead = head, status, time.Since(x.began) })
}

// short says whether less of the answer has come than its head said.
func (i *Inspector) short(x *exchange, length int64) (short bool) {
	i.note(x, func() { short = x.answer.bytes < length })
	return short
}

var errLong = errors.New("inspector: a head without an end")

// readHead reads up to the empty line.
func readHead(in *bufio.Reader) ([]byte, error) {
	var head []byte
	for {
		line, err := in.ReadSlice('\n')
		head = append(head, line...)
		switch {
		case len(head) > maxHead:
			return nil, errLong
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		case len(bytes.TrimRight(line, "\r\n")) == 0 && (len(head) == len(line) || bytes.HasSuffix(head[:len(head)-len(line)], []byte("\n"))):
			return head, nil
		}
	}
}
