// Package inspector keeps the last exchanges of HTTP/1.1 with a local service, so that its
// developer can look at them, and send one again.
//
// It copies the bytes of connections to the service: see Inspector.Dial. Traffic is neither changed
// nor delayed, and other protocols than HTTP/1.1 are not parsed. The kept exchanges are bounded by
// count and by bytes, and dropped ones are counted. Secrets in header fields are masked when they
// are shown, not when they are kept: a request can be sent again as it was.
package inspector

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// Bounds of the kept exchanges.
const (
	maxExchanges = 100
	maxBytes     = 16 << 20
	maxBody      = 16 << 10 // of one body; the rest is only counted
	maxHead      = 64 << 10
	// underWay is the size that is accounted for an exchange until it has ended, beside its
	// request's head.
	underWay = 2*maxBody + maxHead
	// overhead is the size that is accounted for an exchange beside its heads and bodies.
	overhead = 512
)

// Inspector keeps exchanges. Its methods may be called by any number of goroutines.
type Inspector struct {
	replays chan struct{} // holds one for each replay that is under way

	mu        sync.Mutex
	dials     map[string]dial // guarded by mu; of the services, by tunnel
	exchanges []*exchange     // guarded by mu, with their contents; the oldest first
	bytes     int             // guarded by mu; that they count
	last      uint64          // guarded by mu; the id given last
	dropped   uint64          // guarded by mu; exchanges that fell out
	parsers   sync.WaitGroup
}

type dial func(context.Context) (net.Conn, error)

// New returns one that keeps nothing yet.
func New() *Inspector {
	return &Inspector{replays: make(chan struct{}, maxReplays), dials: map[string]dial{}}
}

// Dial returns d with connections that are listened in on, as those to the service of a
// tunnel.
func (i *Inspector) Dial(tunnel string, d func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dials[tunnel] = d
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := d(ctx)
		if err != nil {
			return nil, err
		}
		return i.listenIn(conn, tunnel, 0), nil
	}
}

// Wait returns when everything that has passed on connections that are closed has been
// read.
func (i *Inspector) Wait() { i.parsers.Wait() }

// exchange is a request and its answer.
type exchange struct {
	summary
	ended bool
	out   bool // it has fallen out
	size  int  // that it counts

	upgrades        bool
	request, answer message
}

// replayable reports whether the request can be sent again.
func (x *exchange) replayable() bool {
	return x.request.whole && !x.request.cut() && !x.upgrades
}

// message is a head as it was, and the first bytes of a body.
type message struct {
	head  []byte
	body  []byte
	bytes int64 // of the whole body
	whole bool  // it has come to its end
}

// cut reports whether there is more of the body than is kept.
func (m *message) cut() bool { return m.bytes > int64(len(m.body)) }

// begin keeps an exchange, and lets the oldest fall out that there is no room for.
func (i *Inspector) begin(x *exchange) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	x.ID, x.Began, x.size = i.last, time.Now(), overhead+underWay+len(x.request.head)
	i.exchanges = append(i.exchanges, x)
	i.bytes += x.size
	for len(i.exchanges) > maxExchanges || i.bytes > maxBytes {
		first := i.exchanges[0]
		i.exchanges = slices.Delete(i.exchanges, 0, 1)
		i.bytes -= first.size
		i.dropped++
		first.out, first.request, first.answer = true, message{}, message{}
	}
}

// note changes an exchange that is still kept.
func (i *Inspector) note(x *exchange, change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !x.out {
		change()
	}
}

// end marks an exchange as ended and accounts for its real size. Later calls do nothing.
func (i *Inspector) end(x *exchange, fault string) {
	i.note(x, func() {
		if x.ended {
			return
		}
		x.ended, x.Fault, x.TookUs = true, fault, time.Since(x.Began).Microseconds()
		i.bytes -= x.size
		x.size = overhead + len(x.request.head) + len(x.request.body) + len(x.answer.head) + len(x.answer.body)
		i.bytes += x.size
	})
}

// keep takes bytes of a body in.
func (m *message) keep(p []byte) {
	m.bytes += int64(len(p))
	if room := maxBody - len(m.body); room > 0 {
		m.body = append(m.body, p[:min(room, len(p))]...)
	}
}

// find returns an exchange by its id, nil if there is none. i.mu is held.
func (i *Inspector) find(id uint64) *exchange {
	at := slices.IndexFunc(i.exchanges, func(x *exchange) bool { return x.ID == id })
	if at < 0 {
		return nil
	}
	return i.exchanges[at]
}
