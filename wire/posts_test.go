package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// A slow handler of posts makes their sender wait, and the amount of waiting data is bounded.
// Requests and streams of the same connection go on.
func TestSlowPostHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		release := make(chan struct{})
		var handled atomic.Int64
		wire.HandlePost(mux, "slow", func(_ context.Context, b []byte) error {
			<-release
			handled.Add(int64(len(b)))
			return nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux, PostInitial: 256 << 10})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for {
			err := d.Post(within(t, time.Second), "slow", payload(1000))
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				break
			}
			sent += 1000
		}
		if sent < 200<<10 || sent > 256<<10 {
			t.Errorf("%d bytes were sent", sent)
		}
		if err := d.TryPost("slow", payload(1000)); !errors.Is(err, wire.ErrNoCredit) {
			t.Errorf("TryPost: %v", err)
		}
		if _, err := d.Call(within(t, time.Second), "echo.slow", payload(10_000)); err != nil {
			t.Error(err)
		}
		s, err := d.Open(t.Context(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = s.Write(payload(1 << 20))
			_ = s.CloseWrite()
		}()
		var got bytes.Buffer
		if _, err := s.WriteTo(&got); err != nil || got.Len() != 1<<20 {
			t.Errorf("stream: %d, %v", got.Len(), err)
		}
		close(release)
		settled(t, d, a)
		if handled.Load() != int64(sent) {
			t.Errorf("%d of %d bytes were handled", handled.Load(), sent)
		}
	})
}

// Credit and acknowledgements go back while the handlers of later posts still run: a sender never
// waits until all of its posts are handled.
func TestPostCreditComesInSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.HandlePost(mux, "slow", func(context.Context, []byte) error {
			time.Sleep(time.Second)
			return nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux, PostInitial: 64 << 10})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 64 { // of two kinds of frame, so that they are not merged
			if i%2 == 0 {
				_, err := d.PostAck(t.Context(), "slow", make([]byte, 1<<10))
				if err != nil {
					t.Fatal(err)
				}
			} else if err := d.Post(t.Context(), "slow", make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := d.WaitAcked(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the first acknowledgement took %v", took)
		}
		if err := d.Post(t.Context(), "slow", make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 33*time.Second {
			t.Errorf("the first credit took %v: half of the lane was done after 32 s", took)
		}
		if err := d.WaitAcked(t.Context(), 32); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		settled(t, d, a)
	})
}

// Posts that a handler got are acknowledged whatever becomes of them: served, failed
// or panicked.
func TestEveryPostIsAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.HandlePost(mux, "good", func(context.Context, []byte) error { time.Sleep(time.Second); return nil })
		wire.HandlePost(mux, "bad", func(context.Context, []byte) error { return errors.New("bad") })
		wire.HandlePost(mux, "boom", func(context.Context, []byte) error { panic("boom") })
		d, a := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet})
		var last uint64
		for i := range 40 {
			var err error
			kind := []string{"good", "bad", "boom"}[i%3]
			if last, err = d.PostAck(t.Context(), kind, []byte(kind)); err != nil {
				t.Fatal(err)
			}
		}
		if last != 40 {
			t.Errorf("numbered up to %d", last)
		}
		if err := d.WaitAcked(within(t, time.Minute), last); err != nil {
			t.Error(err)
		}
		settled(t, d, a)
	})
}

// A post that finds no handler is not acknowledged: it ends the connection, which says
// why. Without the wish to know, it is dropped and nothing else happens.
func TestPostsWithoutHandlerAreNotAcknowledged(t *testing.T) {
	for _, c := range []struct {
		kind string
		code wire.Code
	}{{"nobody", wire.Unimplemented}, {"forbidden", wire.PermissionDenied}} {
		t.Run(c.kind, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				wire.HandlePost(mux, "good", func(context.Context, []byte) error { return nil })
				wire.HandlePost(mux, "forbidden", func(context.Context, []byte) error { t.Error("handled"); return nil })
				d, a := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet, Authorize: func(_ *wire.Conn, kind string) error {
					if kind == "forbidden" {
						return errors.New("not yours")
					}
					return nil
				}})
				if err := d.Post(t.Context(), c.kind, []byte("dropped")); err != nil {
					t.Fatal(err)
				}
				good, err := d.PostAck(t.Context(), "good", nil)
				if err == nil {
					err = d.WaitAcked(within(t, time.Minute), good)
				}
				if err != nil {
					t.Fatal(err)
				}
				lost, err := d.PostAck(t.Context(), c.kind, []byte("kept"))
				if err != nil {
					t.Fatal(err)
				}
				isCode(t, d.WaitAcked(within(t, time.Minute), lost), c.code)
				<-a.Done()
				isCode(t, a.Err(), c.code)
			})
		})
	}
}

// While there is no room only the latest body of a key is kept, and it does arrive,
// whatever there was no room for: credit, or bytes in the output.
func TestPostKeyed(t *testing.T) {
	for _, size := range []int{8, 1000, 30_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				latest := map[byte]uint32{}
				wire.HandlePost(mux, "pos", func(_ context.Context, b []byte) error {
					time.Sleep(time.Millisecond)
					if n := binary.LittleEndian.Uint32(b[1:]); n < latest[b[0]] {
						t.Errorf("key %d: %d after %d", b[0], n, latest[b[0]])
					}
					latest[b[0]] = binary.LittleEndian.Uint32(b[1:])
					return nil
				})
				dc, ac := wiretest.Pipe(4 << 10)
				d, a := over(t, dc, ac, nil, &wire.Config{Mux: mux})
				if err := d.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				body := make([]byte, size)
				for i := range 5000 {
					body[0] = byte(i % 10)
					binary.LittleEndian.PutUint32(body[1:], uint32(i))
					if err := d.PostKeyed("pos", string(body[:1]), body); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				settled(t, d, a)
				for k := range byte(10) {
					if latest[k] != 4990+uint32(k) {
						t.Errorf("key %d: the last is %d", k, latest[k])
					}
				}
			})
		})
	}
}

// A goroutine that waits for room is woken by the end of the connection, however full the output
// is. Posts fail from then on.
func TestWaitersAtTheEnd(t *testing.T) {
	for _, end := range []string{"closed", "write fails"} {
		t.Run(end, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				dc, ac := wiretest.Pipe(4 << 10)
				f := wiretest.Faulty(dc, wiretest.Faults{})
				d, _ := over(t, f, ac, &wire.Config{Logger: quiet}, &wire.Config{Mux: echoMux()})
				if err := d.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				f.Stall(wiretest.Out)
				failed := make(chan error, 30)
				for range 10 {
					go func() {
						var err error
						for err == nil {
							err = d.Post(context.Background(), "nobody", make([]byte, 20_000))
						}
						failed <- err
					}()
					go func() {
						_, err := d.Call(context.Background(), "echo", make([]byte, 60_000))
						failed <- err
					}()
					go func() {
						_, err := d.Call(context.Background(), "echo.slow", make([]byte, 60_000))
						failed <- err
					}()
				}
				synctest.Wait()
				if end == "closed" {
					d.Close()
				} else {
					f.Cut()
				}
				for range 30 {
					if err := <-failed; !errors.Is(err, wire.ErrNotSent) && !errors.Is(err, wire.ErrMaybeSent) {
						t.Errorf("got %v", err)
					}
				}
				if err := d.Post(context.Background(), "nobody", nil); err == nil {
					t.Error("a post after the end")
				}
				if err := d.TryPost("nobody", nil); err == nil || errors.Is(err, wire.ErrNoCredit) {
					t.Errorf("TryPost: %v", err)
				}
				if err := d.PostKeyed("nobody", "k", nil); err == nil {
					t.Error("PostKeyed after the end")
				}
			})
		})
	}
}

// Corked output waits for uncork, unless a goroutine would have to wait for it.
func TestCork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := sinkMux()
		var posts atomic.Int64
		wire.HandlePost(mux, "post", func(context.Context, []byte) error { posts.Add(1); return nil })
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s, err := d.Open(t.Context(), "sink", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		uncork := d.Cork()
		for range 10 {
			if err := d.Post(t.Context(), "post", []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := posts.Load(); n != 0 {
			t.Errorf("%d corked posts have left", n)
		}
		uncork()
		uncork()
		synctest.Wait()
		if n := posts.Load(); n != 10 {
			t.Errorf("%d posts after uncork", n)
		}
		uncork = d.Cork()
		for range 3000 { // over what may be queued
			if err := d.Post(within(t, time.Minute), "post", make([]byte, 1000)); err != nil {
				t.Fatalf("a post under the cork waits for itself: %v", err)
			}
		}
		_ = s.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := s.Write(make([]byte, 100_000)); err != nil {
			t.Errorf("a write under the cork waits for itself: %v", err)
		}
		if err := d.Flush(within(t, time.Minute)); err != nil {
			t.Errorf("flush under the cork: %v", err)
		}
		if _, err := d.Call(within(t, time.Minute), "echo", nil); err != nil {
			t.Errorf("a call under the cork waits for itself: %v", err)
		}
		if _, err := d.Open(within(t, time.Minute), "nobody", wire.OpenOptions{Confirm: true}); err == nil {
			t.Error("opened a kind that nobody serves")
		} else {
			isCode(t, err, wire.Unimplemented)
		}
		if number, err := d.PostAck(t.Context(), "post", nil); err != nil {
			t.Error(err)
		} else if err := d.WaitAcked(within(t, time.Minute), number); err != nil {
			t.Errorf("an acknowledgement under the cork waits for itself: %v", err)
		}
		uncork()
		s.Close()
		settled(t, d, a)
		if n := posts.Load(); n != 3011 {
			t.Errorf("%d posts", n)
		}
	})
}

// A Write that began under the cork goes on after it.
func TestUncorkWakesStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a := piped(t, nil, &wire.Config{Mux: sinkMux()})
		s, err := d.Open(t.Context(), "sink", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		uncork := d.Cork()
		written := make(chan error, 1)
		go func() {
			_ = s.SetWriteDeadline(time.Now().Add(time.Minute))
			_, err := s.Write(make([]byte, 2<<20))
			written <- err
		}()
		synctest.Wait()
		uncork()
		if err := <-written; err != nil {
			t.Error(err)
		}
		s.Close()
		settled(t, d, a)
	})
}
