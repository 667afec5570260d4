package listen

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// patience is far longer than any step of these tests takes.
const patience = 20 * time.Second

// At the bound nothing is accepted until a connection ends.
func TestLimit(t *testing.T) {
	inner, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(inner, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() { // ends when l is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	var open []net.Conn
	for range 3 { // the third stays in the accept queue
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for range 2 {
		open = append(open, <-accepted)
	}
	for deadline := time.Now().Add(patience); l.Waits() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("it does not wait at the bound")
		}
		runtime.Gosched()
	}
	select {
	case <-accepted:
		t.Fatal("a third connection was accepted")
	default:
	}
	if n := l.Open(); n != 2 {
		t.Errorf("%d open", n)
	}
	for range 2 { // closing twice frees one slot
		_ = open[0].Close()
	}
	third := <-accepted
	if n := l.Open(); n != 2 {
		t.Errorf("%d open after one has made room for another", n)
	}
	for deadline := time.Now().Add(patience); l.Waits() < 2; {
		if time.Now().After(deadline) {
			t.Fatal("it does not wait at the bound again")
		}
		runtime.Gosched()
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("an Accept that waits ends with %v", err)
	}
	_, _ = open[1].Close(), third.Close()
	if n := l.Open(); n != 0 {
		t.Errorf("%d open at the end", n)
	}
}

// net/http closes one direction first, so a wrapped connection must have CloseWrite.
func TestLimitedConnectionsCloseOneDirection(t *testing.T) {
	inner, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(inner, 1)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := client.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v, not the end", err)
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the other direction: %d, %v", n, err)
	}
}
