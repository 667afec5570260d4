package platform

import (
	"context"
	"errors"
	"testing"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
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
