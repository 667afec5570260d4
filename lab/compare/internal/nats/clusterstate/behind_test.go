package clusterstate

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/nats/servers"
)

// run runs a node with a journal until it ends.
func run(t *testing.T, c *servers.Cluster, own journal.Journal) error {
	t.Helper()
	conn := c.Connect()
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	n, err := cluster.Join(ctx, cluster.Options{
		Conn: conn, Log: openLog(t, conn), Own: own, Prefix: "pdk.paddock", Name: "x", Logger: slog.New(slog.DiscardHandler),
		Apply:   func(uint64, []byte) error { return errors.New("there is no record") },
		Changed: func([]string) {}, Lead: func() error { return errors.New("it must not lead") },
	})
	ok(t, err)
	return n.Run(ctx)
}

// A node without the state from which a log goes on applies nothing of it, whenever the log began:
// it has to start again, from a snapshot. Without a snapshot it does not start.
func TestNoState(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", "1")
	l := openLog(t, c.Connect())
	ok(t, l.Begin(t.Context()))
	own := journal.NewMemory()
	if err := run(t, c, own); !errors.Is(err, cluster.ErrBehind) {
		t.Errorf("a log that goes on from a snapshot: %v", err)
	}
	newNode(t, "a", c.URL()).fails("the log goes on from a snapshot, and there is none")

	_, err := l.Claim(t.Context(), "b")
	ok(t, err)
	_, last, err := l.Append(t.Context(), []byte{1})
	ok(t, err)
	ok(t, l.Trim(t.Context(), last))
	if err := run(t, c, own); !errors.Is(err, cluster.ErrBehind) {
		t.Errorf("a log that was trimmed: %v", err)
	}
	if place, err := cluster.PlaceOf(own); place != (cluster.Place{}) || err != nil {
		t.Errorf("the node has applied %+v, %v", place, err)
	}
	newNode(t, "b", c.URL()).fails("and there is no snapshot")
}

// A node that has applied more than the log has does not take part: the servers have lost entries.
func TestAheadOfTheLog(t *testing.T) {
	t.Parallel()
	_, a, b := begin(t, 1)
	a.move(0, 10)
	same(t, a, b)
	b.stop()
	a.stop()
	other := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", other.URL(), "--replicas", "1")
	l := openLog(t, other.Connect())
	j, err := journal.Open(journal.Options{Dir: b.dir + "/journal"})
	ok(t, err)
	ok(t, errors.Join(j.Put(journal.Value{Name: "cluster/log", Bytes: []byte(l.ID)}), j.Close())) // as if it were that log
	ahead := newNode(t, "b", other.URL())
	ahead.dir = b.dir
	ahead.fails("the servers have lost entries")
	if kept, err := l.Snapshots(t.Context()); len(kept) > 0 || err != nil {
		t.Errorf("%d snapshots, %v", len(kept), err)
	}
}

// A snapshot that is damaged is not loaded: the node takes the one before it.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	c, a, b := begin(t, 1)
	l := openLog(t, c.Connect())
	trimmed(t, l, 1, a, 0)
	a.stop()
	b.stop()
	kept, err := l.Snapshots(t.Context())
	ok(t, err)
	bounds, err := l.Bounds(t.Context())
	ok(t, err)
	s, err := l.SaveSnapshot(t.Context(), streamlog.Snapshot{Sequence: bounds.Last, Node: "x"}, func(w io.Writer) error {
		_, err := io.Copy(w, io.LimitReader(l.OpenSnapshot(t.Context(), kept[0]), int64(kept[0].Bytes)-2048))
		return err
	})
	ok(t, err)
	third := newNode(t, "c", c.URL()).start()
	a.start()
	b.start()
	same(t, a, b, third)
	if text := third.log.String(); !strings.Contains(text, `"snapshot":"`+s.ID) || !third.loaded(1) {
		t.Error("the node has not tried the damaged snapshot, and then loaded another one")
	}
}

// The leader is killed amid an entry of several messages, and then the other node too: both start
// again, and what was not finished has no effect.
func TestUnfinishedEntry(t *testing.T) {
	t.Parallel()
	c, a, b := begin(t, 1)
	a.move(0, 10)
	before, _ := same(t, a, b)
	a.kill()
	b.kill()
	conn := c.Connect()
	head, err := openLog(t, conn).Head(t.Context())
	ok(t, err)
	part := []byte{1, 2} // the version, and the kind: a part of an entry
	part = binary.AppendUvarint(binary.AppendUvarint(part, head.Term), head.Number+1)
	part = append(part, 0, 0, 'x') // its index, that it is not the last one, and data
	_, err = conn.Request("pdk.paddock.log", part, servers.Patience)
	ok(t, err)
	a.start()
	b.start()
	if after, _ := same(t, a, b); after != before {
		t.Errorf("the state is %s, and was %s", after, before)
	}
	b.move(10, 20)
	same(t, a, b)
}
