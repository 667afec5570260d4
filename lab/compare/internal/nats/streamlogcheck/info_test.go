package streamlogcheck

import (
	"testing"
	"time"

	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/nats/servers"
)

// await asks for the state of the log until it is as wanted.
func await(t *testing.T, l *streamlog.Log, what string, wanted func(i *streamlog.Info, err error) bool) {
	t.Helper()
	deadline := time.Now().Add(servers.Patience)
	for {
		i, err := l.Info(t.Context())
		if wanted(i, err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v, %v", what, i, err)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The state of the log has all servers that keep it, and tells of one that is killed. Without a
// majority it is an error, or has no leader.
func TestInfo(t *testing.T) {
	t.Parallel()
	c, l := begin(t, 3)
	_, sequence := add(t, l, []byte("1"))
	await(t, l, "all servers", func(i *streamlog.Info, err error) bool {
		return err == nil && i.Wanted == 3 && i.Last == sequence && i.Messages == sequence && i.Bytes > 0 &&
			i.Count(streamlog.ReplicaLeader) == 1 && i.Count(streamlog.ReplicaCurrent) == 2 && i.Replicas[0].State == streamlog.ReplicaLeader
	})
	leader := c.LeaderOf(c.Connect(), config.Stream)
	c.Kill((leader + 1) % 3)
	await(t, l, "one server away", func(i *streamlog.Info, err error) bool {
		return err == nil && i.Count(streamlog.ReplicaOffline) == 1 && i.Count(streamlog.ReplicaLeader) == 1
	})
	c.Kill((leader + 2) % 3)
	await(t, l, "no majority", func(i *streamlog.Info, err error) bool {
		return err != nil || i.Count(streamlog.ReplicaLeader) == 0
	})
	if s := l.Stats(); len(s.Retries) != len(streamlog.Retries) || s.Gaps != 0 {
		t.Errorf("counts: %+v", s)
	}
}

// The server that led the stream is offline when it is killed, although the next leader has never
// heard it.
func TestInfoOfALostLeader(t *testing.T) {
	t.Parallel()
	c, l := begin(t, 3)
	lost := c.LeaderOf(c.Connect(), config.Stream)
	c.Kill(lost)
	add(t, l, []byte("1"))
	await(t, l, "the leader away", func(i *streamlog.Info, err error) bool {
		return err == nil && i.Count(streamlog.ReplicaLeader) == 1 && i.Count(streamlog.ReplicaCurrent) == 1 &&
			len(i.Replicas) == 3 && i.Replicas[0].Name != c.Servers[lost].Name && i.Count(streamlog.ReplicaOffline) == 1
	})
}
