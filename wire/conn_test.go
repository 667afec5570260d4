package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"paddock/wire"
)

// connect returns a dialer and an acceptor that talk over TCP on loopback.
func connect(tb testing.TB, dialer, acceptor *wire.Config) (d, a *wire.Conn) {
	tb.Helper()
	return connectBy(tb, "tcp", "127.0.0.1:0", dialer, acceptor)
}

// connectBy is connect over a listener of its own.
func connectBy(tb testing.TB, network, address string, dialer, acceptor *wire.Config) (d, a *wire.Conn) {
	tb.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, _ := l.Accept()
		accepted <- nc
	}()
	d, err = wire.Dial(tb.Context(), network, l.Addr().String(), dialer)
	if err != nil {
		tb.Fatal(err)
	}
	a, err = wire.AcceptConn(<-accepted, acceptor)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, c := range []*wire.Conn{d, a} {
			if err := c.Close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return d, a
}

// echoMux serves "echo" as a request, inline and not, and as a stream.
func echoMux() *wire.Mux {
	mux := wire.NewMux()
	echo := func(_ context.Context, body []byte) ([]byte, error) { return body, nil }
	wire.Handle(mux, "echo", echo, wire.Inline())
	wire.Handle(mux, "echo.slow", echo)
	mux.HandleStream("echo", func(_ context.Context, s *wire.Stream) error {
		_, err := io.Copy(s, s)
		return err
	})
	return mux
}

func TestCallBothWays(t *testing.T) {
	d, a := connect(t, &wire.Config{Mux: echoMux()}, &wire.Config{Mux: echoMux()})
	for _, c := range []*wire.Conn{d, a} {
		for _, kind := range []string{"echo", "echo.slow"} {
			for _, n := range []int{0, 1, 64, 5000, 60_000} {
				body := bytes.Repeat([]byte{'x'}, n)
				got, err := c.Call(t.Context(), kind, body)
				if err != nil || !bytes.Equal(got, body) {
					t.Fatalf("%v %s of %d bytes: %d bytes, %v", c.Dialed(), kind, n, len(got), err)
				}
			}
		}
	}
}

func TestCallUnknownKind(t *testing.T) {
	d, _ := connect(t, nil, nil)
	_, err := d.Call(t.Context(), "nobody", nil)
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != wire.Unimplemented || !e.NotStarted {
		t.Fatalf("got %v", err)
	}
}

func TestStreamEcho(t *testing.T) {
	d, a := connect(t, &wire.Config{Mux: echoMux()}, &wire.Config{Mux: echoMux()})
	for _, c := range []*wire.Conn{d, a} {
		s, err := c.Open(t.Context(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sent := make([]byte, 3<<20)
		for i := range sent {
			sent[i] = byte(i >> 8)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if n, err := s.Write(sent); err != nil {
				t.Errorf("write: %d, %v", n, err)
			}
			if err := s.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		got, err := io.ReadAll(s)
		wg.Wait()
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		s.Close()
	}
}

func TestPostsInOrder(t *testing.T) {
	mux := wire.NewMux()
	var mu sync.Mutex
	var got []byte
	done := make(chan struct{})
	wire.HandlePost(mux, "p", func(_ context.Context, b []byte) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, b...)
		if len(got) == 100_000 {
			close(done)
		}
		return nil
	})
	d, _ := connect(t, nil, &wire.Config{Mux: mux})
	for i := range 100_000 {
		if err := d.Post(t.Context(), "p", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	for i, b := range got {
		if b != byte(i) {
			t.Fatalf("post %d is %d", i, b)
		}
	}
}

func TestDrain(t *testing.T) {
	mux := wire.NewMux()
	entered, release := make(chan struct{}), make(chan struct{})
	wire.Handle(mux, "wait", func(context.Context, []byte) ([]byte, error) {
		close(entered)
		<-release
		return []byte("done"), nil
	})
	d, a := connect(t, nil, &wire.Config{Mux: mux})
	answered := make(chan error, 1)
	go func() {
		got, err := d.Call(context.Background(), "wait", nil)
		if string(got) != "done" {
			t.Errorf("got %q", got)
		}
		answered <- err
	}()
	<-entered
	drained := make(chan error, 1)
	go func() { drained <- a.Drain(context.Background()) }()
	<-d.GoingAway()
	if _, err := d.Call(t.Context(), "wait", nil); !errors.Is(err, wire.ErrDraining) {
		t.Errorf("a call after GOAWAY: %v", err)
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
	<-d.Done()
}

func BenchmarkCall(b *testing.B) {
	d, _ := connect(b, nil, &wire.Config{Mux: echoMux()})
	body := make([]byte, 64)
	b.Run("1", func(b *testing.B) {
		var dst []byte
		for b.Loop() {
			dst, _ = d.CallAppend(b.Context(), dst[:0], "echo", body)
		}
	})
	b.Run("100", func(b *testing.B) {
		b.SetParallelism(50)
		b.RunParallel(func(pb *testing.PB) {
			var dst []byte
			for pb.Next() {
				var err error
				if dst, err = d.CallAppend(context.Background(), dst[:0], "echo", body); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkPost(b *testing.B) {
	mux := wire.NewMux()
	wire.HandlePost(mux, "p", func(context.Context, []byte) error { return nil }, wire.Inline())
	d, _ := connect(b, nil, &wire.Config{Mux: mux})
	body := make([]byte, 64)
	b.Run("1", func(b *testing.B) {
		b.SetBytes(64)
		for b.Loop() {
			_ = d.Post(context.Background(), "p", body)
		}
	})
	b.Run("100", func(b *testing.B) {
		b.SetBytes(64)
		b.SetParallelism(50)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = d.Post(context.Background(), "p", body)
			}
		})
	})
}

func BenchmarkStream(b *testing.B) {
	mux := wire.NewMux()
	mux.HandleStream("sink", func(_ context.Context, s *wire.Stream) error {
		_, err := io.Copy(io.Discard, s)
		return err
	})
	d, _ := connect(b, nil, &wire.Config{Mux: mux})
	s, _ := d.Open(context.Background(), "sink", wire.OpenOptions{})
	p := make([]byte, 64<<10)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if _, err := s.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
}
