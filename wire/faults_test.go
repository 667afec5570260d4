package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// mixed does some of everything on both connections at once, and returns how it
// went. Whatever it is told has happened, has.
func mixed(t *testing.T, d, a *wire.Conn) (failed int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	note := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed++
		}
	}
	for _, c := range []*wire.Conn{d, a} {
		wg.Go(func() {
			body := payload(3000)
			for _, kind := range []string{"echo", "echo.slow"} {
				got, err := c.Call(context.Background(), kind, body)
				if note(err); err == nil && !bytes.Equal(got, body) {
					t.Errorf("%s: a wrong answer of %d bytes", kind, len(got))
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				note(c.Post(context.Background(), "nobody", payload(100)))
			}
		})
		wg.Go(func() {
			s, err := c.Open(context.Background(), "echo", wire.OpenOptions{})
			if note(err); err != nil {
				return
			}
			defer s.Close()
			var writing sync.WaitGroup
			defer writing.Wait()
			writing.Go(func() {
				_, err := s.Write(payload(20_000))
				note(err)
				_ = s.CloseWrite()
			})
			got, err := io.ReadAll(s)
			note(err)
			if !bytes.HasPrefix(payload(20_000), got) || err == nil && len(got) != 20_000 {
				t.Errorf("stream: %d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	return failed
}

// The connection is reset at each of many places, in and between frames: everything
// under way ends at both sides, with an error, and nothing is left.
func TestCutEverywhere(t *testing.T) {
	for at := int64(0); at < 60_000; at += 1 + at/16 {
		bubble(t, func(t *testing.T) {
			dc, ac := wiretest.Pipe(0)
			cut := wiretest.Faulty(dc, wiretest.Faults{Out: wiretest.Flow{Cut: wiretest.At(at)}})
			cfg := &wire.Config{Mux: echoMux(), Logger: quiet}
			d, a := over(t, cut, ac, cfg, cfg)
			failed := mixed(t, d, a)
			if at < 10_000 && failed == 0 {
				t.Errorf("cut at %d: nothing has failed", at)
			}
			if failed > 0 {
				<-d.Done()
				<-a.Done()
			}
		})
	}
}

// A write fails, each one in its turn.
func TestEveryWriteFails(t *testing.T) {
	for fail := 1; fail < 40; fail++ {
		bubble(t, func(t *testing.T) {
			dc, ac := wiretest.Pipe(4 << 10)
			bad := wiretest.Faulty(dc, wiretest.Faults{Out: wiretest.Flow{Fail: fail}})
			cfg := &wire.Config{Mux: echoMux(), Logger: quiet}
			d, a := over(t, bad, ac, cfg, cfg)
			if mixed(t, d, a) > 0 {
				<-d.Done()
				<-a.Done()
				if err := d.Err(); !errors.Is(err, wiretest.ErrInjected) && !errors.Is(err, wire.ErrClosed) {
					t.Errorf("write %d: %v", fail, err)
				}
			}
		})
	}
}

// Reads of one byte and short writes change nothing.
func TestSmallPieces(t *testing.T) {
	for _, chunk := range []int{1, 7, 100} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				dc, ac := wiretest.Pipe(0)
				small := wiretest.Faults{In: wiretest.Flow{Chunk: chunk}, Out: wiretest.Flow{Chunk: chunk}, Seed: uint64(chunk)}
				cfg := &wire.Config{Mux: echoMux()}
				d, a := over(t, wiretest.Faulty(dc, small), wiretest.Faulty(ac, small), cfg, cfg)
				if n := mixed(t, d, a); n != 0 {
					t.Errorf("%d have failed", n)
				}
				settled(t, d, a)
			})
		})
	}
}

// The socket's own verdict about a dead peer is ErrPeerDead too.
func TestSocketTimeoutIsPeerDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dc, ac := wiretest.Pipe(0)
		late := wiretest.Faulty(dc, wiretest.Faults{In: wiretest.Flow{Fail: 3, Err: syscall.ETIMEDOUT}})
		d, _ := over(t, late, ac, &wire.Config{Logger: quiet}, &wire.Config{Mux: echoMux()})
		for d.Err() == nil {
			_, _ = d.Call(context.Background(), "echo", nil)
		}
		if err := d.Err(); !errors.Is(err, wire.ErrPeerDead) {
			t.Errorf("got %v", err)
		}
	})
}

// Both sides flood each other with all kinds of frames through a narrow pipe. No goroutine waits
// for ever.
func TestMutualFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dc, ac := wiretest.Pipe(1 << 10)
		mux := sinkMux()
		wire.HandlePost(mux, "post", func(context.Context, []byte) error { return nil })
		wire.Handle(mux, "back", func(ctx context.Context, body []byte) ([]byte, error) {
			return wire.ConnFrom(ctx).Call(ctx, "echo.slow", body)
		})
		cfg := &wire.Config{Mux: mux, MaxInflight: 64, ConnBudget: 8 << 20, StreamInitial: 64 << 10, MaxWindow: 256 << 10, PostInitial: 64 << 10}
		d, a := over(t, dc, ac, cfg, cfg)
		ctx := within(t, time.Hour)
		var wg sync.WaitGroup
		for _, c := range []*wire.Conn{d, a} {
			for range 4 {
				wg.Go(func() {
					for range 100 {
						if err := c.Post(ctx, "post", make([]byte, 5000)); err != nil {
							t.Errorf("post: %v", err)
							return
						}
					}
				})
				for _, kind := range []string{"echo", "echo.slow", "back"} {
					wg.Go(func() {
						for range 8 {
							if _, err := c.Call(ctx, kind, make([]byte, 50_000)); err != nil {
								t.Errorf("%s: %v", kind, err)
								return
							}
						}
					})
				}
				wg.Go(func() {
					s, err := c.Open(ctx, "echo", wire.OpenOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					wg.Go(func() {
						_, _ = s.Write(make([]byte, 1<<20))
						_ = s.CloseWrite()
					})
					if n, err := io.Copy(io.Discard, s); n != 1<<20 || err != nil {
						t.Errorf("echo: %d, %v", n, err)
					}
				})
			}
		}
		wg.Wait()
		settled(t, d, a)
	})
}

// A socket that stops taking bytes makes senders wait, with a bound on what waits;
// when it goes on, so do they, and nothing is lost.
func TestStalledSocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dc, ac := wiretest.Pipe(0)
		stall := wiretest.Faulty(dc, wiretest.Faults{})
		d, a := over(t, stall, ac, &wire.Config{Mux: echoMux(), Idle: time.Minute}, &wire.Config{Mux: sinkMux()})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := inUse()
		stall.Stall(wiretest.Out)
		var wg sync.WaitGroup
		failed := make(chan int, 1)
		wg.Go(func() { failed <- mixed(t, d, a) })
		for range 20 {
			wg.Go(func() {
				for range 50 {
					_ = d.Post(context.Background(), "nobody", make([]byte, 30_000))
				}
			})
			wg.Go(func() {
				if _, err := d.Call(context.Background(), "echo", make([]byte, 60_000)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := d.Queued(); n > 2*(256<<10)+60_000 {
			t.Errorf("%d bytes wait", n)
		}
		if grown := inUse() - before; grown > 16<<20 {
			t.Errorf("memory has grown by %d", grown)
		}
		time.Sleep(10 * time.Second)
		stall.Resume(wiretest.Out)
		wg.Wait()
		if n := <-failed; n != 0 {
			t.Errorf("%d have failed", n)
		}
		settled(t, d, a)
	})
}

// One flipped byte never hangs or panics anybody; what is decoded wrongly ends the
// connection with an error that says so.
func TestCorruption(t *testing.T) {
	for at := int64(0); at < 5_000; at += 1 + at/8 {
		bubble(t, func(t *testing.T) {
			dc, ac := wiretest.Pipe(0)
			bad := wiretest.Faulty(dc, wiretest.Faults{Out: wiretest.Flow{Corrupt: wiretest.At(at), Mask: byte(1 << (at % 8))}})
			cfg := &wire.Config{Mux: echoMux(), Logger: quiet, Idle: time.Second}
			d, a := over(t, bad, ac, cfg, cfg)
			ctx := within(t, time.Minute)
			for _, c := range []*wire.Conn{d, a} {
				_, _ = c.Call(ctx, "echo", payload(500))
				_, _ = c.Call(ctx, "echo.slow", payload(500))
				_ = c.Post(ctx, "nobody", payload(500))
			}
			synctest.Wait()
			for _, c := range []*wire.Conn{d, a} {
				if err := c.Err(); err != nil && !strings.HasPrefix(err.Error(), "wire: ") {
					t.Errorf("at %d: %v", at, err)
				}
			}
		})
	}
}
