package wirestats

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/wire"
)

// Collector exports the sums over a Source's connections, as paddock_wire_*. The
// number of series does not depend on the number of connections: there is no label
// but direction and verb. It is registered once for a registry.
func Collector(s Source) prometheus.Collector { return &collector{s} }

type collector struct{ source Source }

// metric is a figure of the total. Those with labels are of both directions.
type metric struct {
	desc  *prometheus.Desc
	typ   prometheus.ValueType
	value func(*wire.Stats) float64
}

// directed is a figure of each direction.
type directed struct {
	desc  *prometheus.Desc
	value func(*wire.Traffic) int64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_wire_"+name, help, labels, nil)
}

func counter(name, help string, value func(*wire.Stats) int64) metric {
	return metric{describe(name, help), prometheus.CounterValue, func(s *wire.Stats) float64 { return float64(value(s)) }}
}

func gauge(name, help string, value func(*wire.Stats) float64) metric {
	return metric{describe(name, help), prometheus.GaugeValue, value}
}

var (
	messagesDesc = describe("messages_total", "Messages, by verb; packed posts count each.", "direction", "verb")
	perWriteDesc = describe("frames_per_write", "Frames that were handed to the socket together.")

	byDirection = []directed{
		{describe("frames_total", "Frames of all types.", "direction"), func(t *wire.Traffic) int64 { return t.Frames }},
		{describe("bytes_total", "Bytes with headers, before TLS.", "direction"), func(t *wire.Traffic) int64 { return t.Bytes }},
		{describe("error_answers_total", "Answers that are errors.", "direction"), func(t *wire.Traffic) int64 { return t.Errors }},
	}

	verbs = []struct {
		name  string
		value func(*wire.Traffic) int64
	}{
		{"post", func(t *wire.Traffic) int64 { return t.Posts }},
		{"request", func(t *wire.Traffic) int64 { return t.Requests }},
		{"response", func(t *wire.Traffic) int64 { return t.Responses }},
		{"stream_open", func(t *wire.Traffic) int64 { return t.Starts }},
		{"stream_message", func(t *wire.Traffic) int64 { return t.Stream }},
		{"stream_end", func(t *wire.Traffic) int64 { return t.Fins }},
	}

	figures = []metric{
		counter("writes_total", "Writes to sockets.", func(s *wire.Stats) int64 { return s.Flushes }),
		counter("heartbeats_received_total", "PING frames that have come, not their answers.", func(s *wire.Stats) int64 { return s.Heartbeats }),
		counter("dropped_bytes_total", "Bytes of posts and streams that nobody got.", func(s *wire.Stats) int64 { return s.DroppedBytes }),
		counter("dropped_messages_total", "Posts and stream messages that nobody got.", func(s *wire.Stats) int64 { return s.DroppedMessages }),
		counter("cancels_total", "CANCEL frames, both ways.", func(s *wire.Stats) int64 { return s.Cancels }),
		counter("resets_total", "RESET frames, both ways.", func(s *wire.Stats) int64 { return s.Resets }),
		counter("credits_total", "CREDIT frames, both ways.", func(s *wire.Stats) int64 { return s.Credits }),
		counter("stale_frames_total", "Frames that named a slot which was free again.", func(s *wire.Stats) int64 { return s.Stale }),
		counter("post_failures_total", "Posts whose handler has failed.", func(s *wire.Stats) int64 { return s.PostErrors }),
		counter("conflated_posts_total", "Keyed posts that a later one has replaced.", func(s *wire.Stats) int64 { return s.Conflated }),
		{
			describe("post_stall_seconds_total", "Time that posts have waited for room, all callers together."),
			prometheus.CounterValue, func(s *wire.Stats) float64 { return s.Stall.Seconds() },
		},
		gauge("requests", "Requests of both sides that are not answered.", func(s *wire.Stats) float64 { return float64(s.Inflight) }),
		gauge("streams", "Streams of both sides that are open.", func(s *wire.Stats) float64 { return float64(s.Streams) }),
		gauge("keyed_posts", "Keyed posts that wait for the peers to have room.", func(s *wire.Stats) float64 { return float64(s.Keyed) }),
		gauge("queued_bytes", "Bytes that were given to be sent and have not left.", func(s *wire.Stats) float64 { return float64(s.QueuedBytes) }),
		gauge("oldest_unsent_seconds", "For how long the oldest of these bytes has waited at most, on the worst connection.", func(s *wire.Stats) float64 { return s.OldestUnsent.Seconds() }),
		gauge("round_trip_seconds", "Round trip of the slowest connection.", func(s *wire.Stats) float64 { return s.RTT.Seconds() }),
	}
)

// Describe sends what Collect will send.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- messagesDesc
	out <- perWriteDesc
	for _, m := range byDirection {
		out <- m.desc
	}
	for _, m := range figures {
		out <- m.desc
	}
}

// Collect reads the total, once.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	total := Total(c.source)
	for _, d := range []struct {
		name string
		of   *wire.Traffic
	}{{"sent", &total.Tx}, {"received", &total.Rx}} {
		for _, v := range verbs {
			out <- prometheus.MustNewConstMetric(messagesDesc, prometheus.CounterValue, float64(v.value(d.of)), d.name, v.name)
		}
		for _, m := range byDirection {
			out <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.value(d.of)), d.name)
		}
	}
	for _, m := range figures {
		out <- prometheus.MustNewConstMetric(m.desc, m.typ, m.value(&total))
	}
	out <- perWrite(&total)
}

// perWrite is the histogram of frames in a write. What waits to be written is in the
// sum already.
func perWrite(total *wire.Stats) prometheus.Metric {
	buckets := map[float64]uint64{}
	count := uint64(0)
	for i, n := range total.PerFlush {
		count += uint64(n)
		if i < len(total.PerFlush)-1 { // the last one has no upper bound
			buckets[float64(int(2)<<i-1)] = count
		}
	}
	return prometheus.MustNewConstHistogram(perWriteDesc, count, float64(total.Tx.Frames), buckets)
}
