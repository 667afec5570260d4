package tunnelstats

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
	"paddock/tunnel/client"
)

// Client exports a client's counts as paddock_tunnel_client_* and paddock_tunnel_backend_*.
func Client(c *client.Client) prometheus.Collector { return clientCollector{c} }

type clientCollector struct{ client *client.Client }

var (
	boundDesc = describe("client_bound", "1 for a tunnel that visitors can find, 0 for one that they cannot.", "tunnel")
	connsDesc = describe("backend_conns", "Connections to targets.", "state")
	dialsDesc = describe("backend_dials_total", "Connections to targets that were wanted: made, failed, or spared since the target took none a moment before.", "result")

	clientFigures = metrics.Figures[client.Stats]{
		metrics.Gauge("paddock_tunnel_client_inflight", "Exchanges and connections that are under way.", func(s *client.Stats) int { return s.Inflight }),
		metrics.Gauge("paddock_tunnel_client_bytes", "Bytes that these may come to hold.", func(s *client.Stats) int64 { return s.Bytes }),
		metrics.Counter("paddock_tunnel_client_refused_total", "Visitors that the client's own bounds have refused.", func(s *client.Stats) uint64 { return s.Full }),
		metrics.Counter("paddock_tunnel_client_hints_total", "Times that the server was told that the client is full, that a target is down, or that this is over.", func(s *client.Stats) uint64 { return s.Hints }),
		metrics.Gauge("paddock_tunnel_client_direct", "Direct channels that are made, or being made.", func(s *client.Stats) int { return s.Direct }),
		metrics.Counter("paddock_tunnel_client_direct_failed_total", "Direct channels that could not be made.", func(s *client.Stats) uint64 { return s.DirectFailed }),
		metrics.Counter("paddock_tunnel_backend_retries_total", "Exchanges that the end of an idle connection has sent to a fresh one.", func(s *client.Stats) uint64 { return s.Retries }),
	}
)

// Describe implements prometheus.Collector.
func (clientCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{boundDesc, connsDesc, dialsDesc} {
		out <- d
	}
	clientFigures.Describe(out)
}

// Collect looks at the client once.
func (c clientCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.client.Stats()
	level := func(desc *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	count := func(desc *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	for _, b := range c.client.Bindings() {
		is := 0.0
		if b.Err == nil {
			is = 1
		}
		level(boundDesc, is, b.Tunnel)
	}
	level(connsDesc, float64(stats.Idle), "idle")
	level(connsDesc, float64(stats.Shared), "shared")
	count(dialsDesc, stats.Dials-stats.DialsFailed, "made")
	count(dialsDesc, stats.DialsFailed, "failed")
	count(dialsDesc, stats.DialsSpared, "spared")
	clientFigures.Send(out, &stats)
}
