package admission

import "time"

// Stats holds the current figures of a gate, and its refusals since it was made.
type Stats struct {
	Requests, Streams, Waiting int
	Bytes                      int64
	Refused                    map[string]uint64 // by Reason.String
	Waits                      uint64            // that have ended, whatever came of them
	Waited                     time.Duration     // in all of these together
}

// Stats looks at the gate.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{
		Requests: g.requests, Streams: g.streams, Waiting: g.waiting, Bytes: g.bytes,
		Refused: make(map[string]uint64, reasons), Waits: g.waits.Load(), Waited: time.Duration(g.waitedNs.Load()),
	}
	for r, n := range g.refused {
		s.Refused[Reason(r).String()] = n
	}
	return s
}

// LaneStats holds the current figures of a lane, and its totals.
type LaneStats struct {
	Requests, Streams, Waiting int
	Limit                      int // of requests, as it is now
	Begun                      LaneTotals
}

// LaneTotals counts the work that a lane has admitted since it was made. A promoted request counts
// as a request, as which it began.
type LaneTotals struct {
	Requests uint64 `json:"requests"`
	Streams  uint64 `json:"streams"`
	Promoted uint64 `json:"promoted"`
}

// Stats looks at the lane.
func (l *Lane) Stats() LaneStats {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return LaneStats{l.requests, l.streams, l.queue.live, l.limit.now(), l.begun}
}
