package inspector

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"paddock/internal/netio/listen"
)

// conn is an inspected connection. Bytes written to it and read from it are copied to a reader of
// requests and a reader of answers, each with its goroutine.
type conn struct {
	net.Conn
	inspector *Inspector
	tunnel    string
	replayOf  uint64
	up, down  *io.PipeWriter

	// asked passes the exchanges that await answers from requests to answers, one at a time, until
	// requests ends. A body need not wait for its answer.
	asked       chan *exchange
	switched    chan bool     // whether an upgrade was granted, from answers to requests
	answersOver chan struct{} // closed when answers has ended: requests waits for it no more
}

func (i *Inspector) listenIn(inner net.Conn, tunnel string, replayOf uint64) *conn {
	up, written := io.Pipe()
	down, read := io.Pipe()
	c := &conn{
		Conn: inner, inspector: i, tunnel: tunnel, replayOf: replayOf, up: written, down: read,
		asked: make(chan *exchange, 1), switched: make(chan bool, 1), answersOver: make(chan struct{}),
	}
	i.parsers.Go(func() { // ends with the connection, or where it is no HTTP
		c.requests(newStream(up))
		_ = up.Close() // later writes are not inspected, and do not wait for the inspector
		close(c.asked)
		<-c.answersOver
		for x := range c.asked {
			i.end(x, noAnswer)
		}
	})
	i.parsers.Go(func() { // likewise
		c.answers(newStream(down))
		_ = down.Close()
		close(c.answersOver)
	})
	return c
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		_, _ = c.down.Write(p[:n])
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // after which reading may go on
		_ = c.down.CloseWithError(err)
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
	_ = c.down.CloseWithError(net.ErrClosed) // unless it has ended: an answer may last until then
	return err
}

// CloseWrite ends the written direction.
func (c *conn) CloseWrite() error { return listen.CloseWrite(c.Conn) }

// NetConn returns the inspected connection, so that callers can ask it whether it is still open,
// and end it with a reset.
func (c *conn) NetConn() net.Conn { return c.Conn }

const noAnswer = "the connection ended before the answer"

// requests reads the bytes that are written to the service.
func (c *conn) requests(in *stream) {
	for {
		x, body, err := newExchange(c.tunnel, in)
		if err != nil {
			return
		}
		x.ReplayOf = c.replayOf
		c.inspector.begin(x)
		if !c.await(x) {
			c.inspector.end(x, noAnswer)
			return
		}
		if c.inspector.read(x, &x.request, body) != nil || x.upgrades && c.isSwitched() {
			return
		}
	}
}

// newExchange reads the head of a request, and returns its body.
func newExchange(tunnel string, in *stream) (x *exchange, body io.Reader, err error) {
	in.beginHead()
	r, err := http.ReadRequest(in.Reader)
	if err != nil {
		return nil, nil, err
	}
	return &exchange{
		summary:  summary{Tunnel: tunnel, Method: r.Method, Target: r.RequestURI, Host: r.Host},
		upgrades: r.Header.Get("Upgrade") != "", request: message{head: in.endHead()},
	}, r.Body, nil
}

// Failed keeps an exchange for which there was no connection to the service. request holds its
// head, and the body or the beginning of it.
func (i *Inspector) Failed(tunnel string, request []byte, fault string) {
	x, body, err := newExchange(tunnel, newStream(bytes.NewReader(request)))
	if err != nil {
		return
	}
	i.begin(x)
	_ = i.read(x, &x.request, body) // an incomplete body is kept as incomplete
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
func (c *conn) answers(in *stream) {
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		x, asked := <-c.asked
		if !asked || !c.answer(x, in) {
			return
		}
	}
}

// answer reads one, and reports whether another may follow.
func (c *conn) answer(x *exchange, in *stream) bool {
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
	if c.inspector.read(x, &x.answer, r.Body) != nil {
		c.inspector.end(x, "the answer was cut")
		return false
	}
	c.inspector.end(x, "")
	return true
}

// answerHead reads heads up to the one that is no interim answer.
func (c *conn) answerHead(x *exchange, in *stream) (*http.Response, error) {
	for {
		in.beginHead()
		r, err := http.ReadResponse(in.Reader, &http.Request{Method: x.Method})
		if err != nil {
			return nil, err
		}
		head := in.endHead()
		c.inspector.note(x, func() {
			x.answer.head, x.Status, x.ToHeadUs = head, r.StatusCode, time.Since(x.Began).Microseconds()
		})
		if r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols {
			return r, nil
		}
	}
}

// read takes a body in. The error is about a body that is not whole.
func (i *Inspector) read(x *exchange, m *message, body io.Reader) error {
	piece := make([]byte, 4<<10)
	for {
		n, err := body.Read(piece)
		i.note(x, func() {
			m.keep(piece[:n])
			m.whole = errors.Is(err, io.EOF)
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stream reads the messages of one direction, and keeps the bytes of a head as they are.
type stream struct {
	*bufio.Reader
	tape tape
}

// tape is a reader that keeps what it has read while it records.
type tape struct {
	io.Reader
	records bool
	kept    []byte
}

func newStream(r io.Reader) *stream {
	s := &stream{tape: tape{Reader: r}}
	s.Reader = bufio.NewReader(&s.tape)
	return s
}

var errLong = errors.New("inspector: a head without an end")

func (t *tape) Read(p []byte) (int, error) {
	if t.records && len(t.kept) > maxHead {
		return 0, errLong
	}
	n, err := t.Reader.Read(p)
	if t.records {
		t.kept = append(t.kept, p[:n]...)
	}
	return n, err
}

// beginHead precedes the reading of a head.
func (s *stream) beginHead() {
	ahead, _ := s.Peek(s.Buffered())
	s.tape.records, s.tape.kept = true, bytes.Clone(ahead)
}

// endHead returns the bytes that were read since beginHead.
func (s *stream) endHead() []byte {
	head := bytes.Clone(s.tape.kept[:len(s.tape.kept)-s.Buffered()])
	s.tape.records, s.tape.kept = false, nil
	return head
}
