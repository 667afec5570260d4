package wiretest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"paddock/wire/wiretest"
)

// shaped returns the two ends of a TCP connection through a Shaper.
func shaped(t testing.TB, cfg wiretest.LinkConfig) (client, server *net.TCPConn, s *wiretest.Shaper) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s, err = wiretest.NewShaper(listener.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return c.(*net.TCPConn), accepted.(*net.TCPConn), s
}

func TestShaperTakesItsTime(t *testing.T) {
	cfg := wiretest.LinkConfig{Rate: 10e6, Delay: 20 * time.Millisecond}
	client, server, _ := shaped(t, cfg)
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	begun := time.Now()
	go func() {
		client.Write(data)
		client.CloseWrite()
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d of %d bytes came, %v", len(got), len(data), err)
	}
	// No earlier than the link lets them: that is arithmetic, not a timing.
	if d := time.Since(begun); d < 120*time.Millisecond {
		t.Errorf("1 MB at 10 MB/s and 20 ms came after %v", d)
	}
	if _, err := io.WriteString(server, "thanks"); err != nil {
		t.Error(err)
	}
	server.Close()
	if got, err := io.ReadAll(client); string(got) != "thanks" || err != nil {
		t.Errorf("the other direction brings %q, %v", got, err)
	}
}

func TestShaperPassesAResetOn(t *testing.T) {
	client, server, _ := shaped(t, wiretest.LinkConfig{Delay: time.Millisecond})
	wantWrite(t, client, "hello")
	wantRead(t, server, "hello")
	client.SetLinger(0)
	client.Close()
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the other end reads %v, want ECONNRESET", err)
	}
}

// TestShaperPassesALateResetOn has one direction ended before, so that only the
// writes of the other can find out.
func TestShaperPassesALateResetOn(t *testing.T) {
	client, server, _ := shaped(t, wiretest.LinkConfig{Delay: time.Millisecond})
	server.CloseWrite()
	if p, err := io.ReadAll(client); len(p) > 0 || err != nil {
		t.Fatalf("reads %q, %v", p, err)
	}
	server.SetLinger(0)
	server.Close()
	client.SetWriteDeadline(time.Now().Add(20 * time.Second))
	var err error
	for p := make([]byte, 1000); err == nil; {
		_, err = client.Write(p)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writes go on after a reset, until %v", err)
	}
}

// TestShaperCloseEndsAll has unread data in flight.
func TestShaperCloseEndsAll(t *testing.T) {
	client, server, s := shaped(t, wiretest.LinkConfig{Rate: 1000, Delay: time.Hour})
	failed := make(chan error, 2)
	go func() {
		_, err := client.Write(make([]byte, 32<<20))
		failed <- err
	}()
	go func() {
		_, err := server.Read(make([]byte, 1))
		failed <- err
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-failed; err == nil {
			t.Error("a call survives the shaper")
		}
	}
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close: %v", err)
	}
}

func TestShaperWithoutATarget(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := wiretest.NewShaper(listener.Addr().String(), wiretest.LinkConfig{})
	listener.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("tcp", s.Addr().String())
	if err == nil { // the reset can be faster than the end of Dial
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dialing and reading ends with %v, want ECONNRESET", err)
	}
}
