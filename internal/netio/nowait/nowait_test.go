package nowait_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"paddock/internal/netio/nowait"
)

// connect returns both ends of a connection.
func connect(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialed.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

// Receive returns the received bytes and never blocks. It finds the end of the stream, whatever the
// earlier calls have reported.
func TestReceive(t *testing.T) {
	near, far := connect(t)
	raw, err := far.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	tells := nowait.Tells(raw)
	if _, err := near.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	var r nowait.Receiver
	var got []byte
	var end error
	closed := false
	err = raw.Read(func(fd uintptr) bool {
		for {
			b := make([]byte, 3)
			n, more, wait, readErr := r.Receive(fd, b, tells)
			got = append(got, b[:n]...)
			if readErr != nil {
				end = readErr
				return true
			}
			if len(got) == 3 && !more {
				t.Error("two bytes wait, and the read says that nothing does")
			}
			if string(got) == "hello" && !closed {
				closed = true
				_ = near.Close()
			}
			if wait || !more {
				return false
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "hello" || !errors.Is(end, io.EOF) {
		t.Errorf("got %q, %v", got, end)
	}
}

// A connection in memory has no socket, so Raw returns nil.
func TestRawOfAPipe(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if nowait.Raw(near) != nil {
		t.Error("a pipe has a socket")
	}
}

func TestSend(t *testing.T) {
	near, far := connect(t)
	raw, err := near.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	total, full := 0, false
	if err := raw.Write(func(fd uintptr) bool {
		if n, err := nowait.Send(fd, nil); n != 0 || err != nil {
			t.Errorf("nothing to send: %d, %v", n, err)
		}
		for b := make([]byte, 1<<20); !full; {
			n, err := nowait.Send(fd, b)
			if err != nil {
				t.Error(err)
			}
			total += n
			full = n == 0 // the peer does not read: Send returns 0 and does not block
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	if n, err := io.Copy(io.Discard, far); err != nil && !errors.Is(err, io.EOF) || int(n) != total {
		t.Errorf("%d of %d bytes, %v", n, total, err)
	}
}

// Silent sees bytes and the end of the stream, and consumes neither.
func TestSilent(t *testing.T) {
	near, far := connect(t)
	silent := func() (is bool) {
		_ = nowait.Raw(far).Control(func(fd uintptr) { is = nowait.Silent(fd) })
		return is
	}
	if !silent() {
		t.Error("nothing was sent")
	}
	_, _ = near.Write([]byte("x"))
	_ = near.Close()
	// The read waits for the byte. A call of Silent before it would race with the byte.
	b := make([]byte, 1)
	if _, err := io.ReadFull(far, b); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Read(b); !errors.Is(err, io.EOF) { // the end has arrived, and stays
		t.Fatal(err)
	}
	if silent() {
		t.Error("the end has come")
	}
}

// A Writer writes as much as the socket takes, and fails once it is closed.
func TestWriter(t *testing.T) {
	near, far := connect(t)
	w := nowait.NewWriter(near)
	if w == nil {
		t.Skip("no such access here")
	}
	total, b := 0, make([]byte, 1<<20)
	for {
		n, err := w.TryWrite(b)
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n < len(b) { // the peer does not read
			break
		}
	}
	if err := near.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.TryWrite(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind the deadline: %d, %v", n, err)
	}
	_ = near.Close()
	if n, err := w.TryWrite(b); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %d, %v", n, err)
	}
	if n, err := io.Copy(io.Discard, far); err != nil || int(n) != total {
		t.Errorf("%d of %d bytes, %v", n, total, err)
	}
	memory, other := net.Pipe()
	defer memory.Close()
	defer other.Close()
	if nowait.NewWriter(memory) != nil {
		t.Error("a pipe has a socket")
	}
}
