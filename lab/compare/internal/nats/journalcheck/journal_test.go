// Package journalcheck tests the journal of a cluster with nats-server, which is no dependency of
// the product.
package journalcheck

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/nats/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node runs a node of a cluster over a journal of its own until the test ends.
func node(t *testing.T, c *servers.Cluster, names streamlog.Config, own journal.Journal) (n *cluster.Node, leads <-chan struct{}) {
	t.Helper()
	conn := c.Connect()
	log, err := streamlog.Open(t.Context(), conn, names)
	ok(t, err)
	ctx, leave := context.WithCancel(t.Context())
	leading, ended := make(chan struct{}), make(chan error, 1)
	n, err = cluster.Join(ctx, cluster.Options{
		Conn: conn, Log: log, Own: own, Prefix: names.Subject, Name: "n", Logger: slog.New(slog.DiscardHandler),
		Apply: func(uint64, []byte) error { return nil }, Changed: func([]string) {},
		Lead: func() error { close(leading); return nil },
	})
	ok(t, err)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		leave()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return n, leading
}

// The journal of a leader keeps what every journal promises, in its own one and in the log.
func TestJournal(t *testing.T) {
	c := servers.Start(t, 3)
	var count atomic.Int64
	journaltest.Suite(t, func(t *testing.T) (journal.Journal, func() journal.Journal) {
		id := fmt.Sprint("j", count.Add(1))
		names := streamlog.Config{Stream: id, Subject: id + ".log", Copies: id + ".copies", Replicas: 3}
		ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
		defer cancel()
		ok(t, streamlog.Create(ctx, c.Connect(), names))
		o := journal.Options{Dir: t.TempDir(), NoSync: true}
		own, err := journal.Open(o)
		ok(t, err)
		n, leads := node(t, c, names, own)
		select {
		case <-leads:
		case <-ctx.Done():
			t.Fatal("the node does not lead")
		}
		return n.Journal(), func() journal.Journal {
			own, err := journal.Open(o)
			ok(t, err)
			return own
		}
	})
}
