package handshake

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// read is a handshake that wants so many bytes, and then computes until compute is closed.
func read(bytes int, compute <-chan struct{}) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.ReadFull(c, make([]byte, bytes))
		if err == nil {
			<-compute
		}
		return err
	}
}

// Those who say nothing hold no turn, however many they are; those who compute do, others
// wait for them in their order, and no longer than their contexts last.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 100)
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
		if n := turns.UnderWay(); n != 0 || len(turns.free) != 0 {
			t.Errorf("%d are under way in the end, %d turns are taken", n, len(turns.free))
		}
	})
}

// A handshake that panics gives its turn back.
func TestPanicGivesTheTurnBack(t *testing.T) {
	turns := NewTurns(1, 100)
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
	if n := len(turns.free); n != 0 || turns.UnderWay() != 0 {
		t.Errorf("%d turns are taken", n)
	}
}

// A peer sends no more than he may in a handshake, and as much as he wants behind it.
func TestHandshakesAreBounded(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = far.Write(make([]byte, 1_000))
		_ = far.Close()
	}()
	turns, n := NewTurns(1, 10), 0
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
