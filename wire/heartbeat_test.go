package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// A connection without messages lives: each side sends PING in time, also if T is shorter than the
// time for HELLO.
func TestIdleConnectionLives(t *testing.T) {
	for _, idle := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second} {
		t.Run(idle.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d, a := piped(t, &wire.Config{Idle: idle}, &wire.Config{Mux: echoMux()})
				time.Sleep(20 * idle)
				if _, err := d.Call(within(t, time.Second), "echo", nil); err != nil {
					t.Error(err)
				}
				settled(t, d, a)
			})
		})
	}
}

// A peer that is silent is asked after T/3 and dead after T.
func TestSilentPeerIsDead(t *testing.T) {
	for _, idle := range []time.Duration{time.Second, 4 * time.Second, 12 * time.Second} {
		t.Run(idle.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := attack(t, &wire.Config{Idle: idle})
				p.hello(wire.Hello{})
				p.listen()
				p.take()
				began := time.Now()
				time.Sleep(idle/3 + time.Millisecond)
				if frames := p.take(); len(frames) != 1 || frames[0].Type != frame.PING {
					t.Errorf("after T/3: %v", frames)
				}
				time.Sleep(2 * idle / 5) // a second PING has gone out, which is no news
				owed := time.Since(began) - idle/3
				if lag := c.Lag(); lag < owed-10*time.Millisecond || lag > owed+10*time.Millisecond {
					t.Errorf("lag of %v, want %v", lag, owed)
				}
				<-c.Done()
				if took := time.Since(began).Round(10 * time.Millisecond); took != idle {
					t.Errorf("dead after %v", took)
				}
				var timeout net.Error
				if err := c.Err(); !errors.Is(err, wire.ErrPeerDead) || !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Errorf("got %v", err)
				}
				p.closedWith(c, wire.PeerDead)
			})
		})
	}
}

// A black hole in the path, in both directions: calls, streams and the connection
// itself know after T, at both ends.
func TestBlackHole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dc, ac := wiretest.Pipe(0)
		hole := wiretest.Faulty(dc, wiretest.Faults{})
		d, a := over(t, hole, ac, &wire.Config{Idle: 10 * time.Second}, &wire.Config{Mux: sinkMux()})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := d.Open(t.Context(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		hole.Stall(wiretest.Both)
		began := time.Now()
		results := make(chan error, 3)
		go func() {
			_, err := d.Call(context.Background(), "echo", nil)
			results <- err
		}()
		go func() {
			_, err := s.Read(make([]byte, 1))
			results <- err
		}()
		go func() {
			_, err := s.Write(make([]byte, 1<<20))
			results <- err
		}()
		for range 3 {
			if err := <-results; !errors.Is(err, wire.ErrPeerDead) {
				t.Errorf("got %v", err)
			}
		}
		// The write has lent its bytes, which takes the last second of the socket.
		if took := time.Since(began); took > 11100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		<-a.Done()
		if !errors.Is(a.Err(), wire.ErrPeerDead) {
			t.Errorf("acceptor: %v", a.Err())
		}
	})
}

// A peer that sends and never reads is dead once a write has made no progress for T.
func TestPeerThatNeverReadsIsDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dc, ac := wiretest.Pipe(0)
		deaf := wiretest.Faulty(dc, wiretest.Faults{})
		d, a := over(t, deaf, ac, &wire.Config{Idle: 10 * time.Second}, &wire.Config{Mux: sinkMux()})
		s, err := d.Open(t.Context(), "sink", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		deaf.Stall(wiretest.In) // d hears nothing, a's writes run full
		var life sync.WaitGroup
		defer life.Wait()
		life.Go(func() {
			for a.Err() == nil && d.Err() == nil {
				_, _ = s.Write(make([]byte, 100))
				time.Sleep(time.Second)
			}
		})
		began := time.Now()
		for a.Err() == nil {
			_ = a.Post(within(t, time.Second), "nobody", make([]byte, 10_000))
		}
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("took %v", took)
		}
		<-a.Done()
		<-d.Done()
	})
}

// A connection that sends nothing, or half of a HELLO, is closed after 5 s.
func TestHelloTimeout(t *testing.T) {
	for name, first := range map[string]string{
		"nothing": "", "half a preface": frame.Preface[:4], "preface": frame.Preface,
		"half a HELLO": frame.Preface + "\x21\x00\x00\xb0\x00\x00\x00\x00\xa5",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := attack(t, nil)
				if err := p.bytes([]byte(first)); err != nil {
					t.Fatal(err)
				}
				p.listen()
				began := time.Now()
				if err := c.Ready(context.Background()); !errors.Is(err, wire.ErrHelloLate) {
					t.Errorf("got %v", err)
				}
				<-c.Done()
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("took %v", took)
				}
				p.closedWith(c, wire.Timeout)
			})
		})
	}
}

// One byte of HELLO every second is no sign of life that would buy more time.
func TestHelloDripIsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := attack(t, nil)
		began := time.Now()
		var drip sync.WaitGroup
		defer drip.Wait()
		drip.Go(func() {
			for _, b := range []byte(frame.Preface + "\x21\x00\x00\xb0\x00\x00\x00\x00\xa5\x01\x82\x01\x01") {
				if p.bytes([]byte{b}) != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		<-c.Done()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A drain ends after its limit, though a handler ignores its context, and says that
// something was cut off.
func TestDrainLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		release := make(chan struct{})
		wire.Handle(mux, "stuck", func(context.Context, []byte) ([]byte, error) {
			<-release
			return nil, nil
		})
		p, c := attack(t, &wire.Config{Mux: mux, Logger: quiet})
		p.hello(wire.Hello{}, "stuck")
		p.listen()
		if err := p.send(frame.Frame{Type: frame.REQ, ID: uint32(frame.MakeSlot(frame.Dialer, 1, 1)), Kind: 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var life sync.WaitGroup
		defer life.Wait()
		life.Go(func() {
			for c.Err() == nil {
				_ = p.send(frame.Frame{Type: frame.PING, Body: make([]byte, 8)})
				time.Sleep(time.Second)
			}
		})
		began := time.Now()
		err := c.Drain(context.Background())
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		// The limit of the drain, and what Close waits for handlers.
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
	})
}

// A stream that was closed here and lives on at the peer is reset after 60 s,
// however seldom the connection is looked at.
func TestLingerIsBounded(t *testing.T) {
	for _, idle := range []time.Duration{10 * time.Second, time.Hour} {
		t.Run(idle.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				ended := make(chan time.Time, 1)
				mux.HandleStream("stay", func(ctx context.Context, s *wire.Stream) error {
					<-ctx.Done()
					ended <- time.Now()
					return nil
				})
				d, a := piped(t, &wire.Config{Idle: idle}, &wire.Config{Mux: mux})
				s, err := d.Open(t.Context(), "stay", wire.OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				s.Close()
				if took := (<-ended).Sub(began); took < time.Minute || took > time.Minute+idle/3 && took > 65*time.Second {
					t.Errorf("reset after %v", took)
				}
				settled(t, d, a)
			})
		})
	}
}

// Bytes that wait for credit do not keep a heartbeat from getting through: a peer
// whose application reads nothing is slow, not dead.
func TestSlowReaderIsNotDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a := piped(t, &wire.Config{Idle: 3 * time.Second}, &wire.Config{Mux: sinkMux()})
		s, err := d.Open(t.Context(), "deaf", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := s.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a write over the window has ended")
		}
		_ = s.Reset(wire.Cancelled)
		settled(t, d, a)
	})
}

// The same over a real socket, where a write that takes no waiting leaves the rest to
// a writer: that must be looked at too. The system's own limit would be the second
// net; a unix socket has none.
func TestStuckWriteIsSeen(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := wire.AcceptConn(nc, &wire.Config{Mux: echoMux(), Idle: time.Second, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := &rawPeer{t: t, nc: raw}
	p.hello(wire.Hello{Idle: time.Second}, "echo")
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	var life sync.WaitGroup
	defer life.Wait()
	life.Go(func() { // it asks and is alive, and reads nothing
		for i := uint32(1); c.Err() == nil; i++ {
			if i < 100 {
				_ = p.send(frame.Frame{Type: frame.REQ, ID: slotID(i, 1), Kind: 1, Body: make([]byte, 50_000)})
				continue
			}
			_ = p.send(frame.Frame{Type: frame.PING, Body: make([]byte, 8)})
			<-beat.C
		}
	})
	select {
	case <-c.Done():
	case <-time.After(20 * time.Second):
	}
	if err := c.Err(); !errors.Is(err, wire.ErrPeerDead) {
		t.Errorf("got %v", err)
	}
	c.Abort(wire.Unavailable)
}

// A write that a socket took in two pieces without waiting is over: a peer that is heard, and that
// gets answers which the socket takes at once, is not dead.
func TestWriteInTwoPiecesIsOver(t *testing.T) {
	const idle = time.Second
	for _, network := range []string{"unix", "tcp"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			d, a := connectBy(t, network, address, &wire.Config{Idle: idle}, &wire.Config{Mux: echoMux(), Idle: idle})
			var calls sync.WaitGroup
			for range 16 { // whose answers are more than the socket takes
				calls.Go(func() {
					if _, err := d.Call(within(t, time.Minute), "echo", payload(60_000)); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			beat := time.NewTicker(idle / 20)
			defer beat.Stop()
			for range 30 {
				if _, err := d.Call(within(t, time.Minute), "echo", nil); err != nil {
					t.Fatal(err, a.Err())
				}
				<-beat.C
			}
		})
	}
}

// A peer that sends and takes nothing is dead, also in the midst of a Write over a connection that
// takes its pieces one by one.
func TestDeafPeerIsDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		raw, nc := wiretest.Pipe(4 << 10)
		c, err := wire.AcceptConn(nc, &wire.Config{Idle: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		defer raw.Close()
		p := &rawPeer{t: t, nc: raw}
		p.hello(wire.Hello{})
		var pinger sync.WaitGroup
		defer pinger.Wait()
		pinger.Go(func() {
			for i := 0; i < 100 && p.send(frame.Frame{Type: frame.PING, Body: make([]byte, 8)}) == nil; i++ {
				time.Sleep(100 * time.Millisecond)
			}
			raw.Close()
		})
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := c.Open(t.Context(), "deaf", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.SetWriteDeadline(time.Now().Add(time.Minute))
		_, _ = s.Write(payload(64 << 10))
		<-c.Done()
		if err := c.Err(); !errors.Is(err, wire.ErrPeerDead) {
			t.Errorf("the connection: %v", err)
		}
	})
}

// A peer behind a slow path is not dead while it takes bytes, also if posts and a Write wait
// together.
func TestSlowPathIsNotDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := wiretest.Link(wiretest.LinkConfig{Rate: 100_000, Buffer: 4 << 10})
		var secured net.Conn
		var shaking sync.WaitGroup
		client := clientTLS()
		client.InsecureSkipVerify = true // the bubble's time is before the certificate's
		shaking.Go(func() {
			var err error
			if secured, err = wire.SecureDialer(t.Context(), near, "wire.test", client); err != nil {
				t.Error(err)
			}
		})
		server := serverTLS()
		server.NextProtos = []string{wire.ALPN}
		peer := tls.Server(far, server)
		if err := peer.Handshake(); err != nil {
			t.Fatal(err)
		}
		shaking.Wait()

		mux, signs := sinkMux(), wire.NewMux()
		got := 0
		wire.HandlePost(mux, "p", func(context.Context, []byte) error { got++; return nil })
		wire.HandlePost(signs, "sign", func(context.Context, []byte) error { return nil })
		d, a := over(t, secured, peer, &wire.Config{Idle: time.Second, Mux: signs}, &wire.Config{Idle: time.Second, Mux: mux})
		if err := d.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := d.Open(t.Context(), "sink", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const posts, size = 5, 60_000
		for range posts {
			if err := d.Post(t.Context(), "p", make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first one is being written, and the others wait
		}
		var writer sync.WaitGroup
		writer.Go(func() { _, _ = s.Write(payload(size)) })
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			_ = a.Post(t.Context(), "sign", nil)
		}
		writer.Wait()
		s.Close()
		if err := d.Err(); err != nil || got != posts {
			t.Errorf("%v, %d posts have arrived", err, got)
		}
	})
}
