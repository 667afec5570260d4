package cluster

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/ingest"
)

var (
	// ErrHere: this node is the leader, or is becoming it.
	ErrHere = errors.New("this node is the leader")
	// errNoLeader: no node answers as the leader.
	errNoLeader = errors.New("the cluster has no leader at present: try again")
)

// subject returns the subject of requests of a kind to a node.
func (n *Node) subject(kind, id string) string { return n.o.Prefix + "." + kind + "." + id }

// Ask passes a request to the leader, once there is one, and returns its answer. It is sent once:
// if the answer is lost, it is not known whether the leader has acted on it. The error is ErrHere
// if this node is the leader: it does not pass requests to itself.
func (n *Node) Ask(ctx context.Context, kind string, request []byte) ([]byte, error) {
	for {
		leader, ok := n.Leader()
		switch {
		case ok && leader.ID == n.id:
			return nil, ErrHere
		case ok:
			return n.request(ctx, kind, leader.ID, "", request)
		}
		select {
		case <-ctx.Done():
			return nil, errNoLeader
		case <-time.After(forwardPause):
		}
	}
}

// request makes a request to a node. One with a name, of requestName, is done once, however often
// it is made. The error may be the reason why the node has taken nothing.
func (n *Node) request(ctx context.Context, kind, id, name string, request []byte) ([]byte, error) {
	m := nats.NewMsg(n.subject(kind, id))
	if m.Data = request; name != "" {
		m.Header.Set(nameHeader, name)
	}
	msg, err := n.o.Conn.RequestMsgWithContext(ctx, m)
	if err != nil {
		return nil, err
	}
	if reason := msg.Header.Get(refusalHeader); reason != "" {
		return nil, errors.New(reason)
	}
	return msg.Data, nil
}

const (
	// refusalHeader has the reason why a node has taken nothing of a request.
	refusalHeader = "Paddock-Refused"
	// nameHeader has the name of a request that may be made again.
	nameHeader = "Paddock-Request"
)

// requestName returns the name of a request of this node, which makes one at a time.
func (n *Node) requestName(number uint64) string {
	return n.id + "." + strconv.FormatUint(number, 10) + " " + n.o.Name
}

// Answer answers the requests of a kind that other nodes pass to this one, while it is the leader,
// until stop is called or the connection ends. f must not block, and calls respond once, on any
// goroutine; an error is the reason why nothing was taken.
func (n *Node) Answer(kind string, p *ingest.Pipeline, f func(request []byte, respond func(answer []byte, err error))) (stop func(), err error) {
	named := answers{newest: map[string]*answer{}}
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
		if name := msg.Header.Get(nameHeader); name != "" {
			if respond = named.begin(name, respond); respond == nil {
				return
			}
		}
		f(msg.Data, respond)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}

// answers are the newest answers to the requests with a name, one for each process of a node that
// asks. A request that is made again, as its answer is late or lost, is not done again.
type answers struct {
	mu        sync.Mutex
	newest    map[string]*answer // by the id of the process; two may have one name
	processes []string           // of newest: the one that has asked last is the last
}

// maxAskers bounds the processes whose answers are kept.
const maxAskers = 64

type answer struct {
	request string
	respond func([]byte, error) // to the latest attempt
	given   bool                // with body and err
	body    []byte
	err     error
}

// begin takes an attempt to make a request, and returns what answers the request, or nil if it is
// not the first attempt.
func (all *answers) begin(name string, respond func([]byte, error)) func([]byte, error) {
	request, _, _ := strings.Cut(name, " ")
	process, _, _ := strings.Cut(request, ".")
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.newest[process]
	if a == nil || a.request != request {
		a = &answer{request: request, respond: respond}
		all.newest[process] = a
		all.processes = append(slices.DeleteFunc(all.processes, func(p string) bool { return p == process }), process)
		if len(all.processes) > maxAskers {
			delete(all.newest, all.processes[0])
			all.processes = slices.Delete(all.processes, 0, 1)
		}
		return func(body []byte, err error) { all.give(a, body, err) }
	}
	if a.respond = respond; a.given {
		respond(a.body, a.err)
	}
	return nil
}

// give answers a request, and its attempts that are still to come.
func (all *answers) give(a *answer, body []byte, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	a.given, a.body, a.err = true, body, err
	a.respond(body, err)
}
