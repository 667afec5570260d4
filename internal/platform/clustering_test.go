package platform

import (
	"context"
	"errors"
	"testing"

	"paddock/internal/platform/cluster"
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
