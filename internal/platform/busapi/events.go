package busapi

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/bus"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
)

// Publisher hands events to the log, which HTTP and wire streams follow, and to the bus. When
// Publish returns, the log has the events, and the bus has queued them for every NATS client that
// subscribes to them.
type Publisher struct {
	log    *events.Log
	bus    *bus.Local
	failed prometheus.Counter
	logger *slog.Logger
}

var _ ingest.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher whose metrics are registered with reg.
func NewPublisher(log *events.Log, local *bus.Local, reg prometheus.Registerer, logger *slog.Logger) *Publisher {
	p := &Publisher{
		log: log, bus: local, logger: logger,
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "paddock_events_unpublished_total",
			Help: "Events that the bus refused, as larger than its max_payload; the HTTP streams have them.",
		}),
	}
	reg.MustRegister(p.failed)
	return p
}

// Publish implements [ingest.Publisher].
func (p *Publisher) Publish(records []events.Record) {
	p.log.Append(records)
	msgs := make([]bus.Msg, len(records))
	for i := range records {
		msgs[i] = bus.Msg{Subject: records[i].Subject, Header: headerOf(&records[i]), Data: records[i].JSON.Bytes()}
	}
	if p.bus.PublishBatch(msgs) == nil {
		return
	}
	for _, m := range msgs { // one is refused: publish the others
		if err := p.bus.Publish(m.Subject, m.Reply, m.Header, m.Data); err != nil {
			p.failed.Inc()
			p.logger.Warn("event not published on the bus", "subject", m.Subject, "bytes", len(m.Data), "error", err)
		}
	}
}

// headerOf returns the header of an event's message, nil if it has no trace.
func headerOf(r *events.Record) []byte {
	trace, ok := r.Trace()
	if !ok {
		return nil
	}
	h := append([]byte("NATS/1.0\r\ntraceparent: "), trace.Parent...)
	if trace.State != "" {
		h = append(append(h, "\r\ntracestate: "...), trace.State...)
	}
	return append(h, "\r\n\r\n"...)
}
