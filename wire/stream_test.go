package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// taker serves streams of "s", and hands each to the test until it is released.
type taker struct {
	*wire.Mux
	streams chan *wire.Stream
	release chan struct{}
	result  error
}

func newTaker() *taker {
	tk := &taker{wire.NewMux(), make(chan *wire.Stream, 4096), make(chan struct{}), nil}
	tk.HandleStream("s", func(_ context.Context, s *wire.Stream) error {
		tk.streams <- s
		<-tk.release
		return tk.result
	})
	return tk
}

// streamPair is a stream between two connections, from both sides. The handler at
// the acceptor stays until release is called.
func streamPair(t *testing.T, dialer, acceptor *wire.Config, o wire.OpenOptions) (d, a *wire.Conn, ds, as *wire.Stream, release func()) {
	t.Helper()
	tk := newTaker()
	own := wire.Config{}
	if acceptor != nil {
		own = *acceptor
	}
	own.Mux = tk.Mux
	d, a = piped(t, dialer, &own)
	ds, err := d.Open(t.Context(), "s", o)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { close(tk.release) })
	t.Cleanup(release)
	return d, a, ds, <-tk.streams, release
}

// Half-close, both ways: the other half goes on.
func TestCloseWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
		for _, way := range [][2]*wire.Stream{{ds, as}, {as, ds}} {
			from, to := way[0], way[1]
			if _, err := from.Write([]byte("the end")); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time nothing happens
				if err := from.CloseWrite(); err != nil {
					t.Error(err)
				}
			}
			got, err := io.ReadAll(to)
			if string(got) != "the end" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if _, err := from.Write([]byte("more")); err == nil {
				t.Error("a write after CloseWrite")
			}
		}
		release()
		settled(t, d, a)
	})
}

// What is reset shows at the peer as *Error with the code, in reads and writes.
func TestResetCode(t *testing.T) {
	for _, who := range []string{"opener", "handler"} {
		t.Run(who, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
				one, other := ds, as
				if who == "handler" {
					one, other = as, ds
				}
				blocked := make(chan error, 2)
				go func() {
					_, err := other.Write(make([]byte, 1<<20))
					blocked <- err
				}()
				go func() {
					_, err := other.Read(make([]byte, 1))
					blocked <- err
				}()
				synctest.Wait()
				if err := one.Reset(wire.FirstApplicationCode + 7); err != nil {
					t.Error(err)
				}
				for range 2 {
					isCode(t, <-blocked, wire.FirstApplicationCode+7)
				}
				_, err := other.Read(make([]byte, 1))
				isCode(t, err, wire.FirstApplicationCode+7)
				_, err = other.Write(make([]byte, 1))
				isCode(t, err, wire.FirstApplicationCode+7)
				if _, err := one.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("own read: %v", err)
				}
				release()
				settled(t, d, a)
			})
		})
	}
}

// A reader that is gone stops the writer at once (STOP), and its own bytes still
// arrive.
func TestCloseStopsTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
		failed := make(chan error, 1)
		go func() {
			_, err := as.Write(make([]byte, 1<<20))
			failed <- err
		}()
		if _, err := ds.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		ds.Close()
		isCode(t, <-failed, wire.Cancelled)
		if got, err := io.ReadAll(as); string(got) != "last words" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		release()
		settled(t, d, a)
	})
}

// Close wakes reads and writes of its own side.
func TestCloseUnblocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a, ds, _, release := streamPair(t, nil, nil, wire.OpenOptions{})
		blocked := make(chan error, 3)
		for range 2 {
			go func() {
				_, err := ds.Read(make([]byte, 1))
				blocked <- err
			}()
		}
		go func() {
			_, err := ds.Write(make([]byte, 1<<20))
			blocked <- err
		}()
		synctest.Wait()
		ds.Close()
		for range 3 {
			if err := <-blocked; !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		release()
		settled(t, d, a)
	})
}

// All methods of a stream may be called after its connection has ended.
func TestStreamAfterTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, _, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
		release()
		d.Close()
		synctest.Wait()
		for _, s := range []*wire.Stream{ds, as} {
			if _, err := s.Read(make([]byte, 1)); err == nil {
				t.Error("read")
			}
			if _, err := s.Write(make([]byte, 1)); err == nil {
				t.Error("write")
			}
			_ = s.CloseWrite()
			_ = s.SetDeadline(time.Now())
			_ = s.Reset(wire.Cancelled)
			_ = s.Close()
		}
	})
}

// Deadlines end reads, and writes that wait for credit; after them the stream goes on.
func TestStreamDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
		began := time.Now()
		_ = ds.SetReadDeadline(began.Add(3 * time.Second))
		if _, err := ds.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		_ = ds.SetWriteDeadline(began.Add(5 * time.Second))
		n, err := ds.Write(payload(1 << 20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != 64<<10 {
			t.Errorf("write: %d, %v", n, err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		_ = ds.SetDeadline(time.Time{})
		go func() {
			_, _ = ds.Write(payload(1 << 20)[n:])
			_ = ds.CloseWrite()
		}()
		got, err := io.ReadAll(as)
		if err != nil || !bytes.Equal(got, payload(1<<20)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		release()
		settled(t, d, a)
	})
}

// With Confirm nothing is sent before the peer has decided. An acceptance brings a
// head, a refusal its code and when to come again.
func TestConfirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		mux.HandleStream("yes", func(_ context.Context, s *wire.Stream) error {
			if err := s.Accept([]byte("welcome")); err != nil {
				return err
			}
			_, err := io.Copy(s, s)
			return err
		})
		mux.HandleStream("silent", func(_ context.Context, s *wire.Stream) error {
			_, err := s.Write([]byte("hi")) // accepts as well
			return err
		})
		mux.HandleStream("no", func(context.Context, *wire.Stream) error {
			return &wire.Error{Code: wire.ResourceExhausted, Msg: "full", RetryAfter: 3 * time.Second, NotStarted: true}
		})
		mux.HandleStream("rude", func(_ context.Context, s *wire.Stream) error { return s.Reset(wire.Aborted) })
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s, err := d.Open(within(t, time.Second), "yes", wire.OpenOptions{Confirm: true})
		if err != nil {
			t.Fatal(err)
		}
		head, err := s.Accepted(t.Context())
		if string(head) != "welcome" || err != nil {
			t.Errorf("got %q, %v", head, err)
		}
		go func() {
			_, _ = s.Write(payload(1 << 20))
			_ = s.CloseWrite()
		}()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, payload(1<<20)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		s, err = d.Open(within(t, time.Second), "silent", wire.OpenOptions{Confirm: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s); string(got) != "hi" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		s.Close()
		_, err = d.Open(within(t, time.Second), "no", wire.OpenOptions{Confirm: true})
		isCode(t, err, wire.ResourceExhausted)
		var e *wire.Error
		if errors.As(err, &e) && (e.RetryAfter != 3*time.Second || !e.NotStarted || e.Msg != "full") {
			t.Errorf("got %+v", e)
		}
		_, err = d.Open(within(t, time.Second), "nobody", wire.OpenOptions{Confirm: true})
		isCode(t, err, wire.Unimplemented)
		_, err = d.Open(within(t, time.Second), "rude", wire.OpenOptions{Confirm: true})
		isCode(t, err, wire.Aborted)
		settled(t, d, a)
	})
}

// A refusal without Confirm fails reads and writes that are under way, and the
// bytes that were sent give their credit back.
func TestRefusalAfterData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		mux.HandleStream("later", func(context.Context, *wire.Stream) error {
			time.Sleep(time.Second)
			return &wire.Error{Code: wire.PermissionDenied}
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		for _, kind := range []string{"later", "nobody"} {
			s, err := d.Open(t.Context(), kind, wire.OpenOptions{First: []byte("first")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Write(make([]byte, 1<<20))
			want := wire.PermissionDenied
			if kind == "nobody" {
				want = wire.Unimplemented
			}
			isCode(t, err, want)
			_, err = s.Read(make([]byte, 1))
			isCode(t, err, want)
			s.Close()
		}
		settled(t, d, a)
	})
}

// OPEN brings first data and what Meta says; the bytes come before those of writes.
func TestOpenFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{
			First: []byte("first "),
			Meta:  wire.Meta{HasPriority: true, Priority: 9, Traceparent: []byte(trace)},
		})
		if m := as.Meta(); !m.HasPriority || m.Priority != 9 || string(m.Traceparent) != trace {
			t.Errorf("got %+v", m)
		}
		if _, err := ds.Write([]byte("second")); err != nil {
			t.Fatal(err)
		}
		ds.Close()
		if got, err := io.ReadAll(as); string(got) != "first second" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		release()
		settled(t, d, a)
	})
}

// First data is a message of its own, as every write is; what can never be sent is
// refused, not waited for.
func TestOpenFirstIsAMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		small := &wire.Config{StreamInitial: 64 << 10, MaxFrame: 1 << 20}
		d, a, ds, as, release := streamPair(t, nil, small, wire.OpenOptions{First: []byte("one")})
		if err := ds.WriteMsg([]byte("two")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"one", "two"} {
			if got, err := as.ReadMsg(nil); string(got) != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
		_, err := d.Open(within(t, time.Minute), "s", wire.OpenOptions{First: make([]byte, 65<<10)})
		if !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("first data over the stream's window: %v", err)
		}
		release()
		ds.Close()
		settled(t, d, a)
	})
}

// Messages keep their borders: empty ones, and those larger than a frame and than
// the window.
func TestMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a, ds, as, release := streamPair(t, nil, nil, wire.OpenOptions{})
		sizes := []int{0, 1, 0, 0, 4096, 4097, 65_536, 65_537, 300_000, 0, 1 << 20, 7, 0}
		for _, way := range [][2]*wire.Stream{{ds, as}, {as, ds}} {
			go func() {
				for _, n := range sizes {
					if err := way[0].WriteMsg(payload(n)); err != nil {
						t.Error(err)
					}
				}
				_ = way[0].CloseWrite()
			}()
			var buf []byte
			for i, n := range sizes {
				got, err := way[1].ReadMsg(buf[:0])
				if err != nil || !bytes.Equal(got, payload(n)) {
					t.Fatalf("message %d: %d bytes, want %d, %v", i, len(got), n, err)
				}
				buf = got
			}
			if _, err := way[1].ReadMsg(nil); !errors.Is(err, io.EOF) {
				t.Errorf("got %v", err)
			}
		}
		release()
		settled(t, d, a)
	})
}

// A message without bytes is not lost while others have the line.
func TestEmptyMessageBesideBulk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tk := newTaker()
		dc, ac := wiretest.Pipe(4 << 10)
		d, a := over(t, dc, ac, nil, &wire.Config{Mux: tk.Mux})
		bulk, err := d.Open(t.Context(), "s", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		small, err := d.Open(t.Context(), "s", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		streams := map[bool]*wire.Stream{}
		_ = small.WriteMsg([]byte("small"))
		_ = bulk.WriteMsg([]byte("bulk!"))
		for range 2 {
			s := <-tk.streams
			first, _ := s.ReadMsg(nil)
			streams[string(first) == "bulk!"] = s
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = bulk.Write(make([]byte, 4<<20))
			_ = bulk.CloseWrite()
		})
		wg.Go(func() {
			for range 1000 {
				if err := small.WriteMsg(nil); err != nil {
					t.Error(err)
				}
			}
			_ = small.CloseWrite()
		})
		wg.Go(func() { _, _ = io.Copy(io.Discard, streams[true]) })
		n := 0
		for {
			if _, err := streams[false].ReadMsg(nil); err != nil {
				break
			}
			n++
		}
		if n != 1000 {
			t.Errorf("%d of 1000 empty messages", n)
		}
		wg.Wait()
		close(tk.release)
		settled(t, d, a)
	})
}

// A message over Config.MaxMessage is not gathered.
func TestReadMsgLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, _, ds, as, _ := streamPair(t, nil, &wire.Config{MaxMessage: 1000}, wire.OpenOptions{})
		go func() { _ = ds.WriteMsg(payload(5000)) }()
		if got, err := as.ReadMsg(nil); !errors.Is(err, wire.ErrTooLarge) || len(got) > 1000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// A proxy of two io.Copy carries both halves and their ends.
func TestProxy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, c := piped(t, nil, &wire.Config{Mux: echoMux()})
		mux := wire.NewMux()
		mux.HandleStream("proxy", func(ctx context.Context, s *wire.Stream) error {
			onward, err := b.Open(ctx, "echo", wire.OpenOptions{})
			if err != nil {
				return err
			}
			defer onward.Close()
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				_, _ = io.Copy(onward, s)
				_ = onward.CloseWrite()
			})
			_, err = io.Copy(s, onward)
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s, err := d.Open(t.Context(), "proxy", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = s.Write(payload(3 << 20))
			_ = s.CloseWrite()
		}()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, payload(3<<20)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		settled(t, d, a)
		settled(t, b, c)
	})
}
