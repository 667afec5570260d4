package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"paddock/lab/perf"
)

const (
	killConns    = 2
	killRoutines = 3 // of each connection
)

// killedClients are the clients that are killed: one process after the other, all
// under one name. Each keeps a journal of its own.
type killedClients struct {
	dir     string
	address string
	name    [16]byte
	started int
}

func (c *killedClients) journal(i int) string {
	return filepath.Join(c.dir, fmt.Sprintf("client.%d", i))
}

// arguments are those of a client that makes count calls of each connection.
func (c *killedClients) arguments(count int) []string {
	args := []string{
		"--addr", c.address, "--do", "verify", "--reconnect", "--session", hex.EncodeToString(c.name[:]),
		"--journal", c.journal(c.started), "--count", strconv.Itoa(count), "--stream", "8",
		"--payload", strconv.Itoa(killPayload), "--conns", strconv.Itoa(killConns), "--routines", strconv.Itoa(killRoutines),
	}
	c.started++
	return args
}

// killedClient is one of them.
type killedClient struct {
	*killable
	journal string
	began   time.Time
}

// start starts a client that would go on for ever.
func (c *killedClients) start(ctx context.Context, t *testing.T) killedClient {
	t.Helper()
	journal, began := c.journal(c.started), time.Now()
	return killedClient{startKillable(ctx, t, append([]string{"bench", "wire"}, c.arguments(1<<40)...)...), journal, began}
}

// works is nil once the client has been told that a post is kept.
func (c killedClient) works(t *testing.T) error {
	c.alive(t)
	return longer(c.journal, 64)
}

// Clients are killed while the server in this process continues, some before their successor
// connects, some after it has taken over. A killed client leaves nothing behind, and its successor
// works at once. Every acknowledged post is in the server's journal once, and without gaps.
func TestClientIsKilled(t *testing.T) {
	ctx, plan := planKills(t, 0)
	before := holds(t)
	dir := t.TempDir()
	journal := filepath.Join(dir, "server.journal")
	server, err := perf.NewServer(perf.ServerOptions{Journal: journal, Delay: killDelay, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	clients := &killedClients{dir: dir, address: listener.Addr().String()}
	plan.random.Uint64() // a name of its own for each seed
	for i := range clients.name {
		clients.name[i] = byte(plan.random.Uint32())
	}
	// The resources of a server without clients, once it has had one.
	first := clients.start(ctx, t)
	until(ctx, t, "the first client does not work", func() error { return first.works(t) })
	first.kill()
	until(ctx, t, "the first client was not seen to end", func() error { return withoutClients(server) })
	alone := holds(t)

	overlaps, slowest := 0, time.Duration(0)
	working := func(c killedClient) {
		t.Helper()
		until(ctx, t, "a new client does not work", func() error { return c.works(t) })
		slowest = max(slowest, time.Since(c.began))
	}
	client := clients.start(ctx, t)
	for range plan.kills - 2 { // and the first one, and the last
		early := plan.chance(4) // perhaps before it has connected
		if !early {
			working(client)
		}
		plan.pass(ctx, 300*time.Millisecond)
		client.alive(t)
		if !early && plan.chance(3) { // the next one takes over from one that lives
			next := clients.start(ctx, t)
			working(next)
			client.kill()
			client = next
			overlaps++
			continue
		}
		client.kill()
		until(ctx, t, "something is left of a client", func() error { return errors.Join(withoutClients(server), alone.noMore(t)) })
		client = clients.start(ctx, t)
	}
	working(client)
	client.kill()
	until(ctx, t, "something is left of the last client", func() error { return errors.Join(withoutClients(server), alone.noMore(t)) })

	// One that may live finds everything in order.
	report, stderr, err := bench(t, clients.arguments(300)...)
	if err != nil || report.Failed != 0 || report.Verified.Reconnects != 0 {
		t.Errorf("the client behind all of them: %v: %+v\n%s", err, report.Verified, stderr)
	}
	stats := server.Stats()
	if stats.Abandoned == 0 && plan.kills >= 10 { // of three, all may be killed while nothing is under way
		t.Error("no handler was told that its client had gone")
	}
	if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
		t.Error(err)
	}
	until(ctx, t, "the server has left something behind", func() error { return before.noMore(t) })

	records := readAcked(t, journal)
	checkJournal(t, records)
	kept := 0
	for i := range clients.started {
		kept += checkKept(t, records, clients.journal(i))
	}
	t.Logf("%d clients killed, of which %d after another had taken over; a new one had its first acknowledgement within %v of its start",
		clients.started-1, overlaps, slowest.Round(time.Millisecond))
	t.Logf("%d posts were acknowledged, %d are in the server's journal; it counts %+v", kept, len(records), stats)
}

// withoutClients is nil if the server has no connection, and of the one name that all
// clients had remembers no more than one session for each connection.
func withoutClients(server *perf.Server) error {
	s := server.Stats()
	if s.Server.Conns != 0 || s.Server.Opening != 0 || s.Sessions.Live != 0 || s.Sessions.Idle > killConns {
		return fmt.Errorf("%+v", s)
	}
	return nil
}
