package bus

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"
)

// ConnInfo is a reading of one connection. Message bytes are payload with header, as in [Stats].
type ConnInfo struct {
	ID    uint64 // grows with each connection of the server
	Type  ConnectionType
	IP    string // the peer's; empty without a network
	Port  int
	Start time.Time
	// LastActivity is the time at which the connection last published, received a message, or
	// changed its subscriptions. For a Local it is Start, which saves reading the clock.
	LastActivity time.Time

	Stop   time.Time   // zero = open
	Reason CloseReason // why it was closed; 0 = open

	RTT     time.Duration // of the latest PING, or of CONNECT; 0 = not known yet
	Pending int64         // bytes waiting to be written; when closed: those thrown away

	InMsgs, InBytes   uint64 // published
	OutMsgs, OutBytes uint64 // delivered
	Dropped           uint64 // messages not delivered by [SlowPolicy]
	Stalls            uint64 // times that a publisher waited for it, under [SlowStall]
	Subscriptions     int    // when closed: at its end

	Name, Lang, Version string // of CONNECT
	User                string // name or public key; "[REDACTED]" for a token
	Account             string

	TLS *TLSInfo // nil = none

	lost int64       // bytes thrown away at the end
	conn *connection // read by Subs; nil = subs
	subs []SubInfo
}

// SubInfo is a reading of one subscription.
type SubInfo struct {
	Conn           uint64 // ConnInfo.ID
	Subject, Queue string
	SID            string // as the client chose it; empty in process
	Delivered      uint64
	Max            uint64 // it ends with this delivery; 0 = without end
}

// Subs returns the connection's subscriptions, in the order of their subjects and
// ids: those of now, or those it had when it was closed, of which not all are kept.
func (i *ConnInfo) Subs() []SubInfo {
	if i.conn == nil {
		return slices.Clone(i.subs)
	}
	return i.conn.subInfos()
}

// identity is the client's description of itself in CONNECT.
type identity struct {
	name, lang, version, user string
}

func (o *connectOptions) identity() identity {
	id := identity{name: o.Name, lang: o.Lang, version: o.Version, user: o.User}
	switch {
	case o.NKey != "":
		id.user = o.NKey
	case o.User == "" && o.Token != "":
		id.user = "[REDACTED]"
	}
	return id
}

// Connections reads every open connection, in the order of their ids. Each entry is consistent in
// itself. The connections are read one after the other, so a publisher waits for one of them at
// most.
func (s *Server) Connections() []ConnInfo {
	list := s.conns.open()
	infos := make([]ConnInfo, 0, len(list))
	for _, c := range list {
		if i := c.info(); i.Reason == 0 {
			infos = append(infos, i)
		}
	}
	slices.SortFunc(infos, func(a, b ConnInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

// PendingBytes returns the pending bytes of all connections together.
func (s *Server) PendingBytes() (n int64) {
	for _, i := range s.Connections() {
		n += i.Pending
	}
	return n
}

// ClosedConnections reads the network connections that have ended, the latest
// [Config.MaxClosed] of them, in the order in which they did.
func (s *Server) ClosedConnections() []ConnInfo { return s.closed.all() }

// info reads the counters of c.
func (c *client) info() ConnInfo {
	c.mu.Lock()
	i := c.reading()
	i.Reason, i.Pending = c.reason, c.out.pending
	i.RTT = time.Duration(c.timers.rtt.Load())
	i.Name, i.Lang, i.Version, i.User = c.identity.name, c.identity.lang, c.identity.version, c.identity.user
	if c.transport != nil && c.transport.tls != nil {
		i.TLS = c.transport.tls.info
	}
	c.mu.Unlock()
	i.Type = c.from.connectionType()
	if addr, ok := c.conn.RemoteAddr().(*net.TCPAddr); ok {
		i.IP, i.Port = c.host, addr.Port
	}
	return i
}

func (l *Local) info() ConnInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.reading()
	i.Type, i.Name, i.Pending = ConnectionInProcess, l.name, l.waiting
	if l.closed {
		i.Reason = ClientClosed
	}
	return i
}

// DefaultMaxClosed is the default of [Config.MaxClosed].
const DefaultMaxClosed = 10_000

const (
	// closedSubs bounds the subscriptions that are kept of one ended connection.
	closedSubs = 1000
	// closedSubsAll bounds those of all ended connections together: beyond it the connections that
	// ended first keep none.
	closedSubsAll = 100_000
)

// closedRing remembers the connections that ended last. It grows as they do, up to its bound.
type closedRing struct {
	mu       sync.Mutex
	max      int
	list     []ConnInfo // from at on the oldest first, then from the beginning
	at       int        // the oldest
	subs     int        // kept, of all
	stripped int        // how many, from the oldest on, have lost theirs
}

// add puts i in, in place of the oldest if there are max.
func (r *closedRing) add(i ConnInfo) {
	if len(i.subs) > closedSubs {
		i.subs = slices.Clip(slices.Clone(i.subs[:closedSubs]))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs += len(i.subs)
	if len(r.list) < r.max {
		r.list = append(r.list, i)
	} else {
		r.subs -= len(r.list[r.at].subs)
		r.list[r.at] = i
		r.at = (r.at + 1) % len(r.list)
		r.stripped = max(r.stripped-1, 0)
	}
	for ; r.subs > closedSubsAll; r.stripped++ {
		old := &r.list[(r.at+r.stripped)%len(r.list)]
		r.subs -= len(old.subs)
		old.subs = nil
	}
}

// all copies the ring, the oldest first.
func (r *closedRing) all() []ConnInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.list[r.at:], r.list[:r.at])
}

// retire moves c, which has its reason, to the ended connections and removes its subscriptions. The
// peer does not see the end before that, so a query after it finds the entry.
func (c *client) retire() {
	c.retiring.Do(func() {
		i := c.info()
		i.subs, i.conn, i.Stop = c.subInfos(), nil, time.Now()
		i.Pending = i.lost
		c.srv.conns.retire(c)
		c.srv.closed.add(i)
		c.dropSubscriptions()
		c.mu.Lock()
		c.listed = true
		c.mu.Unlock()
	})
}
