package platform

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/bus"
	"paddock/bus/monitor"
	"paddock/fence"
	"paddock/internal/netio/listen"
	"paddock/internal/netio/plainhttp"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/httpapi"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/wireapi"
	"paddock/wire/wirestats"
)

// reading is a metric whose value is read at each scrape.
type reading struct {
	name, help string
	counter    bool
	value      func() float64
}

func register(reg prometheus.Registerer, readings []reading) {
	for _, r := range readings {
		if r.counter {
			reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: r.name, Help: r.help}, r.value))
		} else {
			reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: r.name, Help: r.help}, r.value))
		}
	}
}

func registerBus(reg prometheus.Registerer, s *bus.Server) {
	reg.MustRegister(monitor.Collector(s))
}

func registerHTTP(reg prometheus.Registerer, l *listen.Limited, s *plainhttp.Server, a *httpapi.API, c *fence.Catalog) {
	stat := func(f func(httpapi.Stats) uint64) func() float64 {
		return func() float64 { return float64(f(a.Stats())) }
	}
	register(reg, []reading{
		{"paddock_http_connections", "Open HTTP connections.", false, func() float64 { return float64(l.Open()) }},
		{"paddock_http_connection_waits_total", "Times that no connection was accepted because limits.connections were open.", true, func() float64 { return float64(l.Waits()) }},
		{"paddock_http_short_requests_total", "Look-ups answered on the fast path, without net/http.", true, func() float64 { return float64(s.Stats().Requests) }},
		{"paddock_http_handed_over_total", "Connections handed over to net/http with a request that the fast path does not answer.", true, func() float64 { return float64(s.Stats().HandedOver) }},
		{"paddock_http_paused_total", "Requests refused because too many wrong tokens had come from their address.", true, stat(func(s httpapi.Stats) uint64 { return s.Paused })},
		{"paddock_http_large_refused_total", "Requests refused because large bodies and answers had used up their memory.", true, stat(func(s httpapi.Stats) uint64 { return s.RefusedLarge })},
		{"paddock_live_clients", "Dashboards that are connected.", false, func() float64 { return float64(a.Stats().Live) }},
		{"paddock_live_refused_total", "Dashboards refused because there were too many.", true, stat(func(s httpapi.Stats) uint64 { return s.RefusedLive })},
		{"paddock_sets", "Sets of fences.", false, func() float64 { return float64(c.Len()) }},
		{"paddock_tile_cache_bytes", "Vector tiles in the cache, compressed.", false, func() float64 { return float64(a.Stats().Tiles.Bytes) }},
		{"paddock_tiles_late_total", "Vector tiles that took too long.", true, stat(func(s httpapi.Stats) uint64 { return s.Tiles.Late })},
		{"paddock_tiles_made_total", "Vector tiles drawn.", true, stat(func(s httpapi.Stats) uint64 { return s.Tiles.Made })},
		{"paddock_tiles_reused_total", "Vector tiles answered from the cache.", true, stat(func(s httpapi.Stats) uint64 { return s.Tiles.Reused })},
		{"paddock_sets_refused_total", "Sets not made because there were too many.", true, stat(func(s httpapi.Stats) uint64 { return s.RefusedSets })},
	})
}

// registerSets registers the metrics of the directory of sets, if there is one.
func registerSets(reg prometheus.Registerer, d *directory.Directory) {
	if d == nil {
		return
	}
	register(reg, []reading{
		{"paddock_sets_files", "Files of the directory of sets.", false, func() float64 { return float64(len(d.Status().Sources)) }},
		{"paddock_sets_files_failing", "Files that cannot be served in their present state, and the directory itself if it cannot be read.", false, func() float64 { return float64(d.Status().Failing()) }},
		{"paddock_sets_files_loaded_total", "Times that a file was read and served.", true, func() float64 { return float64(d.Status().Loads) }},
		{"paddock_sets_files_failed_total", "Times that a file, or the directory, was found to fail.", true, func() float64 { return float64(d.Status().Failures) }},
	})
}

func registerWire(reg prometheus.Registerer, a *wireapi.API) {
	reg.MustRegister(wirestats.Collector(a.Transport()))
	stat := func(f func(wireapi.Stats) uint64) func() float64 {
		return func() float64 { return float64(f(a.Stats())) }
	}
	register(reg, []reading{
		{"paddock_wire_connections", "Open wire connections.", false, func() float64 { return float64(a.Stats().Conns) }},
		{"paddock_wire_opening", "Wire connections that are not authenticated yet.", false, func() float64 { return float64(a.Stats().Opening) }},
		{"paddock_wire_waiting", "Wire connections that wait to begin their handshake.", false, func() float64 { return float64(a.Stats().Waiting) }},
		{"paddock_wire_subscribers", "Streams of events by wire that are open.", false, func() float64 { return float64(a.Stats().Subscribers) }},
		{"paddock_wire_accepted_total", "Wire connections that were opened.", true, stat(func(s wireapi.Stats) uint64 { return s.Accepted })},
		{"paddock_wire_refused_total", "Wire connections refused because there were wire.max_connections, or too many opening.", true, stat(func(s wireapi.Stats) uint64 { return s.Refused })},
		{"paddock_wire_failed_total", "Wire connections that did not speak wire, were too late, or had no token.", true, stat(func(s wireapi.Stats) uint64 { return s.Failed })},
		{"paddock_wire_crowded_total", "Failed wire connections that were closed while opening, to make room for others.", true, stat(func(s wireapi.Stats) uint64 { return s.Crowded })},
		{"paddock_wire_paused_total", "Wire connections refused because others from their address had failed.", true, stat(func(s wireapi.Stats) uint64 { return s.Paused })},
		{"paddock_wire_denied_total", "Wire connections closed because they had no valid token.", true, stat(func(s wireapi.Stats) uint64 { return s.Denied })},
		{"paddock_wire_positions_total", "Posts of positions by wire, good and bad.", true, stat(func(s wireapi.Stats) uint64 { return s.Positions })},
		{"paddock_wire_skipped_total", "Positions that agents dropped at a bound before they could be sent.", true, stat(func(s wireapi.Stats) uint64 { return s.Skipped })},
		{"paddock_wire_searches_total", "Look-ups by wire.", true, stat(func(s wireapi.Stats) uint64 { return s.Searches })},
		{"paddock_wire_large_refused_total", "Look-ups by wire refused because large answers had used up their memory.", true, stat(func(s wireapi.Stats) uint64 { return s.RefusedLarge })},
	})
}

func registerRequests(reg prometheus.Registerer, d *busapi.Search, rules *busapi.Rules) {
	register(reg, []reading{
		{"paddock_bus_searches_total", "Look-ups by request on the bus.", true, func() float64 { n, _ := d.Requests(); return float64(n) }},
		{"paddock_bus_searches_refused_total", "Look-ups by request on the bus that were refused.", true, func() float64 { _, n := d.Requests(); return float64(n) }},
		{"paddock_bus_rule_requests_total", "Requests about rules on the bus.", true, func() float64 { n, _ := rules.Requests(); return float64(n) }},
		{"paddock_bus_rule_requests_refused_total", "Requests about rules on the bus that were refused.", true, func() float64 { _, n := rules.Requests(); return float64(n) }},
	})
}

func registerPipeline(reg prometheus.Registerer, p *ingest.Pipeline, log *events.Log) {
	register(reg, []reading{
		{"paddock_track_objects", "Objects known.", false, func() float64 { n, _ := p.Counts(); return float64(n) }},
		{"paddock_track_silent_objects", "Objects that have been silent for longer than the TTL.", false, func() float64 { _, n := p.Counts(); return float64(n) }},
		{"paddock_event_log_records", "Events kept for replay.", false, func() float64 { return float64(log.Stats().Records) }},
		{"paddock_event_log_bytes", "Bytes of events kept for replay.", false, func() float64 { return float64(log.Stats().Bytes) }},
	})
}

func registerJournal(reg prometheus.Registerer, j *journal.Disk, p *ingest.Pipeline, log *events.Log, losses int) {
	usage := func(f func(used, free uint64) uint64) func() float64 {
		return func() float64 {
			used, free, err := j.Usage()
			if err != nil {
				return math.NaN()
			}
			return float64(f(used, free))
		}
	}
	register(reg, []reading{
		{"paddock_journal_records_total", "Records ever stored in the journal.", true, func() float64 { _, n := j.Bounds(); return float64(n) }},
		{"paddock_journal_events", "Events kept in the journal.", false, func() float64 { return float64(log.Latest() + 1 - log.Oldest()) }},
		{"paddock_journal_bytes", "Bytes of the journal's files.", false, usage(func(used, _ uint64) uint64 { return used })},
		{"paddock_journal_free_bytes", "Free bytes on the journal's disk; see journal.min_free.", false, usage(func(_, free uint64) uint64 { return free })},
		{"paddock_journal_losses", "Losses that were accepted with --accept-loss.", false, func() float64 { return float64(losses) }},
		{"paddock_journal_refusing", "1 while positions are refused because the journal's disk is nearly full.", false, func() float64 {
			if p.Refusing() != "" {
				return 1
			}
			return 0
		}},
	})
}

func registerHistory(reg prometheus.Registerer, j *journal.Disk, h *history.History) {
	stat := func(f func(history.Stats) uint64) func() float64 {
		return func() float64 { return float64(f(h.Stats())) }
	}
	register(reg, []reading{
		{"paddock_history_bytes", "Bytes on disk of past positions and visits, roughly.", false, func() float64 {
			n, err := j.ValueBytes(history.Span())
			if err != nil {
				return math.NaN()
			}
			return float64(n)
		}},
		{"paddock_history_blocks_total", "Blocks of an object's positions of an hour that were written.", true, stat(func(s history.Stats) uint64 { return s.Blocks })},
		{"paddock_history_fragments_total", "Fragments of such blocks that were written.", true, stat(func(s history.Stats) uint64 { return s.Fragments })},
		{"paddock_history_lag_records", "Records of the journal that the history has not read.", false, stat(func(s history.Stats) uint64 { return s.Lag })},
		{"paddock_history_gaps_total", "Records and events of the journal that were removed before the history had read them.", true, stat(func(s history.Stats) uint64 { return s.Gaps })},
	})
}
