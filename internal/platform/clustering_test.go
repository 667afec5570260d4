package platform

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// A node ends with its first failure. What fails after that, while it is drained, blocks nothing,
// and the role is not given away a second time.
func TestFirstFailureOfANode(t *testing.T) {
	m := &member{}
	m.failed, m.fail = context.WithCancelCause(t.Context())
	p := &Platform{cfg: config.Default(), member: m}
	m.fail(ErrDrained)
	for range 2 {
		if err := p.watchMember(t.Context()); !errors.Is(err, ErrDrained) {
			t.Errorf("the node ends with %v", err)
		}
		if err := p.drainLeader()("", nil); err == nil {
			t.Error("the role is given away again")
		}
		m.fail(cluster.ErrReplaced)
	}
}

// kept is a log with one snapshot, at a node that writes them.
type kept struct {
	streamlog.Snapshot
	saved int
}

func (k *kept) WritesSnapshots() bool { return true }

func (k *kept) Place() cluster.Place { return cluster.Place{Sequence: k.Sequence + 1} }

func (k *kept) Snapshots(context.Context) ([]streamlog.Snapshot, error) {
	return []streamlog.Snapshot{k.Snapshot}, nil
}

func (k *kept) SaveSnapshot(_ context.Context, s streamlog.Snapshot, _ func(io.Writer) error) (streamlog.Snapshot, error) {
	k.saved++
	return s, streamlog.ErrOther
}

func (k *kept) Tidy(context.Context) error { return nil }

// A snapshot is due a day after the last one, however often nodes start meanwhile.
func TestSnapshotsAreDueAfterTheLastOne(t *testing.T) {
	now, cfg := time.Now(), config.Default()
	cfg.Data.Dir = t.TempDir()
	j, err := journal.Open(journal.Options{Dir: JournalDir(cfg.Data.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := attach(j, "log", cluster.Place{Sequence: 8}); err != nil {
		t.Fatal(err)
	}
	p := &Platform{cfg: cfg, journal: j, log: slog.New(slog.DiscardHandler)}
	for hours, want := range map[int]int{23: 0, 25: 1} {
		k := &kept{Snapshot: streamlog.Snapshot{ID: "a", Sequence: 7, Time: now.Add(-time.Duration(hours) * time.Hour)}}
		w := snapshots{p: p, m: &member{}, node: k, log: k, last: streamlog.Snapshot{Time: now}}
		for range 2 {
			if err := w.look(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if k.saved != want {
				t.Errorf("after %d hours: %d are written", hours, k.saved)
			}
			k.Time = now // by another node
			now = now.Add(time.Second)
		}
	}
}

// short is a journal whose process ends after a number of writes.
type short struct {
	*journal.Memory
	left int
}

func (s *short) Put(values ...journal.Value) error {
	if s.left--; s.left < 0 {
		return errors.New("the process has ended")
	}
	return s.Memory.Put(values...)
}

// An empty directory is that of a node, with the epoch of the cluster, or still empty, whenever its
// process ends: with an epoch of its own, its cursors would be valid at no other node.
func TestAnEmptyNodeHasTheEpoch(t *testing.T) {
	const log = "Sz1eG9wZJ7yN0cXo3dQ2aB"
	for writes := range 3 {
		j := &short{journal.NewMemory(), writes}
		_ = attachEmpty(j, log) // fails without a write
		id, err := attached(j)
		if err != nil {
			t.Fatal(err)
		}
		epoch, err := j.Get("epoch")
		if attachedTo := id == log; attachedTo != (string(epoch) == log[:12]) || attachedTo != (writes > 0) {
			t.Errorf("after %d writes: the log is %q, the epoch %q, %v", writes, id, epoch, err)
		}
	}
}
