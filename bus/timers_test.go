package bus_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/bus"
)

// within runs f in a bubble of fake time with one raw connection to a server.
func within(t *testing.T, cfg bus.Config, f func(t *testing.T, s *bus.Server, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := bus.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.InProcessConn()
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, conn)
		p.wait = 24 * time.Hour
		p.greeting()
		f(t, s, p)
		p.close()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestAuthenticationTimeout(t *testing.T) {
	within(t, bus.Config{Token: "secret", AuthTimeout: 3 * time.Second}, func(t *testing.T, s *bus.Server, p *peer) {
		begin := time.Now()
		p.expect("late", "-ERR 'Authentication Timeout'\r\n")
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("closed after %v", took)
		}
		if p.more() || s.Stats().Closed[bus.AuthenticationTimeout] != 1 {
			t.Errorf("not closed for it: %+v", s.Stats())
		}
	})
}

func TestAuthenticationInTimeKeepsTheConnection(t *testing.T) {
	within(t, bus.Config{Token: "secret"}, func(t *testing.T, _ *bus.Server, p *peer) {
		p.write("CONNECT {\"verbose\":false,\"auth_token\":\"secret\"}\r\n")
		time.Sleep(bus.DefaultAuthTimeout + time.Second)
		p.write("PONG\r\nPING\r\n")
		if line := p.line(); line == "PING\r\n" { // the first PING for the round trip may have come
			p.expect("alive", "PONG\r\n")
		} else if line != "PONG\r\n" {
			t.Errorf("got %q", line)
		}
	})
}

func TestSilentPeerIsStale(t *testing.T) {
	cfg := bus.Config{PingInterval: time.Minute, PingMax: 2}
	within(t, cfg, func(t *testing.T, s *bus.Server, p *peer) {
		begin := time.Now()
		for _, want := range []time.Duration{2 * time.Second, 62 * time.Second} {
			p.expect("ping", "PING\r\n")
			if at := time.Since(begin); at < want || at > want+400*time.Millisecond {
				t.Errorf("PING after %v, want %v and up to a fifth of 2 s", at, want)
			}
		}
		p.expect("stale", "-ERR 'Stale Connection'\r\n")
		if at := time.Since(begin); at < 122*time.Second || at > 123*time.Second {
			t.Errorf("stale after %v", at)
		}
		if st := s.Stats(); p.more() || st.StaleConnections != 1 {
			t.Errorf("not closed for it: %+v", st)
		}
	})
}

func TestAnsweringPeerStays(t *testing.T) {
	within(t, bus.Config{PingInterval: time.Minute}, func(t *testing.T, s *bus.Server, p *peer) {
		for range 10 {
			p.expect("ping", "PING\r\n")
			p.write("PONG\r\n")
		}
		p.sync()
		if st := s.Stats(); len(st.Closed) != 0 {
			t.Errorf("closed: %v", st.Closed)
		}
	})
}

// A peer that has proven to answer and keeps sending is not asked again, until
// the proof is an hour old.
func TestBusyPeerIsNotPinged(t *testing.T) {
	within(t, bus.Config{PingInterval: time.Minute}, func(t *testing.T, _ *bus.Server, p *peer) {
		p.write("CONNECT {\"verbose\":false}\r\n")
		p.expect("round trip", "PING\r\n")
		p.write("PONG\r\n")
		for range 2 * 58 {
			time.Sleep(30 * time.Second)
			p.write("PUB a 0\r\n\r\n")
		}
		synctest.Wait()
		select {
		case got := <-p.in:
			t.Fatalf("got %q", got)
		default:
		}
		for range 5 {
			time.Sleep(30 * time.Second)
			p.write("PUB a 0\r\n\r\n")
		}
		p.expect("proof of an hour", "PING\r\n")
	})
}

func TestWriteDeadlineClosesWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := bus.New(bus.Config{WriteDeadline: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.InProcessConn() // INFO is not read
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		time.Sleep(5*time.Second - time.Millisecond)
		synctest.Wait()
		if st := s.Stats(); st.Connections != 1 {
			t.Fatalf("closed early: %+v", st)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if st := s.Stats(); st.Connections != 0 || st.Closed[bus.SlowConsumerWriteDeadline] != 1 || st.SlowConsumers != 1 {
			t.Errorf("not closed for it: %+v", st)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Shutdown must end while a client does not read, when its context ends.
func TestShutdownIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := bus.New(bus.Config{WriteDeadline: time.Hour, PingInterval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.InProcessConn() // no reader
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := s.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
		if _, err := s.InProcessConn(); err == nil {
			t.Error("a connection after Shutdown")
		}
	})
}

// A client that reads all the time is kept, however long its bytes have waited, and a client that
// has stopped reading is closed.
func TestWriteDeadlineKeepsWhoReads(t *testing.T) {
	const count, size, deadline = 16, 64 << 10, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		s, err := bus.New(bus.Config{WriteDeadline: deadline})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.InProcessConn()
		if err != nil {
			t.Fatal(err)
		}
		stallOn(t, conn, "a")
		l := s.Local("publisher")
		for range count {
			publish(t, l, "a", strings.Repeat("x", size))
		}
		frame := fmt.Sprintf("MSG a 1 %d\r\n%s\r\n", size, strings.Repeat("x", size))
		rest := count*len(frame) + len("PING\r\n") // for the round trip
		var got strings.Builder
		for rest > 0 {
			time.Sleep(time.Second)
			n, err := io.CopyN(&got, conn, int64(min(size, rest)))
			if rest -= int(n); err != nil {
				t.Fatalf("%v, %d bytes before the end; %+v", err, rest, s.Stats().Closed)
			}
		}
		if strings.Replace(got.String(), "PING\r\n", "", 1) != strings.Repeat(frame, count) {
			t.Error("other bytes came")
		}
		for range 2 {
			publish(t, l, "a", strings.Repeat("x", size))
		}
		synctest.Wait()
		if st := s.Stats(); st.SlowConsumers != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(deadline - time.Second)
		if _, err := io.CopyN(&got, conn, size); err != nil {
			t.Error(err)
		}
		time.Sleep(deadline - time.Second)
		if st := s.Stats(); st.SlowConsumers != 0 {
			t.Errorf("closed early: %+v", st)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := s.Stats(); st.Closed[bus.SlowConsumerWriteDeadline] != 1 {
			t.Errorf("not closed: %+v", st)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
