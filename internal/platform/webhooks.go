package platform

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/bus"
	"paddock/fence/track/rule"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/subjects"
)

// disabledSubject begins the subjects of the notices of disabled webhooks. Network clients cannot
// publish there.
const disabledSubject = "$SYS.PADDOCK.WEBHOOK.DISABLED."

// tellDisabled publishes a notice on the bus that the platform has disabled a webhook.
func tellDisabled(local *bus.Local, log *slog.Logger, id, reason string) {
	now := events.FormatTime(time.Now())
	body, _ := events.PlainJSON(map[string]any{ // such values always encode
		"specversion": "1.0", "id": id + "/" + now, "source": "/webhooks/" + id, "type": "paddock.webhook.disabled", "subject": id, "time": now,
		"datacontenttype": "application/json", "data": map[string]string{"webhook": id, "reason": reason},
	})
	subject := string(subjects.AppendToken([]byte(disabledSubject), id))
	if err := local.Publish(subject, "", nil, body); err != nil {
		log.Warn("the notice of a disabled webhook is not published", "webhook", id, "error", err)
	}
}

// secretsDir returns the directory of what no backup has, within a data directory.
func secretsDir(dir string) string { return filepath.Join(dir, "secrets") }

// startHooks begins to deliver events to webhooks. A node of a cluster does once it is the leader.
func (p *Platform) startHooks(context.Context) (err error) {
	o := hooks.Options{
		Settings: p.opts.Webhooks, Log: p.events, Store: &deliver.Volatile{}, Version: p.opts.Version, Logger: p.log,
		Rules:    func() *rule.Table { return p.book.State().Rules() },
		Refusing: p.pipeline.Refusing, Schedule: p.opts.schedule,
	}
	o.Changing = func(action, id string) func(error) {
		begun := p.audit.Begin(audit.Entry{By: "file", Action: "webhook." + action, Object: id})
		return func(err error) { p.auditEnd(err, begun) }
	}
	local := p.bus.Local("webhooks")
	o.GivenUp = func(id, reason string) { tellDisabled(local, p.log, id, reason) }
	if p.journal != nil {
		o.Store, o.Keeps, o.Secrets = auditedJournal{p.shared, p.audit}, true, p.secrets()
	}
	if p.hooks, err = hooks.New(o); err != nil {
		return err
	}
	p.registry.MustRegister(hookCollector{p.hooks})
	if p.member != nil {
		return nil
	}
	return p.hooks.Begin()
}

// startSinks begins to deliver events to sinks. A node of a cluster does once it is the leader.
func (p *Platform) startSinks(context.Context) error {
	o := sinks.Options{
		Settings: p.opts.Sinks, Log: p.events, Store: &deliver.Volatile{}, Logger: p.log, Schedule: p.opts.schedule,
		Rules: func() *rule.Table { return p.book.State().Rules() },
	}
	if p.journal != nil {
		o.Store, o.Keeps = p.shared, true
	}
	p.sinks = sinks.New(o)
	p.registry.MustRegister(sinkCollector{p.sinks})
	if p.member != nil {
		return nil
	}
	return p.sinks.Begin()
}

// sinkCollector collects the metrics of sinks.
type sinkCollector struct{ sinks *sinks.Sinks }

var sinkMetrics = struct{ lag, delivered, letters, missed, attempts *prometheus.Desc }{
	prometheus.NewDesc("paddock_sink_lag_events", "Events that a sink has not passed, selected or not.", []string{"sink"}, nil),
	prometheus.NewDesc("paddock_sink_delivered_events", "Events that a sink has taken.", []string{"sink"}, nil),
	prometheus.NewDesc("paddock_sink_dead_letters", "Events that a sink has refused and that are kept.", []string{"sink"}, nil),
	prometheus.NewDesc("paddock_sink_missed_events", "Events that were removed before a sink had them.", []string{"sink"}, nil),
	prometheus.NewDesc("paddock_sink_attempts_total", "Batches for sinks by outcome: delivered, failed or refused.", []string{"outcome"}, nil),
}

// Describe implements [prometheus.Collector].
func (c sinkCollector) Describe(out chan<- *prometheus.Desc) {
	m := &sinkMetrics
	for _, d := range []*prometheus.Desc{m.lag, m.delivered, m.letters, m.missed, m.attempts} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c sinkCollector) Collect(out chan<- prometheus.Metric) {
	m := &sinkMetrics
	for _, s := range c.sinks.List() {
		for d, v := range map[*prometheus.Desc]uint64{m.lag: s.State.Lag, m.delivered: s.State.Sent, m.letters: uint64(s.State.Letters), m.missed: s.State.Missed} {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), s.ID)
		}
	}
	for _, v := range []deliver.Verdict{deliver.Delivered, deliver.Failed, deliver.Refused} {
		out <- prometheus.MustNewConstMetric(m.attempts, prometheus.CounterValue, float64(c.sinks.Attempts(v)), v.String())
	}
}

// hookCollector collects the metrics of webhooks.
type hookCollector struct{ hooks *hooks.Hooks }

var hookMetrics = struct{ count, disabled, waiting, lag, attempts, delivered, letters, dead, missed *prometheus.Desc }{
	prometheus.NewDesc("paddock_webhooks", "Webhooks.", nil, nil),
	prometheus.NewDesc("paddock_webhooks_disabled", "Webhooks that are disabled, by a request or by the platform.", nil, nil),
	prometheus.NewDesc("paddock_webhooks_waiting", "Webhooks that wait for their next attempt after a failure.", nil, nil),
	prometheus.NewDesc("paddock_webhook_lag_events", "Events that a webhook has not passed, selected or not.", []string{"webhook"}, nil),
	prometheus.NewDesc("paddock_webhook_attempts_total", "Requests to webhooks by outcome: delivered, failed, refused or gone.", []string{"outcome"}, nil),
	prometheus.NewDesc("paddock_webhook_delivered_events", "Events that the present webhooks have taken.", nil, nil),
	prometheus.NewDesc("paddock_webhook_dead_letters", "Dead letters that are kept.", nil, nil),
	prometheus.NewDesc("paddock_webhook_dead_events", "Events that the present webhooks have refused.", nil, nil),
	prometheus.NewDesc("paddock_webhook_missed_events", "Events that were removed before the present webhooks had them.", nil, nil),
}

// Describe implements [prometheus.Collector].
func (c hookCollector) Describe(out chan<- *prometheus.Desc) {
	m := &hookMetrics
	for _, d := range []*prometheus.Desc{m.count, m.disabled, m.waiting, m.lag, m.attempts, m.delivered, m.letters, m.dead, m.missed} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c hookCollector) Collect(out chan<- prometheus.Metric) {
	s, m := c.hooks.Stats(), &hookMetrics
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(m.count, float64(s.Webhooks))
	gauge(m.disabled, float64(s.Disabled))
	gauge(m.waiting, float64(s.Waiting))
	gauge(m.delivered, float64(s.Delivered))
	gauge(m.letters, float64(s.Letters))
	gauge(m.dead, float64(s.Dead))
	gauge(m.missed, float64(s.Missed))
	for id, lag := range s.Lag {
		gauge(m.lag, float64(lag), strings.ToValidUTF8(id, ""))
	}
	for _, v := range deliver.Verdicts() {
		out <- prometheus.MustNewConstMetric(m.attempts, prometheus.CounterValue, float64(c.hooks.Attempts(v)), v.String())
	}
}
