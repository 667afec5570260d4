package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/bus"
)

// lameDucks runs f in a bubble of fake time with n clients that have had their second INFO.
func lameDucks(t *testing.T, cfg bus.Config, n int, f func(t *testing.T, s *bus.Server, peers []*peer)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := bus.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		peers := make([]*peer, n)
		for i := range peers {
			conn, err := s.InProcessConn()
			if err != nil {
				t.Fatal(err)
			}
			peers[i] = newPeer(t, conn)
			peers[i].wait = 24 * time.Hour
			peers[i].greeting()
			peers[i].write("CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n")
			peers[i].expect("connected", "PONG\r\n")
			peers[i].line() // the second INFO
		}
		f(t, s, peers)
		for _, p := range peers {
			p.close()
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// ends reads until the connection ends, answering PINGs, and returns when that was.
func (p *peer) ends() time.Duration {
	begin := time.Now()
	for p.more() {
		if p.line() == "PING\r\n" {
			p.write("PONG\r\n")
		}
	}
	return time.Since(begin)
}

func TestLameDuckTellsClientsAndSpreadsTheirEnd(t *testing.T) {
	const n = 5
	cfg := bus.Config{
		LameDuckDuration: 12 * time.Second, LameDuckGrace: 10 * time.Second,
		MigrateTo: []string{"nats://10.0.0.1:4223", "other", "ws://web:8080"},
	}
	lameDucks(t, cfg, n, func(t *testing.T, s *bus.Server, peers []*peer) {
		begin := time.Now()
		over := make(chan error, 1)
		ended := make(chan time.Duration, n)
		go func() { over <- s.LameDuck(t.Context()) }()
		for _, p := range peers {
			info := p.line()
			for _, part := range []string{`"ldm":true`, `"connect_urls":["10.0.0.1:4223","other:4222"]`, `"ws_connect_urls":["web:8080"]`} {
				if !strings.Contains(info, part) {
					t.Errorf("%s lacks %s", info, part)
				}
			}
			go func() { ended <- p.ends() }()
		}
		if _, err := s.InProcessConn(); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("a new connection: %v", err)
		}
		if err := s.LameDuck(t.Context()); !errors.Is(err, bus.ErrLameDuck) {
			t.Errorf("twice: %v", err)
		}
		for i := range n {
			want := 10*time.Second + time.Duration(i)*400*time.Millisecond // (12 s - 10 s) / 5
			if at := <-ended; at < want || at > want+time.Second {
				t.Errorf("end %d came after %v, not %v", i, at, want)
			}
		}
		if err := <-over; err != nil || time.Since(begin) > 13*time.Second {
			t.Errorf("over after %v: %v", time.Since(begin), err)
		}
	})
}

func TestLameDuckWithoutClientsIsOverAtOnce(t *testing.T) {
	lameDucks(t, bus.Config{}, 0, func(t *testing.T, s *bus.Server, _ []*peer) {
		begin := time.Now()
		if err := s.LameDuck(t.Context()); err != nil || time.Since(begin) > 0 {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// Few clients are closed a second apart, however long the duration is; and when all
// have left by themselves there is nothing to wait for.
func TestLameDuckDoesNotWaitForItsDuration(t *testing.T) {
	lameDucks(t, bus.Config{LameDuckDuration: time.Hour, LameDuckGrace: time.Second}, 3, func(t *testing.T, s *bus.Server, peers []*peer) {
		begin := time.Now()
		over := make(chan error, 1)
		go func() { over <- s.LameDuck(t.Context()) }()
		for _, p := range peers {
			p.line()
			go p.ends()
		}
		if err := <-over; err != nil || time.Since(begin) > 5*time.Second {
			t.Errorf("three clients took %v: %v", time.Since(begin), err)
		}
	})
	lameDucks(t, bus.Config{}, 2, func(t *testing.T, s *bus.Server, peers []*peer) {
		begin := time.Now()
		over := make(chan error, 1)
		go func() { over <- s.LameDuck(t.Context()) }()
		for _, p := range peers {
			p.line()
			p.close()
		}
		if err := <-over; err != nil || time.Since(begin) > 2*time.Second {
			t.Errorf("after the last had left: %v, %v", time.Since(begin), err)
		}
	})
}

func TestLameDuckEndsWithItsContextOrTheServer(t *testing.T) {
	lameDucks(t, bus.Config{}, 1, func(t *testing.T, s *bus.Server, peers []*peer) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go peers[0].ends()
		if err := s.LameDuck(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// A client that does not know INFO after the first is not sent one.
func TestLameDuckSparesOldClients(t *testing.T) {
	within(t, bus.Config{LameDuckDuration: 2 * time.Second, LameDuckGrace: time.Second}, func(t *testing.T, s *bus.Server, p *peer) {
		p.write("CONNECT {\"verbose\":false}\r\nPING\r\n")
		p.expect("old", "PONG\r\n")
		go s.LameDuck(t.Context())
		if p.more() {
			t.Errorf("got %q", p.line())
		}
	})
}

// An advertised address stands in INFO in place of the one where the server listens.
func TestAdvertise(t *testing.T) {
	for advertised, want := range map[string]string{
		"":              `"host":"127.0.0.1","port":4222`,
		"bus.city:7000": `"host":"bus.city","port":7000`,
		"bus.city":      `"host":"bus.city","port":4222`,
	} {
		s, err := bus.New(bus.Config{Advertise: advertised})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.InProcessConn()
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, conn)
		if info := p.line(); !strings.Contains(info, want) {
			t.Errorf("%q: %s", advertised, info)
		}
		p.close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLameDuckSettings(t *testing.T) {
	for _, tc := range []struct {
		cfg  bus.Config
		want string
	}{
		{bus.Config{LameDuckGrace: 40 * time.Second, LameDuckDuration: 30 * time.Second}, "lame duck grace period (40s) should be strictly lower than lame duck duration (30s)"},
		{bus.Config{LameDuckDuration: 5 * time.Second}, "lame duck grace period (10s) should be strictly lower than lame duck duration (5s)"},
		{bus.Config{MigrateTo: []string{"nats://"}}, `"nats://" is no URL of a server`},
	} {
		if _, err := bus.New(tc.cfg); err == nil || !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%+v: %v, not %s", tc.cfg, err, tc.want)
		}
	}
}
