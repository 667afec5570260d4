package bus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/bus"
)

// patience bounds every wait of the tests; it is never the expected outcome.
const patience = 20 * time.Second

// configForTest is a server's defaults.
var configForTest bus.Config

// peer is a raw protocol connection whose input is read all the time.
type peer struct {
	t     *testing.T
	conn  net.Conn
	in    chan []byte // closed at the end of input
	buf   []byte
	ended bool
	wait  time.Duration // how long to wait for input
}

func newPeer(t *testing.T, conn net.Conn) *peer {
	p := &peer{t: t, conn: conn, in: make(chan []byte, 64), wait: patience}
	go p.pump()
	t.Cleanup(func() { p.close() })
	return p
}

func (p *peer) pump() {
	defer close(p.in)
	for {
		buf := make([]byte, 4096)
		n, err := p.conn.Read(buf)
		if n > 0 {
			p.in <- buf[:n]
		}
		if err != nil {
			return
		}
	}
}

func (p *peer) close() {
	p.conn.Close()
	for range p.in { //nolint:revive // until the pump has ended
	}
}

// more waits for input; false = the other side has closed.
func (p *peer) more() bool {
	select {
	case b, ok := <-p.in:
		p.buf = append(p.buf, b...)
		return ok
	case <-time.After(p.wait):
		p.t.Fatalf("nothing came in %v; unread: %q", p.wait, p.buf)
		return false
	}
}

// line returns the next line with its end, or the rest at the end of input.
func (p *peer) line() string {
	for {
		if i := bytes.IndexByte(p.buf, '\n'); i >= 0 {
			line := string(p.buf[:i+1])
			p.buf = p.buf[i+1:]
			return line
		}
		if !p.more() {
			rest := string(p.buf)
			p.buf = nil
			return rest
		}
	}
}

func (p *peer) take(n int) string {
	for len(p.buf) < n && p.more() { //nolint:revive // more fills p.buf
	}
	n = min(n, len(p.buf))
	text := string(p.buf[:n])
	p.buf = p.buf[n:]
	return text
}

// expect takes one operation. A PING for the round trip, which a connection of 2 s gets, may stand
// before it.
func (p *peer) expect(at, want string) {
	p.t.Helper()
	const ping = "PING\r\n"
	head := p.take(min(len(want), len(ping)))
	p.buf = append([]byte(head), p.buf...)
	if strings.HasPrefix(ping, head) && !strings.HasPrefix(want, head) {
		p.take(len(ping))
		p.write("PONG\r\n")
	}
	if got := p.take(len(want)); got != want {
		p.t.Fatalf("%s:\n got %q\nwant %q\nthen %q", at, got, want, p.buf)
	}
}

// greeting reads and checks the INFO that a server sends on accept.
func (p *peer) greeting() map[string]any {
	p.t.Helper()
	line := p.line()
	body, ok := strings.CutPrefix(line, "INFO ")
	if body, ok2 := strings.CutSuffix(body, " \r\n"); ok && ok2 {
		var fields map[string]any
		if err := json.Unmarshal([]byte(body), &fields); err == nil {
			return fields
		}
	}
	p.t.Fatalf("no INFO: %q", line)
	return nil
}

func dialPeer(t *testing.T, s *bus.Server) *peer {
	t.Helper()
	p := dialRaw(t, s)
	p.greeting()
	return p
}

// dialRaw leaves INFO to be read.
func dialRaw(t *testing.T, s *bus.Server) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, conn)
}

func (p *peer) write(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.conn, format, args...); err != nil {
		p.t.Fatal(err)
	}
}

// sync sends PING and reads to its PONG. It returns the sids of the messages that came before it.
func (p *peer) sync() (sids []int) {
	p.t.Helper()
	p.write("PING\r\n")
	for {
		line := p.line()
		if line == "PONG\r\n" {
			return sids
		}
		if line == "PING\r\n" { // a connection of 2 s gets one for the round trip
			p.write("PONG\r\n")
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "MSG" {
			p.t.Fatalf("got %q", line)
		}
		sid, err := strconv.Atoi(f[2])
		size, err2 := strconv.Atoi(f[len(f)-1])
		if err != nil || err2 != nil {
			p.t.Fatalf("got %q", line)
		}
		p.take(size + len("\r\n"))
		sids = append(sids, sid)
	}
}
