package wirestats

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
	"paddock/wire"
)

// Server exports a server's counts of new connections, as paddock_wire_*. It is registered once for
// a registry, beside Collector.
func Server(s *wire.Server) prometheus.Collector { return serverFigures.Of(s.Stats) }

var serverFigures = metrics.Figures[wire.ServerStats]{
	metrics.Gauge("paddock_wire_connections", "Open wire connections.", func(s *wire.ServerStats) int { return s.Conns }),
	metrics.Gauge("paddock_wire_opening", "Wire connections that have not said who they are yet.", func(s *wire.ServerStats) int { return s.Opening }),
	metrics.Gauge("paddock_wire_waiting", "Wire connections that wait until they may begin with that.", func(s *wire.ServerStats) int { return s.Waiting }),
	metrics.Counter("paddock_wire_accepted_total", "Wire connections that were opened.", func(s *wire.ServerStats) uint64 { return s.Accepted }),
	metrics.Counter("paddock_wire_refused_total", "Wire connections refused because too many were open, or waited.", func(s *wire.ServerStats) uint64 { return s.Refused }),
	metrics.Counter("paddock_wire_failed_total", "Wire connections that were not wire, too late, or not let in.", func(s *wire.ServerStats) uint64 { return s.Failed }),
	metrics.Counter("paddock_wire_crowded_total", "Of those that failed: had kept the server waiting when there was no room to open others.", func(s *wire.ServerStats) uint64 { return s.Crowded }),
	metrics.Counter("paddock_wire_paused_total", "Wire connections hung up on, since others from their address had failed.", func(s *wire.ServerStats) uint64 { return s.Paused }),
}
