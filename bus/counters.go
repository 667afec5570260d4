package bus

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// Stats is a reading of a server's counters. Message bytes are payload with
// header, as delivered, without protocol.
type Stats struct {
	Start            time.Time
	Connections      int    // network connections now
	TotalConnections uint64 // since the start
	Subscriptions    int    // of network and in-process connections, now
	InMsgs, InBytes  uint64 // published, also if refused
	OutMsgs          uint64 // delivered, once for each subscription
	OutBytes         uint64
	// TakenMsgs and TakenBytes are OutMsgs and OutBytes with the messages that SlowDropOld dropped
	// after they had been counted: these numbers never fall.
	TakenMsgs, TakenBytes uint64
	SlowConsumers         uint64 // connections closed for it
	StaleConnections      uint64
	Dropped               uint64    // messages for subscribers at their bound, of which:
	DroppedNew            uint64    // by SlowDropNew
	DroppedOld            uint64    // by SlowDropOld
	DroppedLocal          uint64    // for a Local
	Flushes               Histogram // bytes that one flush wrote for one connection
	Stalls                uint64    // times that a publisher waited for a subscriber, under SlowStall
	Refused               uint64    // publications and subscriptions refused by permission
	Paused                uint64    // connections hung up on, as too many wrong secrets had come from their address
	SubsRefused           uint64    // subscriptions refused as their client had MaxSubs
	TraceOnly             uint64    // publications that asked only to be traced, and were not delivered
	Panics                uint64    // of this program, or of callbacks, that it recovered from; each is logged
	// Closed counts ended connections by reason; reasons that never came are absent.
	Closed map[CloseReason]uint64
}

// counters are the server's running totals.
type counters struct {
	connections                        atomic.Uint64
	inMsgs, inBytes, outMsgs, outBytes atomic.Uint64
	droppedNew, droppedOld             atomic.Uint64
	droppedLocal, refused, stalls      atomic.Uint64
	traceOnly, paused, subsRefused     atomic.Uint64
	flushes                            histogram
	panics                             atomic.Uint64
	searches, maxFanout                atomic.Uint64
	withdrawn                          atomic.Uint64 // of those dropped: counted in outMsgs before
	withdrawnBytes                     atomic.Uint64
	closed                             [reasonCount]atomic.Uint64
}

// add publishes a batch's counts.
func (c *counters) add(r *router) {
	b := &r.counts
	if b.inMsgs != 0 {
		c.inMsgs.Add(b.inMsgs)
		c.inBytes.Add(b.inBytes)
	}
	if b.outMsgs != 0 {
		c.outMsgs.Add(b.outMsgs)
		c.outBytes.Add(b.outBytes)
	}
	if r.searches != 0 {
		c.searches.Add(r.searches)
		r.searches = 0
		if r.maxFanout > c.maxFanout.Load() { // by about one batch too little is no harm
			c.maxFanout.Store(r.maxFanout)
		}
	}
	b.inMsgs, b.inBytes, b.outMsgs, b.outBytes = 0, 0, 0, 0
}

// Stats reads the counters. The numbers are each exact, not taken at one instant; they include the
// messages before a PING once its PONG has been sent.
func (s *Server) Stats() Stats {
	c := &s.counters
	st := Stats{
		Start:            s.start,
		Connections:      s.conns.connected(),
		TotalConnections: c.connections.Load(),
		Subscriptions:    s.subs.len(),
		InMsgs:           c.inMsgs.Load(),
		InBytes:          c.inBytes.Load(),
		OutMsgs:          minus(&c.outMsgs, &c.withdrawn),
		OutBytes:         minus(&c.outBytes, &c.withdrawnBytes),
		TakenMsgs:        c.outMsgs.Load(),
		TakenBytes:       c.outBytes.Load(),
		DroppedNew:       c.droppedNew.Load(),
		DroppedOld:       c.droppedOld.Load(),
		DroppedLocal:     c.droppedLocal.Load(),
		Flushes:          c.flushes.reading(),
		Stalls:           c.stalls.Load(),
		Refused:          c.refused.Load(),
		SubsRefused:      c.subsRefused.Load(),
		TraceOnly:        c.traceOnly.Load(),
		Paused:           c.paused.Load(),
		Panics:           c.panics.Load(),
		Closed:           make(map[CloseReason]uint64),
	}
	st.Dropped = st.DroppedNew + st.DroppedOld + st.DroppedLocal
	for reason := ClientClosed; reason < reasonCount; reason++ {
		if n := c.closed[reason].Load(); n > 0 {
			st.Closed[reason] = n
		}
	}
	st.SlowConsumers = st.Closed[SlowConsumerPendingBytes] + st.Closed[SlowConsumerWriteDeadline]
	st.StaleConnections = st.Closed[StaleConnection]
	return st
}

// minus returns a count without the messages that were taken back. A count is published by batch,
// so it may lag behind.
func minus(count, back *atomic.Uint64) uint64 {
	b := back.Load()
	return max(count.Load(), b) - b
}

// A histogram's bounds are powers of four bytes, from 64 to 1 MiB.
const (
	histogramFirst = 6 // its binary logarithm
	histogramSteps = 8
)

// Histogram is a reading of sizes in bytes.
type Histogram struct {
	// Bounds are in ascending order. Counts[i] counts the sizes above Bounds[i-1], up to Bounds[i];
	// the last count is that of the sizes above all bounds.
	Bounds []int
	Counts []uint64
	Sum    uint64
}

// histogram counts sizes. The zero value is empty.
type histogram struct {
	counts [histogramSteps + 1]atomic.Uint64
	sum    atomic.Uint64
}

// observe counts one size; 0 is none.
func (h *histogram) observe(n int) {
	if n > 0 {
		h.counts[histogramBin(n)].Add(1)
		h.sum.Add(uint64(n))
	}
}

func histogramBin(n int) int {
	above := max(bits.Len(uint(n-1))-histogramFirst, 0) // powers of two beyond the first
	return min((above+1)/2, histogramSteps)
}

func (h *histogram) reading() Histogram {
	r := Histogram{Sum: h.sum.Load()}
	for i := range h.counts {
		r.Counts = append(r.Counts, h.counts[i].Load())
	}
	for i := range histogramSteps {
		r.Bounds = append(r.Bounds, 1<<(histogramFirst+2*i))
	}
	return r
}

// IndexStats is a reading of the subject index.
type IndexStats struct {
	Subscriptions     int
	Inserts, Removes  uint64
	Lookups, Searches uint64 // subjects looked up, and those whose answer was not cached
	MaxFanout         int    // most subscriptions and queues that one search has found
}

// IndexStats reads the index. Lookups and searches are counted by batch.
func (s *Server) IndexStats() IndexStats {
	now := s.subs.now.Load()
	return IndexStats{
		Subscriptions: now.count,
		Inserts:       s.subs.inserts.Load(),
		Removes:       s.subs.removes.Load(),
		Lookups:       s.counters.inMsgs.Load(),
		Searches:      s.counters.searches.Load(),
		MaxFanout:     int(s.counters.maxFanout.Load()),
	}
}

// Subscriptions reads every subscription, or the matching ones if subject is not empty. total is
// their number, and list has at most limit of them, from offset on. The order is the same while no
// subscription is added or removed. Only a connection whose counts are being read waits for it.
func (s *Server) Subscriptions(subject string, offset, limit int) (list []SubInfo, total int) {
	var page []*subscription
	for sub := range s.subs.now.Load().interested(subject) {
		if total >= offset && len(page) < limit {
			page = append(page, sub)
		}
		total++
	}
	list = make([]SubInfo, len(page))
	for i, sub := range page {
		list[i] = sub.owner.read(sub)
	}
	return list, total
}

// interested goes through the subscriptions that get subject; "" = all there are.
func (s *snapshot) interested(subject string) iter.Seq[*subscription] {
	if subject == "" {
		return s.all
	}
	var m matches
	s.match(maphash.String(seed, subject), []byte(subject), &m)
	return func(yield func(*subscription) bool) {
		for _, list := range m.plain {
			if !each(list, yield) {
				return
			}
		}
		(&interest{groups: m.groups}).all(yield)
	}
}

func each(list []*subscription, yield func(*subscription) bool) bool {
	return !slices.ContainsFunc(list, func(s *subscription) bool { return !yield(s) })
}

func (s *snapshot) all(yield func(*subscription) bool) {
	if !s.lead.all(yield) {
		return
	}
	for _, half := range s.by {
		if half == nil {
			continue
		}
		for i := range half {
			if !half[i].all(yield) {
				return
			}
		}
	}
}

func (d *domain) all(yield func(*subscription) bool) bool {
	for n := range d.literal.Values {
		if !n.all(yield) {
			return false
		}
	}
	return d.wild.all(yield)
}

func (n *interest) all(yield func(*subscription) bool) bool {
	if !each(n.plain, yield) {
		return false
	}
	for _, g := range n.groups {
		if !each(g.members, yield) {
			return false
		}
	}
	return true
}

func (l *level) all(yield func(*subscription) bool) bool {
	if l == nil {
		return true
	}
	if !l.interest.all(yield) || !l.tail.all(yield) || !l.any.all(yield) {
		return false
	}
	for below := range l.next.Values {
		if !below.all(yield) {
			return false
		}
	}
	return true
}
