package bus

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ConnInfo is a reading of one connection. Message bytes are payload with header,
// as in [Stats].
type ConnInfo struct {
	ID    uint64 // grows with each connection of the server
	Type  ConnectionType
	IP    string // the peer's; empty without a network
	Port  int
	Start time.Time
	// LastActivity is when the connection last published, received a message, or changed its
	// subscriptions. For a Local it is Start, which saves reading the clock.
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

	lost int64 // bytes thrown away at the end
	conn conn  // read by Subs; nil = subs
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

// conn is a connection that can be read: a network client or a [Local].
type conn interface {
	info() ConnInfo
	subInfos() []SubInfo
}

// identity is the client's description of itself in CONNECT.
type identity struct {
	name, lang, version, user string
}

func (o *connectOptions) identity() identity {
	who := identity{name: o.Name, lang: o.Lang, version: o.Version, user: o.User}
	switch {
	case o.NKey != "":
		who.user = o.NKey
	case o.User == "" && o.Token != "":
		who.user = "[REDACTED]"
	}
	return who
}

// usage holds the counts of a connection's own work. For a network client, only the reader writes
// the numbers of messages, once a batch.
type usage struct {
	start           time.Time
	inMsgs, inBytes atomic.Uint64
	active          atomic.Int64 // Unix ns
	pinged          atomic.Int64 // Unix ns of the PING without an answer; 0 = none
	rtt             atomic.Int64 // ns
}

// count publishes the counts of the batch so far.
func (u *usage) count(r *router) {
	if r.inMsgs > 0 {
		u.inMsgs.Store(u.inMsgs.Load() + r.inMsgs)
		u.inBytes.Store(u.inBytes.Load() + r.inBytes)
		u.active.Store(r.now)
	}
}

// add is count for many publishers at once.
func (u *usage) add(r *router) {
	u.inMsgs.Add(r.inMsgs)
	u.inBytes.Add(r.inBytes)
}

// pong measures how long the answer to the PING took.
func (u *usage) pong(now int64) {
	if at := u.pinged.Swap(0); at != 0 {
		u.rtt.Store(max(now-at, 1))
	}
}

// deliveryCounts counts the deliveries to a connection. The connection's lock guards it.
type deliveryCounts struct {
	msgs, bytes     uint64
	dropped, stalls uint64
	lost            int64 // bytes that were pending when the client was given up
}

// Connections reads every open connection, in the order of their ids. Each entry is consistent in
// itself. The connections are read one after the other, so a publisher waits for one of them at
// most.
func (s *Server) Connections() []ConnInfo {
	s.mu.Lock()
	list := make([]conn, 0, len(s.clients)+len(s.locals))
	for c := range s.clients {
		if !c.retired {
			list = append(list, c)
		}
	}
	for l := range s.locals {
		list = append(list, l)
	}
	s.mu.Unlock()
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
	i := ConnInfo{
		ID: c.id, Type: c.door.connectionType(), TLS: c.tlsInfo(), Account: c.srv.cfg().Account, conn: c,
		Start:        c.usage.start,
		LastActivity: time.Unix(0, c.usage.active.Load()),
		RTT:          time.Duration(c.usage.rtt.Load()),
		InMsgs:       c.usage.inMsgs.Load(), InBytes: c.usage.inBytes.Load(),
	}
	if addr, ok := c.conn.RemoteAddr().(*net.TCPAddr); ok {
		i.IP, i.Port = c.host, addr.Port
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i.Reason, i.Pending = c.reason, c.out.pending
	i.OutMsgs, i.OutBytes = c.delivered.msgs, c.delivered.bytes
	i.Dropped, i.Stalls, i.lost = c.delivered.dropped, c.delivered.stalls, c.delivered.lost
	i.Subscriptions = len(c.subs)
	i.Name, i.Lang, i.Version, i.User = c.who.name, c.who.lang, c.who.version, c.who.user
	return i
}

func (c *client) subInfos() []SubInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return readSubs(c.id, slices.Collect(maps.Values(c.subs)))
}

// readSubs reads the subscriptions of one connection, whose lock is held.
func readSubs(id uint64, subs []*subscription) []SubInfo {
	list := make([]SubInfo, len(subs))
	for i, s := range subs {
		list[i] = s.reading(id)
	}
	slices.SortFunc(list, func(a, b SubInfo) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.SID, b.SID))
	})
	return list
}

func (s *subscription) reading(id uint64) SubInfo {
	return SubInfo{Conn: id, Subject: s.subject, Queue: s.queue, SID: s.sid, Delivered: s.delivered, Max: s.max}
}

func (l *Local) info() ConnInfo {
	i := ConnInfo{
		ID: l.id, Type: ConnectionInProcess, Account: l.srv.cfg().Account, conn: l,
		Name: l.name, Start: l.usage.start,
		LastActivity: time.Unix(0, l.usage.active.Load()),
		InMsgs:       l.usage.inMsgs.Load(), InBytes: l.usage.inBytes.Load(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		i.Reason = ClientClosed
	}
	i.Pending, i.Subscriptions = l.waiting, len(l.subs)
	i.OutMsgs, i.OutBytes, i.Dropped = l.delivered.msgs, l.delivered.bytes, l.delivered.dropped
	return i
}

func (l *Local) subInfos() []SubInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readSubs(l.id, slices.Clone(l.subs))
}

// DefaultMaxClosed is how many ended connections are remembered.
const DefaultMaxClosed = 10_000

const (
	// closedSubs is how many subscriptions of one ended connection are kept.
	closedSubs = 1000
	// closedSubsAll is how many of all ended connections together: beyond it the
	// connections that ended first keep none.
	closedSubsAll = 100_000
)

// closedRing remembers the connections that ended last. It grows as they do, up to
// its bound.
type closedRing struct {
	mu    sync.Mutex
	max   int
	list  []ConnInfo // from at on the oldest first, then from the beginning
	at    int        // the oldest
	subs  int        // kept, of all
	strip int        // how many, from the oldest on, have lost theirs
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
		r.strip = max(r.strip-1, 0)
	}
	for ; r.subs > closedSubsAll; r.strip++ {
		old := &r.list[(r.at+r.strip)%len(r.list)]
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

// retire moves c, which has its reason by then, to the ended connections and removes its
// subscriptions. The peer does not see the end before that, so a query after it finds the entry.
func (c *client) retire() {
	c.retiring.Do(func() {
		i := c.info()
		i.subs, i.conn, i.Stop = c.subInfos(), nil, time.Now()
		i.Pending = i.lost
		s := c.srv
		s.mu.Lock()
		c.retired = true
		if c.rejected == nil {
			s.present--
		}
		s.mu.Unlock()
		s.closed.add(i)
		c.dropSubscriptions()
		c.mu.Lock()
		c.listed = true
		c.mu.Unlock()
	})
}
