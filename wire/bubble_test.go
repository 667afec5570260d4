package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// bubble runs a test with fake time: synctest.Wait is then the end of all that can
// happen by itself.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	wire.FreshPools()
	defer wire.FreshPools()
	synctest.Test(t, fn)
}

// quiet is for tests in which handlers panic on purpose.
var quiet = slog.New(slog.DiscardHandler)

// piped returns two connections that talk through memory.
func piped(t testing.TB, dialer, acceptor *wire.Config) (d, a *wire.Conn) {
	t.Helper()
	dc, ac := wiretest.Pipe(0)
	return over(t, dc, ac, dialer, acceptor)
}

// over returns two connections over given ones, and closes them in the end.
func over(t testing.TB, dc, ac net.Conn, dialer, acceptor *wire.Config) (d, a *wire.Conn) {
	t.Helper()
	d, err := wire.NewConn(dc, dialer)
	if err != nil {
		t.Fatal(err)
	}
	a, err = wire.AcceptConn(ac, acceptor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []*wire.Conn{d, a} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return d, a
}

// settled checks, once nothing happens any more, that the two connections still
// live, that no slot and no handler is left, and that each credit is what it was at
// first.
func settled(t *testing.T, d, a *wire.Conn) {
	t.Helper()
	synctest.Wait()
	for _, c := range []*wire.Conn{d, a} {
		if err := c.Err(); err != nil {
			t.Errorf("%v: the connection has ended: %v", c.Dialed(), err)
			return
		}
		if n := c.Live(); n != 0 {
			t.Errorf("%v: %d slots are left", c.Dialed(), n)
		}
		if n := c.Running(); n != 0 {
			t.Errorf("%v: %d handlers are left", c.Dialed(), n)
		}
		if n := c.Queued(); n != 0 {
			t.Errorf("%v: %d bytes wait", c.Dialed(), n)
		}
		conn, posts := c.Limits()
		has := c.Credits()
		if has.ConnReceive+has.ConnOwed != conn || has.PostsReceive+has.PostsOwed != posts {
			t.Errorf("%v: credit was lost: %+v of %d and %d", c.Dialed(), has, conn, posts)
		}
	}
	dc, ac := d.Credits(), a.Credits()
	if dc.ConnSend != ac.ConnReceive || ac.ConnSend != dc.ConnReceive ||
		dc.PostsSend != ac.PostsReceive || ac.PostsSend != dc.PostsReceive {
		t.Errorf("the sides disagree: dialer %+v, acceptor %+v", dc, ac)
	}
}

// rawPeer speaks wire frame by frame, and as badly as it likes.
type rawPeer struct {
	t  *testing.T
	nc net.Conn

	mu  sync.Mutex
	got []frame.Frame // all that has come and was not taken
	err error         // why nothing more comes
}

// attack returns an acceptor with cfg and a raw peer that has dialed it and has not
// said anything yet.
func attack(t *testing.T, cfg *wire.Config) (*rawPeer, *wire.Conn) {
	t.Helper()
	raw, nc := wiretest.Pipe(1 << 20)
	c, err := wire.AcceptConn(nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		raw.Close()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rawPeer{t: t, nc: raw}, c
}

// bytes sends what it is given.
func (p *rawPeer) bytes(b []byte) error {
	_, err := p.nc.Write(b)
	return err
}

// hello sends the preface and a HELLO that binds kinds to 1 and on.
func (p *rawPeer) hello(h wire.Hello, kinds ...string) {
	p.t.Helper()
	h.Kinds = map[string]uint32{}
	for i, kind := range kinds {
		h.Kinds[kind] = uint32(i + 1)
	}
	body, err := frame.AppendHello(nil, h)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.bytes(frame.AppendFrame([]byte(frame.Preface), &frame.Frame{Type: frame.HELLO, Body: body})); err != nil {
		p.t.Fatal(err)
	}
}

// send sends frames in one write.
func (p *rawPeer) send(frames ...frame.Frame) error {
	var b []byte
	for i := range frames {
		b = frame.AppendFrame(b, &frames[i])
	}
	return p.bytes(b)
}

// listen begins to collect the peer's frames.
func (p *rawPeer) listen() {
	go func() {
		var b []byte
		opened := false
		piece := make([]byte, 64<<10)
		for {
			n, err := p.nc.Read(piece)
			b = append(b, piece[:n]...)
			if !opened && len(b) >= len(frame.Preface) {
				b, opened = b[len(frame.Preface):], true
			}
			for opened {
				var f frame.Frame
				size, bad := frame.Next(b, 1<<24-1, &f)
				if bad != nil {
					p.t.Errorf("a bad frame: %v", bad)
				}
				if size == 0 {
					break
				}
				f.Body, f.Text = bytes.Clone(f.Body), bytes.Clone(f.Text)
				b = b[size:]
				p.mu.Lock()
				p.got = append(p.got, f)
				p.mu.Unlock()
			}
			if err != nil {
				p.mu.Lock()
				p.err = err
				p.mu.Unlock()
				return
			}
		}
	}()
}

// take waits until nothing happens any more, and returns what has come since, but
// for HELLO and CREDIT.
func (p *rawPeer) take() (frames []frame.Frame) {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.got {
		if f.Type != frame.HELLO && f.Type != frame.CREDIT {
			frames = append(frames, f)
		}
	}
	p.got = nil
	return frames
}

// closedWith checks that the connection has ended with a code, and has said so.
func (p *rawPeer) closedWith(c *wire.Conn, code wire.Code) {
	p.t.Helper()
	frames := p.take()
	if len(frames) == 0 {
		p.t.Errorf("no GOAWAY; the connection: %v", c.Err())
		return
	}
	last := frames[len(frames)-1]
	if last.Type != frame.GOAWAY || last.Code != code {
		p.t.Errorf("the last frame is %v %v, want GOAWAY %v", last.Type, last.Code, code)
	}
	if p.err == nil {
		p.t.Error("the socket is still open")
	}
}

// isCode checks the code of an *Error.
func isCode(t *testing.T, err error, code wire.Code) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want %v", err, code)
	}
}

// payload is n bytes of which no two neighbourhoods are equal.
func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// within is a context that ends in a while of fake time.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// sinkMux serves streams that are read to their end ("sink"), never read ("deaf"),
// and sent back ("echo").
func sinkMux() *wire.Mux {
	mux := echoMux()
	mux.HandleStream("sink", func(_ context.Context, s *wire.Stream) error {
		_, err := io.Copy(io.Discard, s)
		return err
	})
	mux.HandleStream("deaf", func(ctx context.Context, s *wire.Stream) error {
		<-ctx.Done()
		return nil
	})
	return mux
}
