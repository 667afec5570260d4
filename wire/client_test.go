package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

func mustCall(t *testing.T, c wire.Caller, body string) {
	t.Helper()
	got, err := c.Call(t.Context(), "echo", []byte(body))
	if err != nil || string(got) != body {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestClientReconnects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &backend{}
		c := b.client(t, wire.ClientConfig{})
		for i := range 5 {
			mustCall(t, c, fmt.Sprint(i))
			b.cut()
			synctest.Wait()
		}
		mustCall(t, c, "after")
		if s := c.Stats(); s.Connects != 6 || s.Failures != 5 || s.Connections != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestClientNeverGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &backend{down: errRefused}
		c := b.client(t, wire.ClientConfig{})
		time.Sleep(24 * time.Hour)
		times := b.attempts()
		if n := len(times); n < 2*24*60 || n > 24*60*60 {
			t.Errorf("%d attempts in a day", n)
		}
		ceiling := 200 * time.Millisecond
		var longest time.Duration
		for i := 1; i < len(times); i++ {
			gap := times[i].Sub(times[i-1])
			if gap > ceiling {
				t.Fatalf("attempt %d after %v, want %v at most", i, gap, ceiling)
			}
			longest = max(longest, gap)
			ceiling = min(2*ceiling, 30*time.Second)
		}
		if longest < 25*time.Second {
			t.Errorf("the longest of %d waits is %v: no full jitter", len(times), longest)
		}
		if !errors.Is(c.Err(), errRefused) {
			t.Errorf("last error %v", c.Err())
		}
		b.setDown(nil)
		mustCall(t, c, "at last")
	})
}

func TestClientGivesUpIfToldTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		config := wire.ClientConfig{GiveUp: func(err error) bool { return errors.Is(err, errRefused) }}
		b := &backend{down: errRefused}
		c := b.client(t, config)
		err := c.Ready(t.Context())
		if !errors.Is(err, errRefused) || !errors.Is(err, wire.ErrNotSent) {
			t.Errorf("got %v", err)
		}
		if _, err := c.PostAck(t.Context(), "k", nil); !errors.Is(err, errRefused) {
			t.Errorf("post: %v", err)
		}
	})
}

// What a peer says about coming back is honoured: retry_after, and a random part
// of the jitter.
func TestClientHonoursGoaway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &backend{config: &wire.Config{Mux: echoMux(), RetryAfter: 7 * time.Second, RetryJitter: 3 * time.Second}}
		c := b.client(t, wire.ClientConfig{})
		for range 20 {
			mustCall(t, c, "before")
			time.Sleep(time.Minute)
			began := time.Now()
			if err := b.newest().Drain(t.Context()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			times := b.attempts()
			if wait := times[len(times)-1].Sub(began); wait < 7*time.Second || wait > 10*time.Second {
				t.Errorf("came back after %v", wait)
			}
		}
	})
}

// blocker serves "block", which waits until it is released or its context ends.
func blocker(mux *wire.Mux) (entered chan struct{}, release chan struct{}) {
	entered, release = make(chan struct{}, 100), make(chan struct{})
	wire.Handle(mux, "block", func(ctx context.Context, body []byte) ([]byte, error) {
		entered <- struct{}{}
		select {
		case <-release:
			return body, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return entered, release
}

// While a connection drains, what is under way on it comes to its end, and new
// work goes to the next one.
func TestClientMovesWhenDrained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		entered, release := blocker(mux)
		b := &backend{config: &wire.Config{Mux: mux}}
		c := b.client(t, wire.ClientConfig{})
		slow := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), "block", nil)
			slow <- err
		}()
		<-entered
		old := b.newest()
		time.Sleep(time.Minute)
		drained := make(chan error, 1)
		go func() { drained <- old.Drain(context.Background()) }()
		synctest.Wait()
		for i := range 100 {
			mustCall(t, c, fmt.Sprint(i))
		}
		if b.newest() == old || old.Err() != nil {
			t.Errorf("the old connection: %v", old.Err())
		}
		close(release)
		if err := <-slow; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if err := <-drained; err != nil {
			t.Errorf("drain: %v", err)
		}
		mustCall(t, c, "still there")
	})
}

func TestClientMaybeSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		entered, release := blocker(mux)
		b := &backend{config: &wire.Config{Mux: mux}}
		c := b.client(t, wire.ClientConfig{})
		call := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := c.Call(ctx, "block", []byte("x"))
				done <- err
			}()
			return done
		}
		plain := call(context.Background())
		<-entered
		b.cut()
		if err := <-plain; !errors.Is(err, wire.ErrMaybeSent) || errors.Is(err, wire.ErrNotSent) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		again := call(wire.Idempotent(context.Background()))
		<-entered
		b.cut()
		<-entered
		close(release)
		if err := <-again; err != nil {
			t.Errorf("an idempotent call: %v", err)
		}
		if s := c.Stats(); s.MaybeSent != 1 || s.Retries != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// An idempotent call that one connection may have carried is never called not sent,
// however its later attempts end.
func TestClientMaybeSentBefore(t *testing.T) {
	for name, end := range map[string]func(cancel func(), c *wire.Client){
		"its time ends":     func(cancel func(), _ *wire.Client) { cancel() },
		"the client closes": func(_ func(), c *wire.Client) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := echoMux()
				entered, _ := blocker(mux)
				b := &backend{config: &wire.Config{Mux: mux}}
				c := b.client(t, wire.ClientConfig{})
				ctx, cancel := context.WithCancel(wire.Idempotent(t.Context()))
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := c.Call(ctx, "block", []byte("x"))
					done <- err
				}()
				<-entered
				b.setDown(errRefused)
				b.cut()
				synctest.Wait()
				end(cancel, c)
				if err := <-done; !errors.Is(err, wire.ErrMaybeSent) || errors.Is(err, wire.ErrNotSent) {
					t.Errorf("got %v", err)
				}
				if s := c.Stats(); s.MaybeSent != 1 || s.Waiting != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A request that the peer has not started because it cannot now is tried again,
// when the peer says.
func TestClientRetriesUnavailable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		var calls []time.Time
		wire.Handle(mux, "busy", func(context.Context, []byte) ([]byte, error) {
			if calls = append(calls, time.Now()); len(calls) < 4 {
				return nil, &wire.Error{Code: wire.Unavailable, NotStarted: true, RetryAfter: 3 * time.Second}
			}
			return []byte("now"), nil
		})
		wire.Handle(mux, "no", func(context.Context, []byte) ([]byte, error) {
			return nil, &wire.Error{Code: wire.ResourceExhausted, NotStarted: true}
		})
		b := &backend{config: &wire.Config{Mux: mux}}
		c := b.client(t, wire.ClientConfig{})
		if got, err := c.Call(t.Context(), "busy", nil); err != nil || string(got) != "now" {
			t.Fatalf("got %q, %v", got, err)
		}
		for i := 1; i < len(calls); i++ {
			if gap := calls[i].Sub(calls[i-1]); gap != 3*time.Second {
				t.Errorf("again after %v", gap)
			}
		}
		var e *wire.Error
		if _, err := c.Call(t.Context(), "no", nil); !errors.As(err, &e) || e.Code != wire.ResourceExhausted {
			t.Errorf("got %v", err)
		}
		if n := len(b.attempts()); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestClientWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &backend{down: errRefused}
		config := wire.ClientConfig{MaxWaiting: 3}
		c := b.client(t, config)
		ended := make(chan error, 4)
		for range 3 {
			go func() {
				_, err := c.Call(context.Background(), "echo", nil)
				ended <- err
			}()
		}
		synctest.Wait()
		_, err := c.Call(t.Context(), "echo", nil)
		if !errors.Is(err, wire.ErrNotSent) || !errors.Is(err, wire.ErrNoConn) {
			t.Errorf("one too many: %v", err)
		}
		if err := c.TryPost("p", nil); !errors.Is(err, wire.ErrNoConn) || c.Stats().Dropped != 1 {
			t.Errorf("try: %v, %+v", err, c.Stats())
		}
		b.setDown(nil)
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		b.setDown(errRefused)
		b.cut()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Call(ctx, "echo", nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, wire.ErrNotSent) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("without a connection: %v", err)
		}
		go func() {
			_, err := c.Call(context.Background(), "echo", nil)
			ended <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-ended; !errors.Is(err, wire.ErrNotSent) || !errors.Is(err, wire.ErrClosed) {
			t.Errorf("on Close: %v", err)
		}
		if s := c.Stats(); s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// seen counts the requests of "where" by their connection.
func seen(mux *wire.Mux) func() map[*wire.Conn]int {
	var mu sync.Mutex
	counts := map[*wire.Conn]int{}
	wire.Handle(mux, "where", func(ctx context.Context, _ []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		counts[wire.ConnFrom(ctx)]++
		return nil, nil
	})
	return func() map[*wire.Conn]int {
		mu.Lock()
		defer mu.Unlock()
		was := counts
		counts = map[*wire.Conn]int{}
		return was
	}
}

func TestClientSpreadsAndKeepsKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		counts := seen(mux)
		b := &backend{config: &wire.Config{Mux: mux}}
		c := b.client(t, wire.ClientConfig{Conns: 4})
		synctest.Wait()
		call := func(ctx context.Context, n int) {
			for range n {
				if _, err := c.Call(ctx, "where", nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		call(t.Context(), 100)
		if got := counts(); len(got) != 4 {
			t.Errorf("%d connections were used", len(got))
		}
		used := map[*wire.Conn]bool{}
		for key := range 50 {
			call(wire.WithKey(t.Context(), fmt.Sprint(key)), 5)
			got := counts()
			if len(got) != 1 {
				t.Errorf("key %d went over %d connections", key, len(got))
			}
			for conn := range got {
				used[conn] = true
			}
		}
		if len(used) != 4 {
			t.Errorf("50 keys used %d connections", len(used))
		}
		b.cut() // the others go on
		synctest.Wait()
		call(t.Context(), 100)
	})
}

// The peer can call the client, over a connection of the client's making.
func TestClientServes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		config := wire.ClientConfig{Config: &wire.Config{Mux: echoMux()}}
		b := &backend{}
		c := b.client(t, config)
		for range 3 {
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustCall(t, b.newest(), "hello")
			b.cut()
			synctest.Wait()
		}
	})
}

func TestClientOnConnect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		config := wire.ClientConfig{OnConnect: func(ctx context.Context, conn *wire.Conn) {
			begun.Add(1)
			if _, err := conn.Call(ctx, "echo", nil); err != nil || wire.ConnFrom(ctx) != conn {
				panic(err)
			}
			<-ctx.Done()
			ended.Add(1)
		}}
		b := &backend{}
		c := b.client(t, config)
		for i := range int32(3) {
			mustCall(t, c, "x")
			synctest.Wait()
			if begun.Load() != i+1 || ended.Load() != i {
				t.Errorf("called %d times, ended %d times", begun.Load(), ended.Load())
			}
			b.cut()
			synctest.Wait()
		}
		c.Close()
		if ended.Load() != begun.Load() {
			t.Errorf("%d of %d have ended", ended.Load(), begun.Load())
		}
	})
}

// While there is no connection, the latest body of each key waits, and no older
// one overtakes it.
func TestClientPostKeyed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		var mu sync.Mutex
		last := map[string]string{}
		wire.HandlePost(mux, "pos", func(_ context.Context, b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			key, value, _ := strings.Cut(string(b), "=")
			last[key] = value
			return nil
		})
		b := &backend{config: &wire.Config{Mux: mux}}
		c := b.client(t, wire.ClientConfig{Conns: 2})
		synctest.Wait()
		for round := range 3 {
			b.setDown(errRefused)
			for _, conn := range c.Conns() {
				conn.Abort(wire.Unavailable)
			}
			synctest.Wait()
			for i := range 100 {
				for key := range 10 {
					if err := c.PostKeyed("pos", fmt.Sprint(key), fmt.Appendf(nil, "%d=%d.%d", key, round, i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			b.setDown(nil)
			time.Sleep(time.Minute)
			mu.Lock()
			for key := range 10 {
				if want := fmt.Sprintf("%d.99", round); last[fmt.Sprint(key)] != want {
					t.Errorf("key %d is %q, want %q", key, last[fmt.Sprint(key)], want)
				}
			}
			mu.Unlock()
		}
		if s := c.Stats(); s.Conflated != 3*99*10 {
			t.Errorf("%+v", s)
		}
	})
}

func TestClientDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		entered, release := blocker(mux)
		var handled atomic.Int32
		wire.HandlePost(mux, "p", func(context.Context, []byte) error {
			time.Sleep(time.Second)
			handled.Add(1)
			return nil
		})
		b := &backend{config: &wire.Config{Mux: mux, Sessions: new(wire.Sessions)}}
		c := b.client(t, wire.ClientConfig{})
		answered := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), "block", nil)
			answered <- err
		}()
		<-entered
		for range 5 {
			if _, err := c.PostAck(t.Context(), "p", nil); err != nil {
				t.Fatal(err)
			}
		}
		drained := make(chan error, 1)
		go func() { drained <- c.Drain(context.Background()) }()
		synctest.Wait()
		if _, err := c.Call(t.Context(), "echo", nil); !errors.Is(err, wire.ErrDraining) || !errors.Is(err, wire.ErrNotSent) {
			t.Errorf("new work: %v", err)
		}
		close(release)
		if err := <-answered; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if err := <-drained; err != nil {
			t.Errorf("drain: %v", err)
		}
		if handled.Load() != 5 || c.Acked() != 5 {
			t.Errorf("%d posts handled, %d acknowledged", handled.Load(), c.Acked())
		}
		if n := len(b.attempts()); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestClientConfig(t *testing.T) {
	for name, config := range map[string]wire.ClientConfig{
		"nowhere":          {},
		"too many":         {Address: "127.0.0.1:1", Conns: 65},
		"an illegal HELLO": {Address: "127.0.0.1:1", Config: &wire.Config{MaxFrame: 1}},
	} {
		if c, err := wire.NewClient(config); err == nil {
			c.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

// A server that dies and comes back at its address is found again.
func TestClientFindsServerAgain(t *testing.T) {
	serve := func(address string) (*wire.Server, string) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &wire.Server{Config: &wire.Config{Mux: echoMux()}}
		go func() { _ = s.Serve(l) }()
		return s, l.Addr().String()
	}
	s, address := serve("127.0.0.1:0")
	c, err := wire.NewClient(wire.ClientConfig{Address: address, Conns: 2, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		mustCall(t, c, "hello")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := c.Call(wire.Idempotent(context.Background()), "echo", nil)
			answered <- err
		}()
		s, _ = serve(address)
		if err := <-answered; err != nil {
			t.Errorf("a call while the server was away: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A peer that closes and has accepted nothing has started nothing.
func TestCallsThatARefusalMet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a := piped(t, nil, &wire.Config{Mux: echoMux(), Logger: quiet, Verify: func(*wire.Conn, *wire.Hello) error {
			return &wire.Error{Code: wire.Unauthenticated}
		}})
		_, err := d.Call(t.Context(), "echo", nil)
		isCode(t, err, wire.Unauthenticated)
		if !errors.Is(err, wire.ErrNotSent) || errors.Is(err, wire.ErrMaybeSent) {
			t.Errorf("got %v", err)
		}
		<-a.Done()
	})
}

func TestClientOutlivesRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		refusals := 5
		b := &backend{config: &wire.Config{Mux: echoMux(), Logger: quiet, Verify: func(*wire.Conn, *wire.Hello) error {
			if refusals--; refusals >= 0 {
				return &wire.Error{Code: wire.Unauthenticated}
			}
			return nil
		}}}
		c := b.client(t, wire.ClientConfig{})
		got, err := c.Call(wire.Idempotent(t.Context()), "echo", []byte("let me in"))
		if err != nil || string(got) != "let me in" || c.Stats().Failures != 5 {
			t.Errorf("got %q, %v, %+v", got, err, c.Stats())
		}
	})
}

// A Client's call costs no allocation over that of its connection.
func TestClientCallDoesNotAllocate(t *testing.T) {
	if wire.Mangle {
		t.Skip("the race detector allocates")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := &backend{tcp: l, t: t, config: &wire.Config{Mux: echoMux()}}
	c := b.client(t, wire.ClientConfig{Conns: 2})
	mustCall(t, c, "warm")
	body, dst := make([]byte, 64), make([]byte, 0, 64)
	type caller interface {
		CallAppend(ctx context.Context, dst []byte, kind string, body []byte) ([]byte, error)
	}
	count := func(c caller) float64 {
		return testing.AllocsPerRun(1000, func() {
			if _, err := c.CallAppend(context.Background(), dst, "echo", body); err != nil {
				t.Fatal(err)
			}
		})
	}
	if direct, n := count(c.Conns()[0]), count(c); n > direct {
		t.Errorf("%v allocations per call, %v on the connection itself", n, direct)
	}
}

// A peer that is busy reads the HELLO of a connection that was cut after that of the next one, and
// gives the session to it. The client goes on with a third one. Where no connection was cut
// before, another process has its session.
func TestClientWhoseHelloIsReadLate(t *testing.T) {
	for _, cut := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			config := &wire.Config{Mux: echoMux(), Sessions: new(wire.Sessions)}
			b := &backend{t: t, config: config}
			var hello []byte
			c, err := wire.NewClient(wire.ClientConfig{
				Config: &wire.Config{Session: session(1, 1, 0)}, MinBackoff: time.Millisecond,
				Dial: func(ctx context.Context) (net.Conn, error) {
					if !cut || hello != nil {
						return b.dial(ctx)
					}
					ours, theirs := wiretest.Pipe(0)
					go func() {
						hello = make([]byte, 1<<10)
						n, _ := theirs.Read(hello)
						hello = hello[:n]
						_ = theirs.Close()
					}()
					return ours, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			mustCall(t, c, "first")
			synctest.Wait()
			if cut {
				ours, theirs := wiretest.Pipe(0)
				if _, err := wire.AcceptConn(theirs, config); err != nil {
					t.Fatal(err)
				}
				_, _ = ours.Write(hello)
				go func() { _, _ = io.Copy(io.Discard, ours) }()
				defer ours.Close()
			} else {
				other, _ := joins(t, session(1, 1, 0), config)
				defer other.Close()
			}
			synctest.Wait()
			switch _, err := c.Call(t.Context(), "echo", nil); {
			case cut && err != nil:
				t.Error(err)
			case !cut && !errors.Is(err, wire.ErrSessionShared):
				t.Errorf("%v, want %v", err, wire.ErrSessionShared)
			}
		})
	}
}
