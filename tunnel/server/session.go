package server

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// session is a client that is connected, by one connection or several. Of an identity
// there is one.
type session struct {
	server   *Server
	identity string
	links    atomic.Pointer[[]*link] // stored under registry.mu
	small    int                     // head and body of a small exchange have at most so many bytes

	direct directCounts
	hinted hintStatus // of all its tunnels

	leases  map[uint16]*lease // guarded by registry.mu
	old     []*lease          // guarded by registry.mu; of the session before, not bound again yet
	changes []time.Time       // guarded by registry.mu; when other instances took over
}

const (
	// maxChanges within changeSpan is how often an identity may move between
	// instances: two machines with a copied key would throw each other out for ever.
	maxChanges = 3
	changeSpan = time.Minute
)

// session is that of a connection. A new one of the same life of the client is one more;
// any other replaces the session of its identity.
func (reg *registry) session(conn *wire.Conn, r *message.BindRequest) (*session, error) {
	identity := reg.s.identify(conn)
	reg.mu.Lock()
	before := reg.sessions[identity]
	if before != nil && before.has(conn) {
		reg.mu.Unlock()
		return before, nil
	}
	if before != nil && before.admits(conn) {
		replaced, err := before.join(conn)
		if err == nil {
			reg.watch(before, conn)
		}
		reg.mu.Unlock()
		if replaced != nil {
			reg.parted(replaced)
			replaced.Abort(wire.StaleEpoch)
		}
		return before, err
	}
	x := &session{server: reg.s, identity: identity, small: r.SmallMax, leases: map[uint16]*lease{}}
	x.links.Store(newLinks(conn))
	if x.small == 0 {
		x.small = message.MaxSmall
	}
	err := reg.enter(x, before)
	reg.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if before != nil {
		reg.s.takeovers.Add(1)
		for _, l := range before.all() {
			l.Abort(wire.StaleEpoch)
		}
		reg.disconnected(before)
	}
	if reg.s.Hooks.Connected != nil {
		reg.s.Hooks.Connected(x.describe())
	}
	return x, nil
}

// enter makes x the session of its identity. reg.mu is held.
func (reg *registry) enter(x, before *session) error {
	switch {
	case reg.closed:
		return message.Refused(wire.Unavailable, "closing")
	case before == nil && len(reg.sessions) >= reg.s.limits.Sessions:
		e := message.Refused(wire.ResourceExhausted, "too many clients")
		e.RetryAfter = 5 * time.Second
		return e
	}
	if before != nil {
		now := time.Now()
		x.changes = slices.DeleteFunc(slices.Clone(before.changes), func(at time.Time) bool { return now.Sub(at) >= changeSpan })
		if before.lead().Err() == nil && !sameInstance(before.lead(), x.lead()) {
			if len(x.changes) >= maxChanges {
				return message.Refused(wire.AlreadyExists, "identity in use by another instance: each process needs an identity of its own")
			}
			x.changes = append(x.changes, now)
		}
		x.old = slices.AppendSeq(before.old, maps.Values(before.leases))
		before.leases, before.old = nil, nil
	}
	reg.sessions[x.identity] = x
	reg.watch(x, x.lead())
	return nil
}

// sameInstance reports whether two connections are of one process, or of one that was
// started again with its session.
func sameInstance(a, b *wire.Conn) bool {
	x, y := a.Peer(), b.Peer()
	return x != nil && y != nil && x.Session != nil && y.Session != nil && x.Session.ID == y.Session.ID
}

// watch waits for the end of a connection, or of the server.
func (reg *registry) watch(x *session, conn *wire.Conn) {
	reg.s.tasks.Go(func() {
		select {
		case <-conn.Done():
			reg.lost(x, conn)
		case <-reg.s.ctx.Done():
		}
	})
}

// lost takes a connection that has ended from its session, which ends with the last one;
// once is enough.
func (reg *registry) lost(x *session, conn *wire.Conn) {
	reg.mu.Lock()
	if reg.sessions[x.identity] != x || !x.has(conn) {
		reg.mu.Unlock()
		return
	}
	last := x.part(conn)
	if last {
		delete(reg.sessions, x.identity)
		for _, c := range x.leases {
			reg.rest(c)
		}
		for _, c := range x.old {
			reg.rest(c)
		}
		x.leases, x.old = nil, nil
	}
	reg.mu.Unlock()
	if last {
		reg.disconnected(x)
	} else {
		reg.parted(conn)
	}
}

// parted keeps the counts of a connection that is no session's any more.
func (reg *registry) parted(conn *wire.Conn) {
	stats := conn.Stats()
	reg.mu.Lock()
	reg.past.add(&stats)
	reg.mu.Unlock()
}

// disconnected calls the hook for a session that has left reg.sessions.
func (reg *registry) disconnected(x *session) {
	for _, l := range x.all() {
		reg.parted(l.Conn)
	}
	if reg.s.Hooks.Disconnected != nil {
		reg.s.Hooks.Disconnected(x.describe())
	}
}
