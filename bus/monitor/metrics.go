package monitor

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paddock/bus"
)

// Collector exports a broker's figures as paddock_bus_*. The number of series does
// not depend on the number of connections, nor on traffic: there are labels for
// directions, policies, reasons, and as many prefixes of subjects as
// [bus.Server.PrefixTraffic] tells apart. It is registered once for a registry.
func Collector(s *bus.Server) prometheus.Collector { return &collector{s} }

type collector struct{ srv *bus.Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_bus_"+name, help, labels, nil)
}

var (
	messagesDesc = describe("messages_total", "Messages published (in) and delivered (out), with those that drop-old dropped later.", "direction")
	bytesDesc    = describe("bytes_total", "Bytes of these messages: payload with header.", "direction")
	droppedDesc  = describe("dropped_total", "Messages dropped for subscribers at their bound, by policy, or by local for those within the process.", "policy")
	closedDesc   = describe("closed_total", "Connections that have ended.", "reason")
	prefixDesc   = describe("prefix_messages_total", "Messages published (in) and delivered (out), by what their subjects begin with.", "prefix", "direction")
	flushDesc    = describe("flush_bytes", "Bytes that were written for a connection at once.")
)

// figure is one number of a reading.
type figure struct {
	desc  *prometheus.Desc
	typ   prometheus.ValueType
	value func(*bus.Stats) float64
}

var figures = []figure{
	{describe("connections", "Network connections."), prometheus.GaugeValue, func(s *bus.Stats) float64 { return float64(s.Connections) }},
	{describe("connections_opened_total", "Network connections that were ever taken or refused."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.TotalConnections) }},
	{describe("subscriptions", "Subscriptions."), prometheus.GaugeValue, func(s *bus.Stats) float64 { return float64(s.Subscriptions) }},
	{describe("paused_total", "Connections hung up on, as too many wrong secrets had come from their address."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.Paused) }},
	{describe("subscriptions_refused_total", "Subscriptions refused as their client had as many as it may have."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.SubsRefused) }},
	{describe("trace_only_total", "Publications that asked only to be traced, and were not delivered."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.TraceOnly) }},
	{describe("refused_total", "Publications and subscriptions refused by permission."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.Refused) }},
	{describe("panics_total", "Panics of the broker or of callbacks that it recovered from."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.Panics) }},
	{describe("stalls_total", "Times that a publisher waited for a subscriber."), prometheus.CounterValue, func(s *bus.Stats) float64 { return float64(s.Stalls) }},
}

var pendingDesc = describe("pending_bytes", "Bytes that wait for all connections together.")

// Describe sends the descriptions of Collect's metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{messagesDesc, bytesDesc, droppedDesc, closedDesc, prefixDesc, flushDesc, pendingDesc} {
		out <- d
	}
	for _, f := range figures {
		out <- f.desc
	}
}

// Collect reads the broker once. Pending bytes cost each connection a moment of its lock.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	st := c.srv.Stats()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(messagesDesc, st.InMsgs, "in")
	count(messagesDesc, st.TakenMsgs, "out")
	count(bytesDesc, st.InBytes, "in")
	count(bytesDesc, st.TakenBytes, "out")
	count(droppedDesc, st.DroppedNew, bus.SlowDropNew.String())
	count(droppedDesc, st.DroppedOld, bus.SlowDropOld.String())
	count(droppedDesc, st.DroppedLocal, "local")
	for _, reason := range bus.CloseReasons() {
		count(closedDesc, st.Closed[reason], reason.String())
	}
	for _, p := range c.srv.PrefixTraffic() {
		count(prefixDesc, p.In, p.Prefix, "in")
		count(prefixDesc, p.Out, p.Prefix, "out")
	}
	for _, f := range figures {
		out <- prometheus.MustNewConstMetric(f.desc, f.typ, f.value(&st))
	}
	out <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(c.srv.PendingBytes()))
	out <- flushes(&st.Flushes)
}

func flushes(h *bus.Histogram) prometheus.Metric {
	buckets := map[float64]uint64{}
	total := uint64(0)
	for i, n := range h.Counts {
		total += n
		if i < len(h.Bounds) {
			buckets[float64(h.Bounds[i])] = total
		}
	}
	return prometheus.MustNewConstHistogram(flushDesc, total, float64(h.Sum), buckets)
}

// metrics answers /metrics with the broker's figures alone.
func metrics(s *bus.Server) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(Collector(s))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
