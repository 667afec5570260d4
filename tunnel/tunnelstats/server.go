// Package tunnelstats exports the stats of tunnel servers and clients to Prometheus. A program that
// imports only tunnel does not depend on Prometheus.
//
// The figures are read at each scrape; nothing runs in between. Labels are the names that the
// policy gives to clients, and fixed words of the library: the input of visitors makes no series.
package tunnelstats

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
	"paddock/tunnel/server"
)

// Server exports a server's counts as paddock_tunnel_*. It is registered once for a
// registry.
func Server(s *server.Server) prometheus.Collector { return serverCollector{s} }

type serverCollector struct{ server *server.Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_tunnel_"+name, help, labels, nil)
}

var (
	figures = metrics.Figures[server.Stats]{
		metrics.Gauge("paddock_tunnel_sessions", "Clients that are connected.", func(s *server.Stats) int { return s.Sessions }),
		metrics.Gauge("paddock_tunnel_names", "Hosts and addresses that clients hold.", func(s *server.Stats) int { return s.Names }),
		metrics.Gauge("paddock_tunnel_names_away", "Those of them whose clients are away; their leases run.", func(s *server.Stats) int { return s.Away }),
		metrics.Gauge("paddock_tunnel_waiting", "Visitors that wait for a client that is away.", func(s *server.Stats) int { return s.Waiting }),
		metrics.Gauge("paddock_tunnel_visitors", "Connections of visitors to the fronts.", func(s *server.Stats) int { return s.Visitors }),
		metrics.Gauge("paddock_tunnel_raw_visitors", "Connections of visitors to TCP tunnels.", func(s *server.Stats) int { return s.Raw }),
		metrics.Gauge("paddock_tunnel_handshakes", "TLS handshakes of visitors that are under way.", func(s *server.Stats) int { return s.Handshakes }),
		metrics.Gauge("paddock_tunnel_inflight", "Requests that are under way.", func(s *server.Stats) int { return s.Requests }),
		metrics.Gauge("paddock_tunnel_streams", "Streams that are open: upgraded, raw and long exchanges.", func(s *server.Stats) int { return s.Streams }),
		metrics.Gauge("paddock_tunnel_direct", "Visitors with a direct channel, or waiting for one.", func(s *server.Stats) int { return s.Direct.Now }),
		metrics.Counter("paddock_tunnel_direct_total", "Visitors that had a direct channel.", func(s *server.Stats) uint64 { return s.Direct.Carried }),
		metrics.Counter("paddock_tunnel_direct_refused_total", "Connections for direct channels that had no ticket, or came too late.", func(s *server.Stats) uint64 { return s.Direct.Refused }),
		metrics.Gauge("paddock_tunnel_queued", "Requests that wait for room.", func(s *server.Stats) int { return s.Queued }),
		metrics.Counter("paddock_tunnel_served_total", "Exchanges that got the target's answer.", func(s *server.Stats) uint64 { return s.Served }),
		metrics.Counter("paddock_tunnel_accept_errors_total", "Times that no visitor could be accepted, for want of descriptors above all.", func(s *server.Stats) uint64 { return s.AcceptErrors }),
		metrics.Counter("paddock_tunnel_hints_total", "Times that a client has said that it is full, that a target is down, or that this is over.", func(s *server.Stats) uint64 { return s.Hints }),
		metrics.Counter("paddock_tunnel_resent_total", "Exchanges that were sent again, to another member of a group or over the client's next connection.", func(s *server.Stats) uint64 { return s.Resent }),
		metrics.Counter("paddock_tunnel_takeovers_total", "Sessions that their own identity has replaced.", func(s *server.Stats) uint64 { return s.Takeovers }),
	}

	membersDesc   = describe("group_members", "Clients of a group: of the name that has the fewest of them connected. State is here or away.", "group", "state")
	queueDesc     = describe("queue_seconds", "Waits of requests for room that have ended, whatever came of them.")
	rttDesc       = describe("rtt_seconds", "Round trips of the clients that are connected, each one's shortest of late.")
	requestsDesc  = describe("requests_total", "Admitted exchanges, by the class as which they began.", "client", "class")
	exchangeDesc  = describe("exchange_total", "Admitted exchanges, by how they traveled; promoted ones began as requests.", "verb")
	refusedDesc   = describe("refused_total", "Refused visitors.", "stage", "reason")
	overloadsDesc = describe("overloads_total", "Refusals for want of capacity, by the exhausted resource; in a group one for each member that refused.", "of")
	cancelledDesc = describe("cancelled_total", "Exchanges that were left before their end.", "by")
	fallbackDesc  = describe("direct_fallbacks_total", "Visitors of direct tunnels that the link has carried.", "reason")
	directDesc    = describe("direct_bytes_total", "Bytes that direct channels have carried.", "direction")
	bytesDesc     = describe("bytes_total", "Bytes that the connections of clients have carried, headers included, before TLS.", "direction")
	budgetDesc    = describe("budget_bytes", "Bytes accounted to current and waiting work, and their bound.", "kind")
	limitDesc     = describe("limit", "Bounds of other metrics.", "of")

	labeled = []*prometheus.Desc{
		membersDesc, queueDesc, rttDesc, requestsDesc, exchangeDesc, refusedDesc, overloadsDesc, cancelledDesc, fallbackDesc, directDesc, bytesDesc, budgetDesc, limitDesc,
	}
)

// rttBuckets are the upper bounds of rtt_seconds: from one machine to a satellite.
var rttBuckets = []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}

// Describe implements prometheus.Collector.
func (serverCollector) Describe(out chan<- *prometheus.Desc) {
	figures.Describe(out)
	for _, d := range labeled {
		out <- d
	}
}

// Collect looks at the server once.
func (c serverCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.server.Stats()
	figures.Send(out, &stats)
	out <- prometheus.MustNewConstSummary(queueDesc, stats.Waits, stats.Waited.Seconds(), nil)
	out <- histogram(rttDesc, stats.RTTs)
	count := func(desc *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	for _, who := range stats.Identities {
		count(requestsDesc, who.Begun.Requests, who.Identity, "request")
		count(requestsDesc, who.Begun.Streams, who.Identity, "stream")
	}
	for _, g := range stats.Groups {
		out <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(g.Here), g.Group, "here")
		out <- prometheus.MustNewConstMetric(membersDesc, prometheus.GaugeValue, float64(g.Members-g.Here), g.Group, "away")
	}
	all := stats.Begun
	count(exchangeDesc, all.Requests-all.Promoted, "request")
	count(exchangeDesc, all.Promoted, "promoted")
	count(exchangeDesc, all.Streams, "stream")
	for _, r := range server.Reasons() {
		count(refusedDesc, stats.Refused[r.String()], r.Stage(), r.String())
	}
	for of, n := range stats.Overloads {
		count(overloadsDesc, n, of)
	}
	count(cancelledDesc, stats.Cancelled, "visitor")
	for _, f := range server.Fallbacks() {
		count(fallbackDesc, stats.Direct.Fallbacks[f.String()], f.String())
	}
	count(directDesc, uint64(stats.Direct.Sent), "sent")
	count(directDesc, uint64(stats.Direct.Received), "received")
	count(bytesDesc, uint64(stats.Link.Sent), "sent")
	count(bytesDesc, uint64(stats.Link.Received), "received")
	limits(out, &stats)
}

// limits sends the bounds.
func limits(out chan<- prometheus.Metric, stats *server.Stats) {
	l := &stats.Limits
	level := func(desc *prometheus.Desc, v float64, label string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, label)
	}
	level(budgetDesc, float64(stats.Bytes), "held")
	level(budgetDesc, float64(l.Bytes), "limit")
	for _, bound := range []struct {
		of string
		n  int
	}{
		{"sessions", l.Sessions},
		{"visitors", l.Visitors},
		{"visitors_each", l.VisitorsEach},
		{"raw_visitors", l.RawVisitors},
		{"inflight", l.Requests},
		{"streams", l.Streams},
		{"direct", l.Direct},
		{"tunnel_inflight", l.TunnelRequests},
		{"tunnel_streams", l.TunnelStreams},
		{"tunnel_queued", l.Queue},
		{"tunnel_waiting", l.Waiting},
	} {
		level(limitDesc, float64(bound.n), bound.of)
	}
}

// histogram counts values of the moment.
func histogram(desc *prometheus.Desc, values []time.Duration) prometheus.Metric {
	buckets, sum := make(map[float64]uint64, len(rttBuckets)), 0.0
	for _, most := range rttBuckets {
		buckets[most] = 0
	}
	for _, v := range values {
		seconds := v.Seconds()
		sum += seconds
		for _, most := range rttBuckets {
			if seconds <= most {
				buckets[most]++
			}
		}
	}
	return prometheus.MustNewConstHistogram(desc, uint64(len(values)), sum, buckets)
}
