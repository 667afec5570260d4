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
			return n.request(ctx, kind, leader.ID, request)
		}
		select {
		case <-ctx.Done():
			return nil, errNoLeader
		case <-time.After(forwardPause):
		}
	}
}

// request makes a request to a node. The error may be the reason why it has taken nothing.
func (n *Node) request(ctx context.Context, kind, id string, request []byte) ([]byte, error) {
	msg, err := n.o.Conn.RequestWithContext(ctx, n.subject(kind, id), request)
	if err != nil {
		return nil, err
	}
	if reason := msg.Header.Get(refusalHeader); reason != "" {
		return nil, errors.New(reason)
	}
	return msg.Data, nil
}

// refusalHeader has the reason why a node has taken nothing of a request.
const refusalHeader = "Paddock-Refused"

// Answer answers the requests of a kind that other nodes pass to this one, while it is the leader,
// until stop is called or the connection ends. f must not block, and calls respond once, on any
// goroutine; an error is the reason why nothing was taken.
func (n *Node) Answer(kind string, p *ingest.Pipeline, f func(request []byte, respond func(answer []byte, err error))) (stop func(), err error) {
	sub, err := n.o.Conn.Subscribe(n.subject(kind, n.id), func(msg *nats.Msg) {
		respond := func(answer []byte, err error) {
			m := nats.NewMsg(msg.Reply)
			if m.Data = answer; err != nil {
				m.Header.Set(refusalHeader, err.Error())
			}
			_ = msg.RespondMsg(m) // if it is lost, the other node knows what that means
		}
		if p.Role() != ingest.Leader {
			respond(nil, ErrReplaced)
			return
		}
		f(msg.Data, respond)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
