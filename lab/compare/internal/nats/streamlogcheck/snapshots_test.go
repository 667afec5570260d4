package streamlogcheck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/nats/servers"
)

var withSnapshots = streamlog.Config{Stream: "PDK_LOG", Subject: "pdk.log", Copies: "pdk.copies", Snapshots: "pdk.snapshots"}

// snapshotLog creates a log with snapshots, and returns a node's access to it.
func snapshotLog(t *testing.T, c *servers.Cluster) *streamlog.Log {
	t.Helper()
	with := withSnapshots
	with.Replicas = len(c.Servers)
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	ok(t, streamlog.Create(ctx, c.Connect(), with))
	return openWith(t, c)
}

func openWith(t *testing.T, c *servers.Cluster) *streamlog.Log {
	t.Helper()
	l, err := streamlog.Open(t.Context(), c.Connect(), withSnapshots)
	ok(t, err)
	return l
}

// random returns bytes that differ everywhere.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

func save(t *testing.T, l *streamlog.Log, node string, sequence uint64, data []byte) streamlog.Snapshot {
	t.Helper()
	s, err := l.SaveSnapshot(t.Context(), streamlog.Snapshot{Sequence: sequence, Node: node, Time: time.Now()}, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	ok(t, err)
	return s
}

func load(t *testing.T, l *streamlog.Log, s streamlog.Snapshot) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	return io.ReadAll(l.OpenSnapshot(ctx, s))
}

// A snapshot has the bytes that were written, also through a server that is killed meanwhile. The
// two newest ones are kept, and of the log what is behind the older one of them.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 3)
	l := snapshotLog(t, c)
	claim(t, l, "a")
	var sequences []uint64
	for range 40 {
		_, sequence := add(t, l, []byte("entry"))
		sequences = append(sequences, sequence)
	}
	other := openWith(t, c)
	var all []streamlog.Snapshot
	for i, size := range []int{0, 1, 512<<10 - 1, 512 << 10, 512<<10 + 1, 5<<20 + 7} {
		data := random(size)
		if size > 5<<20 {
			c.Kill(0)
		}
		s := save(t, l, "a", sequences[5*i], data)
		if size > 5<<20 {
			c.Run(0)
		}
		if got, err := load(t, other, s); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes: got %d, %v", size, len(got), err)
		}
		all = append(all, s)
		servers.Eventually(t, func() error { return other.Tidy(t.Context()) })
		kept, err := other.Snapshots(t.Context())
		ok(t, err)
		if len(kept) != min(i+1, 2) || kept[0].ID != s.ID {
			t.Fatalf("%d snapshots are kept: %+v", len(kept), kept)
		}
		b, err := other.Bounds(t.Context())
		ok(t, err)
		want := uint64(1) // the claim
		if i > 0 {
			want = sequences[5*(i-1)] + 1
		}
		if b.First != want {
			t.Errorf("after snapshot %d the log begins with %d, want %d", i, b.First, want)
		}
	}
	if _, err := load(t, other, all[2]); !errors.Is(err, streamlog.ErrNotWhole) {
		t.Errorf("a snapshot that was removed: %v", err)
	}
	js, err := jetstream.New(c.Connect())
	ok(t, err)
	stream, err := js.Stream(t.Context(), withSnapshots.Stream+streamlog.SnapshotsSuffix)
	ok(t, err)
	first, err := stream.GetMsg(t.Context(), 1, jetstream.WithGetMsgSubject(all[5].Subject))
	ok(t, err)
	ok(t, stream.DeleteMsg(t.Context(), first.Sequence+3))
	if _, err := load(t, other, all[5]); !errors.Is(err, streamlog.ErrNotWhole) {
		t.Errorf("a snapshot without one of its messages: %v", err)
	}
	if got, err := load(t, other, all[4]); err != nil || len(got) != 512<<10+1 {
		t.Errorf("the one before: %d bytes, %v", len(got), err)
	}
}

// Of snapshots that are written at once one counts, and nothing is left of the others, nor of one
// whose writer has failed.
func TestUnfinishedSnapshots(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	l, other := snapshotLog(t, c), openWith(t, c)
	claim(t, l, "a")
	_, first := add(t, l, []byte("1"))
	_, second := add(t, l, []byte("2"))
	var inner streamlog.Snapshot
	_, err := l.SaveSnapshot(t.Context(), streamlog.Snapshot{Sequence: first, Node: "a"}, func(w io.Writer) error {
		if _, err := w.Write(random(2 << 20)); err != nil {
			return err
		}
		inner = save(t, other, "b", first, []byte("faster"))
		return nil
	})
	if !errors.Is(err, streamlog.ErrOther) {
		t.Errorf("the slower one: %v", err)
	}
	if _, err := l.SaveSnapshot(t.Context(), streamlog.Snapshot{Sequence: first, Node: "a"}, nil); !errors.Is(err, streamlog.ErrOther) {
		t.Errorf("one that is not newer: %v", err)
	}
	// A writer that is killed removes nothing: its connection is closed in the middle.
	killed := c.Connect()
	dying, err := streamlog.Open(t.Context(), killed, withSnapshots)
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = dying.SaveSnapshot(ctx, streamlog.Snapshot{Sequence: second, Node: "c"}, func(w io.Writer) error {
		_, err := w.Write(random(2 << 20))
		killed.Close()
		cancel()
		return errors.Join(err, errors.New("killed"))
	})
	if err == nil {
		t.Error("the killed writer has no error")
	}
	newest := save(t, l, "a", second, []byte("newest"))
	ok(t, l.Tidy(t.Context()))
	js, err := jetstream.New(c.Connect())
	ok(t, err)
	stream, err := js.Stream(t.Context(), withSnapshots.Stream+streamlog.SnapshotsSuffix)
	ok(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	ok(t, err)
	want := map[string]uint64{withSnapshots.Snapshots + ".manifest": 2, inner.Subject: 1, newest.Subject: 1}
	if len(info.State.Subjects) != len(want) {
		t.Errorf("there are %v, want %v", info.State.Subjects, want)
	}
	for subject, n := range want {
		if info.State.Subjects[subject] != n {
			t.Errorf("%s has %d messages, want %d", subject, info.State.Subjects[subject], n)
		}
	}
}

// A log that begins with a snapshot tells each reader, and no node can have begun before.
func TestBegin(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	l, other := snapshotLog(t, c), openWith(t, c)
	if on, err := l.OnSnapshot(t.Context()); on || err != nil {
		t.Errorf("an empty log: %v, %v", on, err)
	}
	ok(t, l.Begin(t.Context()))
	if err := other.Begin(t.Context()); !errors.Is(err, streamlog.ErrReplaced) {
		t.Errorf("twice: %v", err)
	}
	if on, err := other.OnSnapshot(t.Context()); !on || err != nil {
		t.Errorf("it is not noticed: %v", err)
	}
	claim(t, other, "a")
	number, sequence := add(t, other, []byte("x"))
	got := read(t, l, 0, sequence)
	if len(got) != 3 || !got[0].Base || got[0].Sequence != streamlog.BaseSequence || got[1].Node != "a" || got[1].Base || string(got[2].Data) != "x" || number != 1 {
		t.Errorf("%d entries: %+v", len(got), got)
	}
	if err := l.Begin(t.Context()); !errors.Is(err, streamlog.ErrReplaced) {
		t.Errorf("with entries: %v", err)
	}
}
