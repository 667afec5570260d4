package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/ingest"
)

// errNoLeader: no node answers as the leader.
var errNoLeader = errors.New("the cluster has no leader at present: try again")

// subject returns the subject of requests of a kind to a node.
func (n *Node) subject(kind, id string) string { return n.o.Prefix + "." + kind + "." + id }

// Ask passes a request to the leader, once there is one, and returns its answer. It is sent once:
// if the answer is lost, it is not known whether the leader has acted on it.
func (n *Node) Ask(ctx context.Context, kind string, request []byte) ([]byte, error) {
	for {
		if leader, ok := n.Leader(); ok {
			msg, err := n.o.Conn.RequestWithContext(ctx, n.subject(kind, leader.ID), request)
			if err != nil {
				return nil, err
			}
			if reason := msg.Header.Get(refusalHeader); reason != "" {
				return nil, errors.New(reason)
			}
			return msg.Data, nil
		}
		select {
		case <-ctx.Done():
			return nil, errNoLeader
		case <-time.After(forwardPause):
		}
	}
}

// Answer answers the requests of a kind that other nodes pass to this one while it is the leader.
// f must not block, and calls respond once, on any goroutine. It ends with the connection.
func (n *Node) Answer(kind string, p *ingest.Pipeline, f func(request []byte, respond func(answer []byte))) error {
	_, err := n.o.Conn.Subscribe(n.subject(kind, n.id), func(msg *nats.Msg) {
		if p.Role() != ingest.Leader {
			respond(msg, nil, ErrReplaced)
			return
		}
		f(msg.Data, func(answer []byte) { respond(msg, answer, nil) })
	})
	return err
}
