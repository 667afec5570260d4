// Package bridgecheck holds the tests of the bus's bridges with nats-server, which is no dependency
// of the product.
package bridgecheck

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/internal/busd/bridge"
	"paddock/lab/compare/internal/nats/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(servers.Patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a bus with bridges.
type site struct {
	t      *testing.T
	server *bus.Server
	set    *bridge.Set
	list   []bridge.Config
}

func newSite(t *testing.T) *site {
	t.Helper()
	server, err := bus.New(bus.Config{Port: -1})
	ok(t, err)
	ok(t, server.Start())
	s := &site{t: t, server: server, set: bridge.New(server, slog.New(slog.DiscardHandler))}
	t.Cleanup(func() {
		s.set.Close(context.Background())
		ok(t, server.Shutdown(context.Background()))
	})
	return s
}

func (s *site) url() string { return "nats://" + s.server.Addr().String() }

// bridge connects the bus to a server, at which probe is a client, and waits until messages pass.
func (s *site) bridge(urls string, probe *nats.Conn, imports, exports []string) {
	s.t.Helper()
	name := fmt.Sprintf("b%d", len(s.list))
	s.list = append(s.list, bridge.Config{
		Name: name, URLs: strings.Split(urls, ","), Import: append(slices.Clone(imports), "probe.in."+name+".*"),
		Export: append(slices.Clone(exports), "probe.out."+name+".*"), MaxPending: bridge.DefaultPending,
	})
	ok(s.t, s.set.Apply(s.list, nil))
	s.awaitPassing(len(s.list)-1, probe)
}

// awaitPassing waits until messages pass a bridge both ways.
func (s *site) awaitPassing(at int, probe *nats.Conn) {
	s.t.Helper()
	name := s.list[at].Name
	for _, way := range []struct {
		from, to *nats.Conn
		subject  string
	}{{probe, s.client(), "probe.in."}, {s.client(), probe, "probe.out."}} {
		sub, err := way.to.SubscribeSync(way.subject + name + ".*")
		ok(s.t, err)
		await(s.t, "way through the bridge", func() bool {
			if way.to.FlushTimeout(time.Second) != nil {
				return false
			}
			_ = way.from.Publish(way.subject+name+".x", nil)
			_, err := sub.NextMsg(50 * time.Millisecond)
			return err == nil
		})
		ok(s.t, sub.Unsubscribe())
	}
}

// client returns a client of the bus.
func (s *site) client() *nats.Conn { return connect(s.t, s.url()) }

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	ok(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// inbox has what a client gets.
type inbox struct {
	mu   sync.Mutex
	msgs []*nats.Msg
}

func follow(t *testing.T, nc *nats.Conn, pattern string) *inbox {
	t.Helper()
	b := new(inbox)
	_, err := nc.Subscribe(pattern, func(m *nats.Msg) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.msgs = append(b.msgs, m)
	})
	ok(t, err)
	ok(t, nc.Flush())
	return b
}

func (b *inbox) all() []*nats.Msg {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.msgs)
}

// await waits for n messages.
func (b *inbox) await(t *testing.T, n int) []*nats.Msg {
	t.Helper()
	await(t, fmt.Sprintf("%d messages", n), func() bool { return len(b.all()) >= n })
	return b.all()
}

// publish publishes n numbered messages.
func publish(t *testing.T, nc *nats.Conn, subject string, n int) {
	t.Helper()
	for i := range n {
		ok(t, nc.Publish(subject, fmt.Append(nil, i)))
	}
	ok(t, nc.Flush())
}

// loops returns the messages that a bridge has not passed as they were at a server already.
func loops(s *bridge.State) uint64 { return s.In.Dropped[bridge.Loop] + s.Out.Dropped[bridge.Loop] }
