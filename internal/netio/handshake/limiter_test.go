package handshake

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// read returns a handshake that reads so many bytes, and then computes until compute is closed.
func read(bytes int, compute <-chan struct{}) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.ReadFull(c, make([]byte, bytes))
		if err == nil {
			<-compute
		}
		return err
	}
}

// Silent peers hold no turn, however many they are. A computing handshake holds one, and others
// wait for it in order, until their contexts end.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewLimiter(1, 100, 0)
		results := make(chan error, 100)
		begin := func(ctx context.Context, compute <-chan struct{}) net.Conn {
			near, far := net.Pipe()
			go func() { results <- turns.Do(ctx, near, nil, read(2, compute)) }()
			return far
		}
		silent := make([]net.Conn, 20)
		for i := range silent {
			silent[i] = begin(t.Context(), nil)
		}
		synctest.Wait()
		if n := turns.UnderWay(); n != len(silent) {
			t.Errorf("%d are under way", n)
		}
		compute := make(chan struct{})
		busy := begin(t.Context(), compute)
		_, _ = busy.Write([]byte("ab"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := begin(ctx, nil)
		_, _ = late.Write([]byte("a"))
		if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits for a turn for longer than his time: %v", err)
		}
		next := begin(t.Context(), compute)
		_, _ = next.Write([]byte("a"))
		synctest.Wait()
		close(compute)
		_, _ = next.Write([]byte("b"))
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for _, c := range silent {
			_ = c.Close()
			if err := <-results; !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		}
		if n := turns.UnderWay(); n != 0 || turns.free != 1 {
			t.Errorf("%d are under way in the end, %d turns are free", n, turns.free)
		}
	})
}

// A handshake that panics gives its turn back.
func TestPanicGivesTheTurnBack(t *testing.T) {
	turns := NewLimiter(1, 100, 0)
	for range 3 {
		near, far := net.Pipe()
		go func() { _, _ = far.Write([]byte("a")) }()
		func() {
			defer func() { _ = recover() }()
			_ = turns.Do(t.Context(), near, nil, func(c net.Conn) error {
				_, _ = c.Read(make([]byte, 1))
				panic("here")
			})
		}()
	}
	if n := turns.free; n != 1 || turns.UnderWay() != 0 {
		t.Errorf("%d turns are free", n)
	}
}

// A peer may send a bounded number of bytes in a handshake, and any number after it.
func TestHandshakesAreBounded(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = far.Write(make([]byte, 1_000))
		_ = far.Close()
	}()
	turns, n := NewLimiter(1, 10, 0), 0
	var after net.Conn
	err := turns.Do(t.Context(), near, nil, func(c net.Conn) (err error) {
		after = c
		for err == nil {
			var m int
			m, err = c.Read(make([]byte, 4))
			n += m
		}
		return err
	})
	if !errors.Is(err, ErrTooLong) || n < 10 || n > 14 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if rest, err := io.ReadAll(after); n+len(rest) != 1_000 || err != nil {
		t.Errorf("%d bytes behind the handshake, %v", len(rest), err)
	}
}

// A handshake that has computed before gets the next turn.
func TestFurtherOnesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, order := NewLimiter(1, 100, 0), make(chan string, 3)
		begin := func(name string, steps int) net.Conn {
			near, far := net.Pipe()
			go func() {
				_ = turns.Do(t.Context(), near, nil, func(c net.Conn) error {
					for range steps {
						_, _ = c.Read(make([]byte, 1))
					}
					order <- name
					_, err := io.ReadFull(c, make([]byte, 1))
					return err
				})
			}()
			t.Cleanup(func() { _ = far.Close() })
			return far
		}
		further := begin("further", 2)
		_, _ = further.Write([]byte("a")) // has had a turn
		synctest.Wait()
		compute := make(chan struct{})
		near, busy := net.Pipe()
		go func() { _ = turns.Do(t.Context(), near, nil, read(1, compute)) }()
		_, _ = busy.Write([]byte("a"))
		synctest.Wait()
		_, _ = begin("first", 1).Write([]byte("a"))
		synctest.Wait()
		_, _ = further.Write([]byte("b"))
		synctest.Wait()
		close(compute)
		if a, b := <-order, <-order; a != "further" || b != "first" {
			t.Errorf("%s, then %s", a, b)
		}
	})
}

// The time of a peer is bounded in all. The time for which it waits for the server does not count.
func TestPeersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, compute, result := NewLimiter(1, 100, 5*time.Second), make(chan struct{}), make(chan error, 2)
		begin := func() net.Conn {
			near, far := net.Pipe()
			go func() { result <- turns.Do(t.Context(), near, nil, read(3, compute)) }()
			t.Cleanup(func() { _ = far.Close() })
			return far
		}
		busy, slow := begin(), begin()
		_, _ = busy.Write([]byte("abc"))
		synctest.Wait()
		time.Sleep(3 * time.Second)
		_, _ = slow.Write([]byte("a"))
		time.Sleep(time.Minute) // without a turn
		close(compute)
		if err := <-result; err != nil {
			t.Error(err)
		}
		at := time.Now()
		if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(at) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(at))
		}
	})
}
