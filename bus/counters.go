package bus

import (
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
	SlowConsumers    uint64 // connections closed for it
	StaleConnections uint64
	Dropped          uint64    // messages for subscribers at their bound, of which:
	DroppedNew       uint64    // by SlowDropNew
	DroppedOld       uint64    // by SlowDropOld
	DroppedLocal     uint64    // for a Local
	Flushes          Histogram // bytes that one flush wrote for one connection
	Stalls           uint64    // times that a publisher waited for a subscriber, under SlowStall
	Refused          uint64    // publications and subscriptions refused by permission
	Paused           uint64    // connections hung up on, as too many wrong secrets had come from their address
	SubsRefused      uint64    // subscriptions refused as their client had MaxSubs
	TraceOnly        uint64    // publications that asked only to be traced, and were not delivered
	Panics           uint64    // of this program, or of callbacks, that it recovered from; each is logged
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
	if r.inMsgs != 0 {
		c.inMsgs.Add(r.inMsgs)
		c.inBytes.Add(r.inBytes)
	}
	if r.outMsgs != 0 {
		c.outMsgs.Add(r.outMsgs)
		c.outBytes.Add(r.outBytes)
	}
	if r.searches != 0 {
		c.searches.Add(r.searches)
		r.searches = 0
		if r.maxFanout > c.maxFanout.Load() { // by about one batch too little is no harm
			c.maxFanout.Store(r.maxFanout)
		}
	}
	r.inMsgs, r.inBytes, r.outMsgs, r.outBytes = 0, 0, 0, 0
}

// Stats reads the counters. The numbers are each exact, not taken at one
// instant; what a client published before a PING is in them once its PONG has
// been sent.
func (s *Server) Stats() Stats {
	c := &s.counters
	st := Stats{
		Start:            s.start,
		Connections:      s.connected(),
		TotalConnections: c.connections.Load(),
		Subscriptions:    s.subs.len(),
		InMsgs:           c.inMsgs.Load(),
		InBytes:          c.inBytes.Load(),
		OutMsgs:          minus(&c.outMsgs, &c.withdrawn),
		OutBytes:         minus(&c.outBytes, &c.withdrawnBytes),
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

// minus is a count without those that were taken back; a count is published by
// batch, so that it may lag behind.
func minus(count, back *atomic.Uint64) uint64 {
	b := back.Load()
	return max(count.Load(), b) - b
}
