package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/journal/streamlog"
)

// Observe returns what a client of the servers that is no node hears of a cluster within a time,
// which is that of some beats. prefix is that of [Options]. Without a log logErr is the reason.
func Observe(ctx context.Context, conn *nats.Conn, prefix, name string, log *streamlog.Log, logErr error, listen time.Duration) (*Status, error) {
	n := &Node{o: Options{Conn: conn, Log: log, Prefix: prefix, Cluster: name}, election: newElection("")}
	sub, err := conn.Subscribe(prefix+".beat", n.hear)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	select {
	case <-time.After(listen):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s := n.known()
	n.mu.Lock()
	s.Term = n.election.term
	n.mu.Unlock()
	if log == nil {
		s.LogError = logErr.Error()
		return s, nil
	}
	s.addLog(ctx, log)
	return s, nil
}
