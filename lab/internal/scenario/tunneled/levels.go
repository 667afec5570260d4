package tunneled

import (
	"context"

	"paddock/lab/process"
)

// Levels are the levels of a side of the tunnel at a moment, from its /metrics.
type Levels struct {
	Goroutines, Descriptors, Resident float64 // bytes

	Exchanges float64 // under way: of a server requests, of a client streams too
	Streams   float64 // of a server
	Queued    float64 // of a server
	Bytes     float64 // accounted to all of these
	Backends  float64 // of a client: connections to targets that wait for work
}

// most is the larger of each.
func (l *Levels) most(o *Levels) {
	l.Goroutines, l.Descriptors, l.Resident = max(l.Goroutines, o.Goroutines), max(l.Descriptors, o.Descriptors), max(l.Resident, o.Resident)
	l.Exchanges, l.Streams, l.Queued = max(l.Exchanges, o.Exchanges), max(l.Streams, o.Streams), max(l.Queued, o.Queued)
	l.Bytes, l.Backends = max(l.Bytes, o.Bytes), max(l.Backends, o.Backends)
}

// Sides are the levels of both.
type Sides struct{ Server, Client Levels }

// Most makes each level of s the larger one of s and o.
func (s *Sides) Most(o *Sides) {
	s.Server.most(&o.Server)
	s.Client.most(&o.Client)
}

// Levels asks both sides, each over a connection that does not stay. The stand is Watched.
func (s *Stand) Levels(ctx context.Context) (both Sides, err error) {
	if both.Server, err = readLevels(ctx, s.serverAdmin); err != nil {
		return both, err
	}
	both.Client, err = readLevels(ctx, s.clientAdmin)
	return both, err
}

func readLevels(ctx context.Context, admin string) (Levels, error) {
	m, err := process.Metrics(ctx, admin)
	return levelsOf(m), err
}

// levelsOf takes the levels of a server or a client; the metrics of the other one are not there.
func levelsOf(m map[string]float64) Levels {
	return Levels{
		Goroutines: m["go_goroutines"], Descriptors: m["process_open_fds"], Resident: m["process_resident_memory_bytes"],
		Exchanges: m["paddock_tunnel_inflight"] + m["paddock_tunnel_client_inflight"],
		Streams:   m["paddock_tunnel_streams"], Queued: m["paddock_tunnel_queued"],
		Bytes:    m[`paddock_tunnel_budget_bytes{kind="held"}`] + m["paddock_tunnel_client_bytes"],
		Backends: m[`paddock_tunnel_backend_conns{state="idle"}`],
	}
}
