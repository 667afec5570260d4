package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// A call whose context ends returns at once; the handler's context ends too, and the
// slot stays taken until the handler has returned: cancelling does not make room for
// more handlers than the peer allows.
func TestCancelKeepsTheSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		var running, most atomic.Int32
		release := make(chan struct{})
		wire.Handle(mux, "stubborn", func(ctx context.Context, _ []byte) ([]byte, error) {
			n := running.Add(1)
			defer running.Add(-1)
			if n > most.Load() {
				most.Store(n)
			}
			<-ctx.Done()
			<-release
			return nil, nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux, MaxInflight: 64})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			ctx, cancel := context.WithCancel(context.Background())
			result := make(chan error, 1)
			go func() {
				_, err := d.Call(ctx, "stubborn", nil)
				result <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		synctest.Wait()
		if n := running.Load(); n != 64 || most.Load() != 64 {
			t.Errorf("%d handlers run, %d at most", n, most.Load())
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := d.Call(within(t, time.Minute), "nobody", nil)
			waiting <- err
		}()
		synctest.Wait()
		close(release)
		isCode(t, <-waiting, wire.Unimplemented)
		settled(t, d, a)
	})
}

// The deadline travels with the call. The error is the same, whichever side notices it first.
func TestDeadlineTravels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		left := make(chan time.Duration, 1)
		wire.Handle(mux, "left", func(ctx context.Context, _ []byte) ([]byte, error) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			<-ctx.Done()
			if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				t.Errorf("in the handler: %v", err)
			}
			return nil, ctx.Err()
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		_, err := d.Call(within(t, 250*time.Millisecond), "left", nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if l := <-left; l != 250*time.Millisecond {
			t.Errorf("%v left", l)
		}
		// By the peer's clock alone.
		_, err = d.CallStream(context.Background(), "left", nil, wire.CallOptions{
			Meta: wire.Meta{HasDeadline: true, Deadline: time.Second},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-left
		_, err = d.CallStream(context.Background(), "left", nil, wire.CallOptions{Meta: wire.Meta{HasDeadline: true}})
		isCode(t, err, wire.DeadlineExceeded)
		settled(t, d, a)
	})
}

// More calls than slots wait, and honour their contexts while they do.
func TestSlotsOfCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		release := make(chan struct{})
		wire.Handle(mux, "wait", func(context.Context, []byte) ([]byte, error) {
			<-release
			return []byte("ok"), nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux, MaxInflight: 64})
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				if got, err := d.Call(context.Background(), "wait", nil); string(got) != "ok" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		if _, err := d.Call(within(t, time.Second), "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(release)
		wg.Wait()
		settled(t, d, a)
	})
}

// An answer over a frame is promoted and gathered, inline or not; beyond MaxMessage it
// is cancelled and its sender knows.
func TestLongAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		big := func(context.Context, []byte) ([]byte, error) { return payload(1 << 20), nil }
		wire.Handle(mux, "big", big)
		wire.Handle(mux, "big.inline", big, wire.Inline())
		wire.Handle(mux, "huge", func(context.Context, []byte) ([]byte, error) { return payload(5 << 20), nil })
		endless := make(chan error, 1)
		mux.HandleRequest("endless", func(ctx context.Context, r *wire.Request) error {
			s, err := r.Promote([]byte("head"))
			if err != nil {
				return err
			}
			for err == nil {
				_, err = s.Write(payload(10_000))
			}
			endless <- err
			<-ctx.Done()
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		for _, kind := range []string{"big", "big.inline"} {
			if got, err := d.Call(t.Context(), kind, nil); err != nil || !bytes.Equal(got, payload(1<<20)) {
				t.Errorf("%s: %d bytes, %v", kind, len(got), err)
			}
			got, err := d.CallAppend(t.Context(), []byte("before "), kind, nil)
			if err != nil || !bytes.Equal(got, append([]byte("before "), payload(1<<20)...)) {
				t.Errorf("%s: %d bytes, %v", kind, len(got), err)
			}
		}
		for _, kind := range []string{"huge", "endless"} {
			if got, err := d.CallAppend(t.Context(), []byte("before"), kind, nil); !errors.Is(err, wire.ErrTooLarge) || string(got) != "before" {
				t.Errorf("%s: %d bytes, %v", kind, len(got), err)
			}
		}
		isCode(t, <-endless, wire.Cancelled)
		if _, err := d.Call(t.Context(), "echo.slow", make([]byte, 70_000)); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("a body over a frame: %v", err)
		}
		settled(t, d, a)
	})
}

// CANCEL of an answer that is under way ends the handler's context, and so does the
// end of the reader.
func TestCancelOfAPromotedAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		ended := make(chan error, 1)
		mux.HandleRequest("feed", func(ctx context.Context, r *wire.Request) error {
			if _, err := r.Promote([]byte("head")); err != nil {
				return err
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		result := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, err := d.Call(ctx, "feed", nil)
			result <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("call: %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("handler: %v", err)
		}
		room := append(make([]byte, 0, 16), "mine "...)
		answer, err := d.CallStream(t.Context(), "feed", nil, wire.CallOptions{Into: room})
		if err != nil {
			t.Fatal(err)
		}
		if string(answer.Head) != "mine head" || &answer.Head[0] != &room[0] {
			t.Errorf("the head is %q, in other memory perhaps", answer.Head)
		}
		_ = answer.Stream.Reset(wire.Aborted)
		<-ended
		settled(t, d, a)
	})
}

// A body that goes on: the handler reads it while the caller writes, answers with a
// head and a stream, or refuses in the middle of it.
func TestBodyGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		mux.HandleRequest("up", func(_ context.Context, r *wire.Request) error {
			got, err := io.ReadAll(r.Stream())
			if err != nil {
				return err
			}
			return r.Respond(append(bytes.Clone(r.Body), got...))
		})
		mux.HandleRequest("both", func(_ context.Context, r *wire.Request) error {
			s, err := r.Promote([]byte("head"))
			if err == nil {
				_, err = io.Copy(s, s)
			}
			return err
		})
		mux.HandleRequest("refuse", func(_ context.Context, r *wire.Request) error {
			_, _ = r.Stream().Read(make([]byte, 10))
			return &wire.Error{Code: wire.PermissionDenied}
		})
		mux.HandleRequest("ignore", func(_ context.Context, r *wire.Request) error { return r.Respond([]byte("ok")) })
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		call := func(kind string) *wire.Stream {
			answer, err := d.CallStream(t.Context(), kind, []byte("begin "), wire.CallOptions{More: true})
			if err != nil {
				t.Fatal(err)
			}
			return answer.Stream
		}
		s := call("up")
		if _, err := s.Write(payload(20_000)); err != nil {
			t.Fatal(err)
		}
		_ = s.CloseWrite()
		if head, err := s.Accepted(t.Context()); err != nil || !bytes.Equal(head, append([]byte("begin "), payload(20_000)...)) {
			t.Errorf("up: %d bytes, %v", len(head), err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("up: %v", err)
		}
		s.Close()

		s = call("both")
		go func() {
			_, _ = s.Write(payload(2 << 20))
			_ = s.CloseWrite()
		}()
		head, err := s.Accepted(t.Context())
		got, err2 := io.ReadAll(s)
		if string(head) != "head" || err != nil || err2 != nil || !bytes.Equal(got, payload(2<<20)) {
			t.Errorf("both: %q, %d bytes, %v, %v", head, len(got), err, err2)
		}
		s.Close()

		for _, kind := range []string{"refuse", "ignore"} {
			s = call(kind)
			_, werr := s.Write(make([]byte, 4<<20))
			head, err = s.Accepted(t.Context())
			if kind == "refuse" {
				isCode(t, err, wire.PermissionDenied)
				isCode(t, werr, wire.PermissionDenied)
			} else if string(head) != "ok" || err != nil || werr == nil {
				t.Errorf("ignore: %q, %v, %v", head, err, werr)
			}
			s.Close()
		}
		settled(t, d, a)
	})
}

// A handler may call its caller, to any depth that slots allow.
func TestCallBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.Handle(mux, "down", func(ctx context.Context, body []byte) ([]byte, error) {
			if len(body) == 0 {
				return []byte("bottom"), nil
			}
			return wire.ConnFrom(ctx).Call(ctx, "down", body[1:])
		})
		d, a := piped(t, &wire.Config{Mux: mux}, &wire.Config{Mux: mux})
		for _, c := range []*wire.Conn{d, a} {
			if got, err := c.Call(within(t, time.Minute), "down", make([]byte, 60)); string(got) != "bottom" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		settled(t, d, a)
	})
}

// A handler that panics answers INTERNAL, ends its stream with INTERNAL, or counts as
// a failed post; the connection and its neighbours live.
func TestPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		wire.Handle(mux, "boom", func(context.Context, []byte) ([]byte, error) { panic("boom") })
		wire.Handle(mux, "boom.inline", func(context.Context, []byte) ([]byte, error) { panic("boom") }, wire.Inline())
		mux.HandleRequest("boom.late", func(_ context.Context, r *wire.Request) error {
			_, _ = r.Promote([]byte("head"))
			panic("boom")
		})
		mux.HandleStream("boom", func(_ context.Context, s *wire.Stream) error { panic("boom") })
		var mu sync.Mutex
		var posts []byte
		post := func(_ context.Context, b []byte) error {
			if string(b) == "x" {
				panic("boom")
			}
			mu.Lock()
			defer mu.Unlock()
			posts = append(posts, b...)
			return nil
		}
		wire.HandlePost(mux, "post", post)
		wire.HandlePost(mux, "post.inline", post, wire.Inline())
		d, a := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet})
		for _, kind := range []string{"boom", "boom.inline", "boom.late"} {
			_, err := d.Call(t.Context(), kind, nil)
			isCode(t, err, wire.Internal)
			if err != nil && strings.Contains(err.Error(), "calls_test") {
				t.Errorf("the stack was sent: %v", err)
			}
		}
		s, err := d.Open(t.Context(), "boom", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Read(make([]byte, 1))
		isCode(t, err, wire.Internal)
		s.Close()
		for _, kind := range []string{"post", "post.inline"} {
			posts = nil
			bodies := [][]byte{[]byte("a"), []byte("x"), []byte("b"), []byte("x"), []byte("c")}
			if err := d.PostBatch(t.Context(), kind, bodies); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if string(posts) != "abc" {
				t.Errorf("%s: a panic has taken others along: %q", kind, posts)
			}
		}
		if _, err := d.Call(t.Context(), "echo", nil); err != nil {
			t.Error(err)
		}
		settled(t, d, a)
	})
}

// Authorize is asked for each verb, wherever the handler runs.
func TestAuthorize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		ran := false
		wire.HandlePost(mux, "post", func(context.Context, []byte) error { ran = true; return nil })
		wire.HandlePost(mux, "post.inline", func(context.Context, []byte) error { ran = true; return nil }, wire.Inline())
		d, a := piped(t, nil, &wire.Config{Mux: mux, Authorize: func(_ *wire.Conn, kind string) error {
			return errors.New("no " + kind + " for you")
		}})
		for _, kind := range []string{"echo", "echo.slow"} {
			_, err := d.Call(t.Context(), kind, []byte("x"))
			isCode(t, err, wire.PermissionDenied)
		}
		s, err := d.Open(t.Context(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Read(make([]byte, 1))
		isCode(t, err, wire.PermissionDenied)
		s.Close()
		for _, kind := range []string{"post", "post.inline"} {
			if err := d.Post(t.Context(), kind, []byte("x")); err != nil {
				t.Error(err)
			}
		}
		settled(t, d, a)
		if ran {
			t.Error("a post was handled")
		}
	})
}

// The context of a request is one: children end with it, AfterFunc runs once,
// values are those of the connection.
func TestRequestContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		type key struct{}
		done := make(chan struct{})
		wire.Handle(mux, "ctx", func(ctx context.Context, _ []byte) ([]byte, error) {
			defer close(done)
			child, cancel := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
			defer cancel()
			var ran atomic.Int32
			context.AfterFunc(ctx, func() { ran.Add(1) })
			stop := context.AfterFunc(child, func() { ran.Add(10) })
			if !stop() || stop() {
				t.Error("stop")
			}
			context.AfterFunc(child, func() { ran.Add(100) })
			if child.Value(key{}) != 1 || wire.ConnFrom(child) == nil || ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Error("values")
			}
			<-child.Done()
			synctest.Wait()
			if n := ran.Load(); n != 101 {
				t.Errorf("functions ran: %d", n)
			}
			if ctx.Err() == nil || context.Cause(child) == nil || !errors.Is(child.Err(), ctx.Err()) {
				t.Errorf("%v, %v, %v", ctx.Err(), child.Err(), context.Cause(child))
			}
			context.AfterFunc(ctx, func() { ran.Add(1000) })
			synctest.Wait()
			if n := ran.Load(); n != 1101 {
				t.Errorf("functions ran: %d", n)
			}
			return nil, nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		if _, err := d.Call(within(t, time.Second), "ctx", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-done
		settled(t, d, a)
	})
}

// Close waits for handlers, with a bound, and names the kinds that still run.
func TestCloseNamesWhatRuns(t *testing.T) {
	for _, verb := range []string{"request", "stream", "post"} {
		t.Run(verb, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				release := make(chan struct{})
				wire.Handle(mux, "stuck.request", func(context.Context, []byte) ([]byte, error) { <-release; return nil, nil })
				wire.HandlePost(mux, "stuck.post", func(context.Context, []byte) error { <-release; return nil })
				mux.HandleStream("stuck.stream", func(context.Context, *wire.Stream) error { <-release; return nil })
				d, a := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet})
				if err := d.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				switch verb {
				case "request":
					wg.Go(func() { _, _ = d.Call(context.Background(), "stuck.request", nil) })
				case "post":
					_ = d.Post(t.Context(), "stuck.post", nil)
				case "stream":
					_, _ = d.Open(t.Context(), "stuck.stream", wire.OpenOptions{})
				}
				synctest.Wait()
				began := time.Now()
				if err := a.Close(); err == nil || !strings.Contains(err.Error(), "stuck."+verb) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("took %v", took)
				}
				close(release)
				wg.Wait()
			})
		})
	}
}
