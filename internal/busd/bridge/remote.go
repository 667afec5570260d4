package bridge

import (
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// remote is what is known of the other server. Its methods take no lock of the client library,
// which holds its own while it writes to a server that does not read.
type remote struct {
	up       chan struct{}              // has a value after each connection
	name     atomic.Pointer[string]     // identity of the last connection; nil = none yet
	live     atomic.Pointer[link]       // the present connection with its subscriptions; nil = none
	now      atomic.Pointer[connection] // nil = none yet
	connects atomic.Uint64
}

// link is a connection of the client library, which may be away, with its subscriptions.
type link struct {
	conn *nats.Conn
	subs []*linkSub
}

// linkSub is a subscription with the number of messages that the library dropped of it, as it was
// last told: the library does not tell that of a closed one.
type linkSub struct {
	*nats.Subscription
	drops atomic.Uint64
}

func (l *link) add(sub *nats.Subscription) { l.subs = append(l.subs, &linkSub{Subscription: sub}) }

// connection is what a State says of one.
type connection struct {
	url   string // without secrets
	since time.Time
	fault string // why there is none; "" = there is one
}

// identity returns the id of the server in marks, "" before the first connection. For some moments
// after a connection to another server it is that of the one before.
func (r *remote) identity(nc *nats.Conn) string {
	if name := r.name.Load(); name != nil {
		return *name
	}
	return identity(nc.ConnectedServerId(), nc.ConnectedClusterName())
}

func (r *remote) connected() bool {
	now := r.now.Load()
	return now != nil && now.fault == ""
}

// dropped returns the messages that the library has dropped of the link.
func (l *link) dropped() (n uint64) {
	if l == nil {
		return 0
	}
	for _, sub := range l.subs {
		if dropped, err := sub.Dropped(); err == nil && dropped > 0 {
			sub.drops.Store(uint64(dropped))
		}
		n += sub.drops.Load()
	}
	return n
}
