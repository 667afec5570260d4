package ingest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// Metrics counts the work of a pipeline, for Prometheus and for the dashboard.
type Metrics struct {
	results [resultCount]atomic.Uint64
	total   atomic.Uint64 // events published
	renamed atomic.Uint64
	ignored atomic.Uint64
	crowded atomic.Uint64

	events  *prometheus.CounterVec
	lag     prometheus.Histogram
	latency latency
}

// The counted outcomes of a position.
const (
	resultAccepted = iota
	resultLate
	resultOutlier
	resultFull
	resultRejected
	resultOverloaded
	resultCount
)

var resultNames = [resultCount]string{"accepted", "late", "outlier", "full", "rejected", "overloaded"}

// NewMetrics registers the pipeline's metrics. With a nil registerer it only counts.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paddock_events_total", Help: "Events published.",
		}, []string{"set", "event", "reason"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "paddock_events_lag_seconds",
			Help:    "Time from the arrival of a position to the publication of its events.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16),
		}),
		latency: newLatency(),
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.events, m.lag)
	for i, name := range resultNames {
		reg.MustRegister(counter("paddock_track_updates_total",
			"Positions by what became of them: late ones are not newer than the last, outliers too far from it (a position that waits for older ones counts as accepted, and as an outlier too if it turns out to be one), full ones are new objects beyond the limit, rejected ones are bad input, overloaded ones found a full queue, or the end of the process before their turn.",
			prometheus.Labels{"result": name}, &m.results[i]))
	}
	reg.MustRegister(counter("paddock_track_renamed_total",
		"Positions whose body named another object than the subject that carried it; the body won, as the user has no publish permissions.", nil, &m.renamed))
	reg.MustRegister(counter("paddock_track_crowded_total",
		"Objects that a rule with near passed over at a bound: one of the two was near 64 others, or among more than 1,024 in the cells around it, or 4,096 pairs began in the record. They are counted with each position.", nil, &m.crowded))
	reg.MustRegister(counter("paddock_track_ignored_total",
		"Members of positions that nothing reads, such as a misspelt name.", nil, &m.ignored))
	return m
}

func counter(name, help string, labels prometheus.Labels, v *atomic.Uint64) prometheus.Collector {
	opts := prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}
	return prometheus.NewCounterFunc(opts, func() float64 { return float64(v.Load()) })
}

// RejectBody counts a body without readable positions.
func (m *Metrics) RejectBody() { m.results[resultRejected].Add(1) }

// applied counts by track.Outcome. Positions that wait for older ones count as accepted, and past
// ones as late.
func (m *Metrics) applied(counts [track.Past + 1]int) {
	m.results[resultAccepted].Add(uint64(counts[track.Accepted] + counts[track.Held]))
	m.results[resultLate].Add(uint64(counts[track.Late] + counts[track.Past]))
	m.results[resultOutlier].Add(uint64(counts[track.Outlier]))
	m.results[resultFull].Add(uint64(counts[track.Full]))
}

func (m *Metrics) event(e *track.Event) {
	m.events.WithLabelValues(e.Set, e.Kind.String(), e.Reason.String()).Inc()
}

// published counts events that were published at a time of the clock of records.
func (m *Metrics) published(records []events.Record, by time.Time) {
	m.total.Add(uint64(len(records)))
	at := time.Now()
	for i := range records {
		lag := max(0, by.Sub(records[i].Arrived.Time()))
		m.lag.Observe(lag.Seconds())
		m.latency.record(at, lag)
	}
}

// Totals holds counts since the start.
type Totals struct {
	Accepted, Late, Full, Rejected, Overloaded uint64

	Events   uint64
	EventP99 time.Duration // arrival to publication, over the last 5 to 10 seconds; 0: there was no event
}

// Totals returns the present counts.
func (m *Metrics) Totals() Totals {
	return Totals{
		Accepted: m.results[resultAccepted].Load(), Late: m.results[resultLate].Load(),
		Full: m.results[resultFull].Load(), Rejected: m.results[resultRejected].Load(),
		Overloaded: m.results[resultOverloaded].Load(),
		Events:     m.total.Load(), EventP99: m.latency.p99(time.Now()),
	}
}

// latencyWindow is the duration of one half of the sliding window.
const latencyWindow = 5 * time.Second

// latency is a histogram over the last one to two windows: one half is filled while the other still
// counts.
type latency struct {
	mu       *sync.Mutex
	now, old *hdrhistogram.Histogram
	turned   time.Time
}

// newLatency returns histograms in microseconds, up to a minute, with two digits: 30 KB.
func newLatency() latency {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Minute.Microseconds(), 2) }
	return latency{mu: new(sync.Mutex), now: h(), old: h()}
}

func (l *latency) record(at time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(at)
	_ = l.now.RecordValue(min(max(1, d.Microseconds()), time.Minute.Microseconds()))
}

// turn begins a new half when the present one is over.
func (l *latency) turn(at time.Time) {
	age := at.Sub(l.turned)
	if age < latencyWindow {
		return
	}
	l.now, l.old = l.old, l.now
	l.now.Reset()
	if age >= 2*latencyWindow {
		l.old.Reset()
	}
	l.turned = at
}

func (l *latency) p99(at time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(at)
	both := hdrhistogram.Import(l.now.Export())
	both.Merge(l.old)
	return time.Duration(both.ValueAtQuantile(99)) * time.Microsecond
}
