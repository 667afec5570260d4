package admission

// Reason is why something was refused. It is also the label of a metric.
type Reason uint8

// The reasons.
const (
	NoBytes        Reason = iota // what it would hold is more than the budget has left
	QueueFull                    // as many wait as may
	QueueTime                    // it has waited for as long as it may
	TooGreedy                    // its lane has half of everything while others wait
	TooManyStreams               // as many are open as may
	reasons
)

var reasonNames = [reasons]string{"bytes", "queue full", "queue time", "share", "streams"}

func (r Reason) String() string { return reasonNames[r] }

// Refusal is the error of work that was not let in. Nothing of it has begun.
type Refusal struct{ Reason Reason }

func (r *Refusal) Error() string { return "overloaded: " + r.Reason.String() }

// Stats is what a gate holds, and what it has refused since it was made.
type Stats struct {
	Requests, Streams, Waiting int
	Bytes                      int64
	Refused                    map[string]uint64 // by Reason.String
}

// Stats looks at the gate.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{g.requests, g.streams, g.waiting, g.bytes, make(map[string]uint64, reasons)}
	for r, n := range g.refused {
		s.Refused[Reason(r).String()] = n
	}
	return s
}

// LaneStats is what a lane holds.
type LaneStats struct {
	Requests, Streams, Waiting int
	Limit                      int // of requests, as it is now
}

// Stats looks at the lane.
func (l *Lane) Stats() LaneStats {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return LaneStats{l.requests, l.streams, l.queue.live, l.limit.now()}
}
