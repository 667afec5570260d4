package wirestats

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/wire"
)

// Server exports what a server counts of connections that come, as paddock_wire_*. It is
// registered once for a registry, beside Collector.
func Server(s *wire.Server) prometheus.Collector { return serverCollector{s} }

type serverCollector struct{ server *wire.Server }

// doorFigure is a figure of wire.ServerStats.
type doorFigure struct {
	desc  *prometheus.Desc
	typ   prometheus.ValueType
	value func(*wire.ServerStats) float64
}

func doorGauge(name, help string, value func(*wire.ServerStats) int) doorFigure {
	return doorFigure{prometheus.NewDesc("paddock_wire_"+name, help, nil, nil), prometheus.GaugeValue, func(s *wire.ServerStats) float64 { return float64(value(s)) }}
}

func doorCounter(name, help string, value func(*wire.ServerStats) uint64) doorFigure {
	return doorFigure{prometheus.NewDesc("paddock_wire_"+name, help, nil, nil), prometheus.CounterValue, func(s *wire.ServerStats) float64 { return float64(value(s)) }}
}

var doorFigures = []doorFigure{
	doorGauge("connections", "Open wire connections.", func(s *wire.ServerStats) int { return s.Conns }),
	doorGauge("opening", "Wire connections that have not said who they are yet.", func(s *wire.ServerStats) int { return s.Opening }),
	doorGauge("waiting", "Wire connections that wait until they may begin with that.", func(s *wire.ServerStats) int { return s.Waiting }),
	doorCounter("accepted_total", "Wire connections that were opened.", func(s *wire.ServerStats) uint64 { return s.Accepted }),
	doorCounter("refused_total", "Wire connections refused because too many were open, or waited.", func(s *wire.ServerStats) uint64 { return s.Refused }),
	doorCounter("failed_total", "Wire connections that were not wire, too late, or not let in.", func(s *wire.ServerStats) uint64 { return s.Failed }),
	doorCounter("crowded_total", "Of those that failed: had kept the server waiting when there was no room to open others.", func(s *wire.ServerStats) uint64 { return s.Crowded }),
	doorCounter("paused_total", "Wire connections hung up on, since others from their address had failed.", func(s *wire.ServerStats) uint64 { return s.Paused }),
}

// Describe is part of prometheus.Collector.
func (c serverCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range doorFigures {
		to <- f.desc
	}
}

// Collect is part of prometheus.Collector.
func (c serverCollector) Collect(to chan<- prometheus.Metric) {
	stats := c.server.Stats()
	for _, f := range doorFigures {
		to <- prometheus.MustNewConstMetric(f.desc, f.typ, f.value(&stats))
	}
}
