package wirestats

import (
	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
	"paddock/wire"
)

// Collector exports the sums over a Source's connections, as paddock_wire_*. The
// number of series does not depend on the number of connections: there is no label
// but direction and verb. It is registered once for a registry.
func Collector(s Source) prometheus.Collector { return &collector{s} }

type collector struct{ source Source }

// directed is a figure of each direction.
type directed struct {
	desc  *prometheus.Desc
	value func(*wire.Traffic) int64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_wire_"+name, help, labels, nil)
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

	figures = metrics.Figures[wire.Stats]{
		metrics.Counter("paddock_wire_writes_total", "Writes to sockets.", func(s *wire.Stats) int64 { return s.Flushes }),
		metrics.Counter("paddock_wire_heartbeats_received_total", "PING frames that have come, not their answers.", func(s *wire.Stats) int64 { return s.Heartbeats }),
		metrics.Counter("paddock_wire_dropped_bytes_total", "Bytes of posts and streams that nobody got.", func(s *wire.Stats) int64 { return s.DroppedBytes }),
		metrics.Counter("paddock_wire_dropped_messages_total", "Posts and stream messages that nobody got.", func(s *wire.Stats) int64 { return s.DroppedMessages }),
		metrics.Counter("paddock_wire_cancels_total", "CANCEL frames, both ways.", func(s *wire.Stats) int64 { return s.Cancels }),
		metrics.Counter("paddock_wire_resets_total", "RESET frames, both ways.", func(s *wire.Stats) int64 { return s.Resets }),
		metrics.Counter("paddock_wire_credits_total", "CREDIT frames, both ways.", func(s *wire.Stats) int64 { return s.Credits }),
		metrics.Counter("paddock_wire_stale_frames_total", "Frames that named a slot which was free again.", func(s *wire.Stats) int64 { return s.Stale }),
		metrics.Counter("paddock_wire_post_failures_total", "Posts whose handler has failed.", func(s *wire.Stats) int64 { return s.PostErrors }),
		metrics.Counter("paddock_wire_conflated_posts_total", "Keyed posts that a later one has replaced.", func(s *wire.Stats) int64 { return s.Conflated }),
		metrics.Counter("paddock_wire_post_stall_seconds_total", "Time that posts have waited for room, all callers together.", func(s *wire.Stats) float64 { return s.Stall.Seconds() }),
		metrics.Gauge("paddock_wire_requests", "Requests of both sides that are not answered.", func(s *wire.Stats) int64 { return s.Inflight }),
		metrics.Gauge("paddock_wire_streams", "Streams of both sides that are open.", func(s *wire.Stats) int64 { return s.Streams }),
		metrics.Gauge("paddock_wire_keyed_posts", "Keyed posts that wait for the peers to have room.", func(s *wire.Stats) int64 { return s.Keyed }),
		metrics.Gauge("paddock_wire_queued_bytes", "Bytes that were given to be sent and have not left.", func(s *wire.Stats) int64 { return s.QueuedBytes }),
		metrics.Gauge("paddock_wire_oldest_unsent_seconds", "For how long the oldest of these bytes has waited at most, on the worst connection.", func(s *wire.Stats) float64 { return s.OldestUnsent.Seconds() }),
		metrics.Gauge("paddock_wire_round_trip_seconds", "Round trip of the slowest connection.", func(s *wire.Stats) float64 { return s.RTT.Seconds() }),
	}
)

// Describe sends the descriptions of the metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- messagesDesc
	out <- perWriteDesc
	for _, m := range byDirection {
		out <- m.desc
	}
	figures.Describe(out)
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
	figures.Send(out, &total)
	out <- perWrite(&total)
}

// perWrite returns the histogram of frames in a write. Its sum includes frames that wait to be
// written.
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
