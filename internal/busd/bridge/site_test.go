package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"paddock/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the waits of tests.
const patience = time.Minute

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// site is a broker with bridges.
type site struct {
	t      *testing.T
	server *bus.Server
	set    *Set
}

func newSite(t *testing.T) *site { return newSiteAt(t, bus.Config{Port: -1}) }

func newSiteAt(t *testing.T, cfg bus.Config) *site {
	t.Helper()
	server, err := bus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, server: server, set: New(server, slog.New(slog.DiscardHandler))}
	t.Cleanup(s.stop)
	return s
}

func (s *site) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.set.Close(ctx)
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *site) url() string { return "nats://" + s.server.Addr().String() }

// bridge connects the site to another one, and waits until both have each other's subscriptions.
func (s *site) bridge(to *site, imports, exports []string) {
	s.t.Helper()
	cfg := Config{Name: fmt.Sprintf("to-%d", to.server.Addr().(*net.TCPAddr).Port), URLs: []string{to.url()}, Import: imports, Export: exports, MaxPending: DefaultPending}
	s.apply(append(s.configs(), cfg)...)
	s.awaitConnected(len(s.set.list) - 1)
}

func (s *site) configs() (list []Config) {
	for _, b := range s.set.list {
		list = append(list, b.cfg)
	}
	return list
}

func (s *site) apply(list ...Config) {
	s.t.Helper()
	if err := s.set.Apply(list, nil); err != nil {
		s.t.Fatal(err)
	}
}

// awaitConnected waits until the other server of a bridge has its subscriptions.
func (s *site) awaitConnected(at int) {
	s.t.Helper()
	b := s.set.list[at]
	await(s.t, "connection", func() bool {
		l := b.remote.live.Load()
		return b.remote.connected() && l != nil && l.conn.FlushTimeout(time.Second) == nil
	})
}

// client returns a connection of a client.
func (s *site) client() *nats.Conn {
	s.t.Helper()
	nc, err := nats.Connect(s.url())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// inbox has what a client gets.
type inbox struct {
	mu   sync.Mutex
	msgs []*nats.Msg
}

// follow subscribes with a client of its own.
func (s *site) follow(pattern string) *inbox {
	s.t.Helper()
	b, nc := new(inbox), s.client()
	_, err := nc.Subscribe(pattern, func(m *nats.Msg) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.msgs = append(b.msgs, m)
	})
	if err != nil || nc.Flush() != nil {
		s.t.Fatal(err)
	}
	return b
}

func (b *inbox) all() []*nats.Msg {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.msgs)
}

func (b *inbox) await(t *testing.T, n int) []*nats.Msg {
	t.Helper()
	await(t, fmt.Sprintf("%d messages", n), func() bool { return len(b.all()) >= n })
	return b.all()
}

// publish publishes with a client that has closed when publish returns.
func (s *site) publish(msgs ...*nats.Msg) {
	s.t.Helper()
	nc, err := nats.Connect(s.url())
	if err != nil {
		s.t.Fatal(err)
	}
	defer nc.Close()
	for _, m := range msgs {
		if err := nc.PublishMsg(m); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		s.t.Fatal(err)
	}
}

// numbered returns messages with their numbers as data.
func numbered(subject string, n int) (msgs []*nats.Msg) {
	for i := range n {
		msgs = append(msgs, &nats.Msg{Subject: subject, Data: fmt.Append(nil, i)})
	}
	return msgs
}

// state returns the state of a bridge.
func (s *site) state(at int) State { return s.set.States()[at] }
