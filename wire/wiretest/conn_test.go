package wiretest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"paddock/wire/wiretest"
)

// halfCloser is what every connection of the package can do besides net.Conn.
type halfCloser interface {
	CloseWrite() error
	SetLinger(sec int) error
}

var slow = wiretest.LinkConfig{Rate: 1000, Delay: 100 * time.Millisecond, Buffer: 100, Coalesce: -1}

// pipe, link and pair return connections that the test's end closes.
func pipe(t *testing.T, bufBytes int) (a, b net.Conn) {
	t.Helper()
	a, b = wiretest.Pipe(bufBytes)
	return pair(t, a, b)
}

func link(t *testing.T, cfg wiretest.LinkConfig) (a, b net.Conn) {
	t.Helper()
	a, b = wiretest.Link(cfg)
	return pair(t, a, b)
}

func pair(t *testing.T, a, b net.Conn) (net.Conn, net.Conn) {
	t.Helper()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestConn runs the suite of golang.org/x/net over every transport.
func TestConn(t *testing.T) {
	transports := map[string]func() (a, b net.Conn){
		"pipe":       func() (a, b net.Conn) { return wiretest.Pipe(0) },
		"small pipe": func() (a, b net.Conn) { return wiretest.Pipe(16) },
		"link": func() (a, b net.Conn) {
			return wiretest.Link(wiretest.LinkConfig{Rate: 1 << 30, Delay: 100 * time.Microsecond})
		},
		"delay only": func() (a, b net.Conn) { return wiretest.Link(wiretest.LinkConfig{Delay: 100 * time.Microsecond}) },
	}
	for name, make := range transports {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				a, b = make()
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

func wantRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got[:n], err, want)
	}
}

func wantWrite(t *testing.T, c net.Conn, data string) {
	t.Helper()
	if n, err := io.WriteString(c, data); n != len(data) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(data), err)
	}
}

// wantErr checks the error of a call that returns a number of bytes.
func wantErr(t *testing.T, what string, n, wantN int, err, want error) {
	t.Helper()
	if n != wantN || !errors.Is(err, want) {
		t.Fatalf("%s: %d, %v, want %d, %v", what, n, err, wantN, want)
	}
}

// TestEnds lists what each way to end a connection does to a peer that has unread
// bytes.
func TestEnds(t *testing.T) {
	closing := func(c net.Conn) error { return c.Close() }
	for name, c := range map[string]struct {
		end         func(net.Conn) error
		peerRead    error // after the bytes
		peerWrite   error
		localRead   error
		localWrite  error
		closesAgain error
	}{
		"CloseWrite": {
			func(c net.Conn) error { return c.(halfCloser).CloseWrite() },
			io.EOF, nil, os.ErrDeadlineExceeded, syscall.EPIPE, nil,
		},
		"Close": {closing, io.EOF, syscall.EPIPE, net.ErrClosed, net.ErrClosed, net.ErrClosed},
		"reset": {
			func(c net.Conn) error { return errors.Join(c.(halfCloser).SetLinger(0), c.Close()) },
			syscall.ECONNRESET, syscall.ECONNRESET, net.ErrClosed, net.ErrClosed, net.ErrClosed,
		},
		"linger again": {
			func(c net.Conn) error {
				return errors.Join(c.(halfCloser).SetLinger(0), c.(halfCloser).SetLinger(-1), c.Close())
			},
			io.EOF, syscall.EPIPE, net.ErrClosed, net.ErrClosed, net.ErrClosed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, transport := range []func() (a, b net.Conn){
					func() (a, b net.Conn) { return wiretest.Pipe(0) },
					func() (a, b net.Conn) { return wiretest.Link(slow) },
				} {
					a, b := transport()
					a, b = pair(t, a, b)
					wantWrite(t, a, "hello")
					time.Sleep(6 * time.Millisecond) // all has left the queue
					if err := a.SetReadDeadline(time.Now()); err != nil {
						t.Fatal(err)
					}
					if err := c.end(a); err != nil {
						t.Fatal(err)
					}
					wantRead(t, b, "hello")
					n, err := b.Read(make([]byte, 10))
					wantErr(t, "the peer's read", n, 0, err, c.peerRead)
					n, err = b.Write(nil)
					wantErr(t, "the peer's write", n, 0, err, c.peerWrite)
					n, err = a.Read(make([]byte, 10))
					wantErr(t, "the own read", n, 0, err, c.localRead)
					n, err = a.Write([]byte("more"))
					wantErr(t, "the own write", n, 0, err, c.localWrite)
					if err := a.Close(); !errors.Is(err, c.closesAgain) {
						t.Errorf("closing again: %v, want %v", err, c.closesAgain)
					}
				}
			})
		})
	}
}

func TestAClosedConnectionTakesNoMoreSettings(t *testing.T) {
	a, b := pipe(t, 0)
	a.Close()
	for name, err := range map[string]error{
		"SetDeadline":      a.SetDeadline(time.Time{}),
		"SetReadDeadline":  a.SetReadDeadline(time.Time{}),
		"SetWriteDeadline": a.SetWriteDeadline(time.Time{}),
		"SetLinger":        a.(halfCloser).SetLinger(0),
		"CloseWrite":       a.(halfCloser).CloseWrite(),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a.LocalAddr() != b.RemoteAddr() || a.RemoteAddr() != b.LocalAddr() || a.LocalAddr() == b.LocalAddr() {
		t.Errorf("addresses %v %v, %v %v", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
	}
}

func TestPipeHoldsItsBufferAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(t, 10)
		if err := a.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		n, err := io.WriteString(a, "0123456789abcdef")
		wantErr(t, "a write of 16 bytes", n, 10, err, os.ErrDeadlineExceeded)
		if d := time.Since(begun); d != time.Second {
			t.Errorf("the deadline of a second came after %v", d)
		}
		if err := a.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		done := make(chan int)
		go func() {
			n, _ := io.WriteString(a, "abcdef")
			done <- n
		}()
		synctest.Wait()
		wantRead(t, b, "0123456789abcdef")
		if n := <-done; n != 6 {
			t.Errorf("wrote %d", n)
		}
	})
}

func TestConcurrentWritesDoNotInterleave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(t, 3)
		const writers, size = 20, 50
		for i := range writers {
			go a.Write(bytes.Repeat([]byte{byte(i)}, size))
		}
		got := make([]byte, size)
		for range writers {
			if _, err := io.ReadFull(b, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, bytes.Repeat(got[:1], size)) {
				t.Fatalf("a write was torn: %v", got)
			}
		}
	})
}

// TestBlockedCallsEnd blocks a read or a write and ends it in every way.
func TestBlockedCallsEnd(t *testing.T) {
	read := func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c net.Conn) error { _, err := c.Write(make([]byte, 100)); return err }
	for name, c := range map[string]struct {
		call func(net.Conn) error
		end  func(own, peer net.Conn) error
		want error
	}{
		"read, own Close":        {read, func(own, _ net.Conn) error { return own.Close() }, net.ErrClosed},
		"read, peer's Close":     {read, func(_, peer net.Conn) error { return peer.Close() }, io.EOF},
		"read, deadline":         {read, func(own, _ net.Conn) error { return own.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"write, own Close":       {write, func(own, _ net.Conn) error { return own.Close() }, net.ErrClosed},
		"write, own CloseWrite":  {write, func(own, _ net.Conn) error { return own.(halfCloser).CloseWrite() }, syscall.EPIPE},
		"write, peer's Close":    {write, func(_, peer net.Conn) error { return peer.Close() }, syscall.EPIPE},
		"write, deadline":        {write, func(own, _ net.Conn) error { return own.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"write, second deadline": {write, func(own, _ net.Conn) error { return own.SetWriteDeadline(time.Now().Add(time.Hour)) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pipe(t, 10)
				failed := make(chan error, 2)
				for range 2 { // also the one that waits for the other
					go func() { failed <- c.call(a) }()
				}
				synctest.Wait()
				if err := c.end(a, b); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := <-failed; !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
				}
			})
		})
	}
}
