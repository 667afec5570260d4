package wiredump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// patience is far longer than any step of these tests takes.
const patience = 20 * time.Second

// output collects lines, and announces each write.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	gate chan struct{} // if not nil, each Write waits for it to be closed
}

func (o *output) Write(b []byte) (int, error) {
	if o.gate != nil {
		<-o.gate
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func listenHere(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// startRelay returns a connection through a relay, its other end, and a function that stops the
// relay and returns its error.
func startRelay(t *testing.T, out io.Writer) (near, far *net.TCPConn, stop func() error) {
	t.Helper()
	target, door := listenHere(t), listenHere(t)
	r := &Relay{Listener: door, Network: "tcp", Target: target.Addr().String(), Output: out, Options: Options{Body: 8}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	ends := [2]net.Conn{}
	var err error
	if ends[0], err = net.Dial("tcp", door.Addr().String()); err == nil {
		ends[1], err = target.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ends {
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	return ends[0].(*net.TCPConn), ends[1].(*net.TCPConn), stop
}

// send writes b at one end and reads it at the other.
func send(t *testing.T, from, to net.Conn, b []byte) {
	t.Helper()
	if _, err := from.Write(b); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(b))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, b) {
		t.Fatalf("%x, %v; want %x", got, err, b)
	}
}

func TestRelay(t *testing.T) {
	var out output
	near, far, stop := startRelay(t, &out)
	encode := func(f frame.Frame) []byte { return frame.AppendFrame(nil, &f) }
	payload, err := frame.AppendHello(nil, wire.Hello{MaxFrame: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	send(t, near, far, conversation(t))
	send(t, far, near, append([]byte(frame.Preface), hello(payload)...))
	send(t, far, near, encode(frame.Frame{Type: frame.RES, ID: 0x1001, Body: []byte("ok")}))
	if err := near.CloseWrite(); err != nil { // only this half: the answer is still read
		t.Fatal(err)
	}
	if n, err := far.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the half-close: %d, %v", n, err)
	}
	send(t, far, near, encode(frame.Frame{Type: frame.ACK, Count: 3}))
	far.Close()
	if n, err := near.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the close: %d, %v", n, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	got := regexp.MustCompile(`\d+\.\d{6}`).ReplaceAllString(out.String(), "TIME")
	got = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(got, "HERE")
	got = regexp.MustCompile(`(?m)^#1 +`).ReplaceAllString(got, "#1 ")
	compare(t, "testdata/relay.golden", got)
}

// A frame longer than the receiver accepts is shown as broken, and forwarded unchanged.
func TestRelayKnowsTheReceiver(t *testing.T) {
	var out output
	near, far, stop := startRelay(t, &out)
	payload, err := frame.AppendHello(nil, wire.Hello{MaxFrame: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	send(t, far, near, append([]byte(frame.Preface), hello(payload)...))
	send(t, near, far, append([]byte(frame.Preface), hello(payload)...))
	send(t, near, far, frame.AppendFrame(nil, &frame.Frame{Type: frame.POST, ID: 1, Body: make([]byte, 20_001)}))
	send(t, near, far, []byte("whatever follows"))
	if err := stop(); err != nil {
		t.Error(err)
	}
	text := out.String()
	if strings.Contains(text, "failed") {
		t.Error("the end of the relay is shown as a failure")
	}
	if !strings.Contains(text, "-> ! POST id=0x1 len=20001, offset 25: FRAME_SIZE(67) too-long\n") {
		t.Error(text)
	}
}

func TestRelayPassesAReset(t *testing.T) {
	var out output
	near, far, _ := startRelay(t, &out)
	send(t, near, far, []byte(frame.Preface))
	if err := near.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the other side sees %v", err)
	}
}

func TestRelayWithoutTarget(t *testing.T) {
	gone := listenHere(t)
	gone.Close()
	door := listenHere(t)
	var out output
	r := &Relay{Listener: door, Network: "tcp", Target: gone.Addr().String(), Output: &out}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	c, err := net.Dial("tcp", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "-- failed: dial tcp ") {
		t.Error(out.String())
	}
}

// A blocked output slows down no connection, and the dropped lines are counted.
func TestRelayWithASlowOutput(t *testing.T) {
	out := output{gate: make(chan struct{})}
	near, far, stop := startRelay(t, &out)
	send(t, near, far, []byte(frame.Preface))
	batch := bytes.Repeat(frame.AppendFrame(nil, &frame.Frame{Type: frame.PING, Body: []byte("12345678")}), 1000)
	const batches = 60 // about 50 bytes of text for each frame, more than the queue holds
	for range batches {
		send(t, near, far, batch)
	}
	close(out.gate)
	if err := stop(); err != nil {
		t.Error(err)
	}
	text := out.String()
	var dropped int
	if m := regexp.MustCompile(`(?m)^! (\d+) lines dropped`).FindStringSubmatch(text); m == nil {
		t.Fatal("nothing is said of dropped lines")
	} else if _, err := fmt.Sscan(m[1], &dropped); err != nil {
		t.Fatal(err)
	}
	// Besides the frames: opened, preface, and at the end one or two lines for each side.
	if shown := strings.Count(text, " PING "); shown+dropped < batches*1000 || shown+dropped > batches*1000+10 {
		t.Errorf("%d frames shown, %d lines dropped", shown, dropped)
	}
	if len(text) > 3*spoolSize {
		t.Errorf("%d bytes waited", len(text))
	}
}

// An output that fails ends the relay with its error.
func TestRelayWithABrokenOutput(t *testing.T) {
	broken := errors.New("no space left")
	near, _, stop := startRelay(t, writerFunc(func([]byte) (int, error) { return 0, broken }))
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
	if err := stop(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
