package bus

import (
	"bufio"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The goroutine that runs the callbacks of a Local does so for every publisher. When another
// goroutine has to wait for that, it takes over after a batch.
func TestCallbacksAreHandedOverToOneThatWaits(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := s.Local("busy")
	defer l.Close()
	calls := 0
	again := func() {
		if err := l.Publish("again", "", nil, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Subscribe("again", "", func([]Msg) {
		if calls++; calls%3 != 0 {
			again()
		}
	}); err != nil {
		t.Fatal(err)
	}
	again()
	if calls != 3 || l.awaitRoom() {
		t.Fatalf("%d calls where nobody waits, and some are left: %v", calls, l.awaitRoom())
	}

	l.mu.Lock()
	l.waiters++ // as if another goroutine were in awaitRoom
	l.mu.Unlock()
	again()
	if calls != 4 {
		t.Fatalf("%d calls before it was handed over", calls)
	}
	l.mu.Lock()
	l.waiters--
	l.mu.Unlock()
	for l.awaitRoom() { // as that goroutine does when it wakes
		l.drainChain()
	}
	if calls != 6 || l.waiting != 0 {
		t.Errorf("%d calls, %d bytes wait", calls, l.waiting)
	}
}

// Several clients send more than may wait. Each message is delivered and each client is answered,
// whichever goroutine has run the callbacks.
func TestNothingIsLeftBehindAtAHandover(t *testing.T) {
	const clients, messages = 4, 1500
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown(t.Context())
	l := s.Local("busy")
	got := 0
	if _, err := l.Subscribe("flood", "", func(msgs []Msg) {
		for first := got == 0; first; runtime.Gosched() { // the others send until they have to wait
			l.mu.Lock()
			first = l.waiters == 0
			l.mu.Unlock()
		}
		got += len(msgs)
	}); err != nil {
		t.Fatal(err)
	}
	var sent sync.WaitGroup
	for range clients {
		conn, err := s.InProcessConn()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		sent.Go(func() {
			line := fmt.Sprintf("PUB flood 8192\r\n%s\r\n", strings.Repeat("x", 8192))
			for range messages {
				if _, err := conn.Write([]byte(line)); err != nil {
					t.Error(err)
					return
				}
			}
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				t.Error(err)
			}
		})
		sent.Go(func() {
			for in := bufio.NewScanner(conn); in.Scan(); {
				if in.Text() == "PONG" {
					return
				}
			}
			t.Error("no PONG")
		})
	}
	sent.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got != clients*messages || l.waiting != 0 {
		t.Errorf("%d messages of %d, %d bytes wait", got, clients*messages, l.waiting)
	}
}
