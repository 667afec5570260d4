package inspector

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// conn is an inspected connection. Bytes written to it and read from it are copied to a reader of
// requests and a reader of answers, each with its goroutine.
type conn struct {
	net.Conn
	inspector *Inspector
	tunnel    string
	replayOf  uint64
	up, down  *io.PipeWriter

	// asked passes the exchanges that await answers from requests to answers, one at a time. A body
	// need not wait for its answer.
	asked    chan *exchange
	switched chan bool // whether an upgrade was granted, from answers to requests

	// Each is closed by the one of the two that has ended: the other waits for it no more.
	requestsOver, answersOver chan struct{}
}

func (i *Inspector) listenIn(inner net.Conn, tunnel string, replayOf uint64) *conn {
	up, written := io.Pipe()
	down, read := io.Pipe()
	c := &conn{
		Conn: inner, inspector: i, tunnel: tunnel, replayOf: replayOf, up: written, down: read,
		asked: make(chan *exchange, 1), switched: make(chan bool, 1),
		requestsOver: make(chan struct{}), answersOver: make(chan struct{}),
	}
	i.parsers.Go(func() { // ends with the connection, or where it is no HTTP
		c.requests(bufio.NewReader(up))
		_ = up.Close() // later writes are not inspected, and do not wait for the inspector
		close(c.requestsOver)
	})
	i.parsers.Go(func() { // likewise
		c.answers(bufio.NewReader(down))
		_ = down.Close()
		close(c.answersOver)
		<-c.requestsOver
		c.noAnswerCame()
	})
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
	return err
}

// CloseWrite ends the written direction.
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

// NetConn returns the inspected connection, so that callers can ask it whether it is still open.
func (c *conn) NetConn() net.Conn { return c.Conn }

const noAnswer = "the connection ended before the answer"

// requests reads the bytes that are written to the service.
func (c *conn) requests(in *bufio.Reader) {
	for {
		head, err := readHead(in)
		if err != nil {
			return
		}
		x, length, err := newExchange(c.tunnel, head)
		if err != nil {
			return
		}
		x.replayOf = c.replayOf
		c.inspector.begin(x)
		if !c.await(x) {
			c.inspector.end(x, noAnswer)
			return
		}
		if c.inspector.read(x, &x.request, length, in) != nil || x.upgrades && c.isSwitched() {
			return
		}
	}
}

// newExchange reads the head of a request, and returns how long the body behind it is.
func newExchange(tunnel string, head []byte) (x *exchange, length int64, err error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return nil, 0, err
	}
	length = max(r.ContentLength, 0)
	if len(r.TransferEncoding) > 0 {
		length = inChunks
	}
	return &exchange{
		tunnel: tunnel, method: r.Method, target: r.RequestURI, host: r.Host,
		upgrades: r.Header.Get("Upgrade") != "", request: message{head: head},
	}, length, nil
}

// Failed keeps an exchange for which there was no connection to the service. request holds its
// head, and the body or the beginning of it.
func (i *Inspector) Failed(tunnel string, request []byte, fault string) {
	in := bufio.NewReader(bytes.NewReader(request))
	head, err := readHead(in)
	if err != nil {
		return
	}
	x, length, err := newExchange(tunnel, head)
	if err != nil {
		return
	}
	i.begin(x)
	_ = i.read(x, &x.request, length, in) // an incomplete body is kept as incomplete
	i.end(x, fault)
}

// await has answers wait for that to a request, and reports whether it takes it. It may have
// the one before still, whose end has been read already but not looked at.
func (c *conn) await(x *exchange) bool {
	select {
	case c.asked <- x:
		return true
	default:
	}
	select {
	case c.asked <- x:
		return true
	case <-c.answersOver:
		return false
	}
}

// isSwitched waits until the answer decides whether the following bytes are another protocol.
func (c *conn) isSwitched() bool {
	select {
	case switched := <-c.switched:
		return switched
	case <-c.answersOver:
		return true
	}
}

// answers reads the bytes that the service sends.
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
	case <-c.requestsOver:
	}
	select {
	case x := <-c.asked:
		return x
	default:
		return nil
	}
}

// noAnswerCame ends the exchange whose answer does not come.
func (c *conn) noAnswerCame() {
	select {
	case x := <-c.asked:
		c.inspector.end(x, noAnswer)
	default:
	}
}

// answer reads one, and reports whether another may follow.
func (c *conn) answer(x *exchange, in *bufio.Reader) bool {
	r, err := c.answerHead(x, in)
	if err != nil {
		c.inspector.end(x, "no HTTP/1.1")
		return false
	}
	if r.StatusCode == http.StatusSwitchingProtocols {
		c.inspector.end(x, "")
		c.switched <- true
		return false
	}
	if x.upgrades {
		c.switched <- false
	}
	length := r.ContentLength // -1, untilEnd, if the head has none
	switch {
	case x.method == http.MethodHead, r.StatusCode == http.StatusNoContent, r.StatusCode == http.StatusNotModified:
		length = 0
	case len(r.TransferEncoding) > 0:
		length = inChunks
	}
	if err := c.inspector.read(x, &x.answer, length, in); err != nil {
		c.inspector.end(x, "the answer was cut")
		return false
	}
	c.inspector.end(x, "")
	return true
}

// answerHead reads heads up to the one that is no interim answer.
func (c *conn) answerHead(x *exchange, in *bufio.Reader) (*http.Response, error) {
	for {
		head, err := readHead(in)
		if err != nil {
			return nil, err
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: x.method})
		if err != nil {
			return nil, err
		}
		c.inspector.answered(x, head, r.StatusCode)
		if r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols {
			return r, nil
		}
	}
}

// Lengths of bodies that are not known ahead.
const (
	untilEnd int64 = -1 - iota // of the connection
	inChunks
)

// read takes a body in, and behind chunks the trailers. The error is about a body that is
// not whole.
func (i *Inspector) read(x *exchange, m *message, length int64, in *bufio.Reader) error {
	body := io.Reader(in)
	switch length {
	case untilEnd:
	case inChunks:
		body = httputil.NewChunkedReader(in)
	default:
		body = io.LimitReader(in, length)
	}
	piece, taken := make([]byte, 4<<10), int64(0)
	for err := error(nil); err == nil; {
		var n int
		n, err = body.Read(piece)
		taken += int64(n)
		i.note(x, func() { m.keep(piece[:n]) })
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if taken < length {
		return io.ErrUnexpectedEOF
	}
	if length == inChunks {
		if _, err := readHead(in); err != nil {
			return err
		}
	}
	i.note(x, func() { m.whole = true })
	return nil
}

// answered notes the head of an answer; that of an interim one is replaced by the next.
func (i *Inspector) answered(x *exchange, head []byte, status int) {
	i.note(x, func() { x.answer.head, x.status, x.toHead = head, status, time.Since(x.began) })
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
