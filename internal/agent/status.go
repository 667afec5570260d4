package agent

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/agent/spool"
	"paddock/tunnel/tunnelstats"
	"paddock/wire"
)

// Status is the answer of GET /status.
type Status struct {
	Link    LinkStatus              `json:"link"`
	Buffer  BufferStatus            `json:"buffer"`
	Sources map[string]SourceStatus `json:"sources"`
	Tunnels map[string]TunnelStatus `json:"tunnels,omitempty"`
	Events  uint64                  `json:"events"` // received from the platform
	Gaps    uint64                  `json:"gaps"`   // in them
	Since   time.Time               `json:"since"`  // start of the process
}

// LinkStatus describes the connection to the platform.
type LinkStatus struct {
	Up        bool       `json:"up"`
	Platform  string     `json:"platform"`
	Reason    string     `json:"reason,omitempty"`    // why it is not up
	Connected *time.Time `json:"connected,omitempty"` // when it last came up
	Connects  uint64     `json:"connects"`            // connections that the platform has admitted
	Resent    uint64     `json:"resent"`              // posts that were sent again
	Renewed   uint64     `json:"renewed"`             // sessions that another process used too
}

// BufferStatus describes the waiting positions.
type BufferStatus struct {
	Waiting  uint64 `json:"waiting"` // unacknowledged positions
	Bytes    int64  `json:"bytes"`   // on the disk
	MaxBytes int64  `json:"max_bytes"`
	Accepted uint64 `json:"accepted"` // this and the following since the start
	Refused  uint64 `json:"refused"`
	Dropped  uint64 `json:"dropped"`
	Expired  uint64 `json:"expired"`
	Damaged  uint64 `json:"damaged"`
	Unmarked uint64 `json:"unmarked"` // acknowledgements that could not be written at once
}

// SourceStatus counts positions of one source.
type SourceStatus struct {
	Accepted uint64 `json:"accepted"`
	Rejected uint64 `json:"rejected"`
	Refused  uint64 `json:"refused"`
}

func (a *Agent) getStatus(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, a.Status())
}

// Status returns all figures. It is called after the agent has started.
func (a *Agent) Status() Status {
	link, buffer := a.link().Stats(), a.spool.Stats()
	s := Status{
		Link: LinkStatus{Up: a.up.Load() > 0, Platform: a.settings.Link.Connect.Server, Connects: a.connects.Load(), Resent: link.Resent, Renewed: a.renewed.Load()},
		Buffer: BufferStatus{
			Waiting: buffer.Records, Bytes: buffer.Bytes, MaxBytes: a.settings.Buffer.MaxBytes, Accepted: buffer.Accepted,
			Refused: buffer.Refused, Dropped: buffer.Dropped, Expired: buffer.Expired, Damaged: buffer.Damaged, Unmarked: buffer.Unmarked,
		},
		Sources: map[string]SourceStatus{}, Tunnels: a.tunnels.status(), Events: a.feed.events.Load(), Gaps: a.feed.gaps.Load(), Since: a.since.UTC(),
	}
	if at := a.lastUp.Load(); at > 0 {
		t := time.UnixMilli(at).UTC()
		s.Link.Connected = &t
	}
	if !s.Link.Up {
		s.Link.Reason = a.reason()
	}
	for _, src := range a.sources {
		s.Sources[src.name] = SourceStatus{src.accepted.Load(), src.rejected.Load(), src.refused.Load()}
	}
	return s
}

// Summary returns a sentence about the running agent. It is called after the agent has started.
func (a *Agent) Summary() string {
	s := a.Status()
	if !s.Link.Up {
		return fmt.Sprintf("keeping %d positions: %s", s.Buffer.Waiting, s.Link.Reason)
	}
	return fmt.Sprintf("connected to %s, %d positions to deliver", s.Link.Platform, s.Buffer.Waiting)
}

// register makes the metrics, once there is a link.
func (a *Agent) register() {
	if a.tunnels != nil {
		a.registry.MustRegister(tunnelstats.Client(a.tunnels.client))
	}
	buffer := func(f func(spool.Stats) float64) func() float64 {
		return func() float64 { return f(a.spool.Stats()) }
	}
	link := func(f func(wire.ClientStats) float64) func() float64 {
		return func() float64 { return f(a.link().Stats()) }
	}
	for _, m := range []struct {
		name, help string
		counter    bool
		value      func() float64
	}{
		{"paddock_agent_link_up", "1 while there is a connection to the platform.", false, func() float64 { return float64(a.up.Load()) }},
		{"paddock_agent_connects_total", "Connections to the platform, on which it has let us in.", true, func() float64 { return float64(a.connects.Load()) }},
		{"paddock_agent_resent_total", "Posts that went out again on a new connection.", true, link(func(s wire.ClientStats) float64 { return float64(s.Resent) })},
		{"paddock_agent_buffer_positions", "Positions that the platform has not acknowledged.", false, buffer(func(s spool.Stats) float64 { return float64(s.Records) })},
		{"paddock_agent_buffer_bytes", "Bytes of the buffer on the disk.", false, buffer(func(s spool.Stats) float64 { return float64(s.Bytes) })},
		{"paddock_agent_accepted_total", "Positions that were taken.", true, buffer(func(s spool.Stats) float64 { return float64(s.Accepted) })},
		{"paddock_agent_syncs_total", "Syncs of the disk, for them.", true, buffer(func(s spool.Stats) float64 { return float64(s.Syncs) })},
		{"paddock_agent_refused_total", "Positions refused at the bound of the buffer.", true, buffer(func(s spool.Stats) float64 { return float64(s.Refused) })},
		{"paddock_agent_dropped_total", "Positions dropped at the bound of the buffer, oldest first.", true, buffer(func(s spool.Stats) float64 { return float64(s.Dropped) })},
		{"paddock_agent_events_total", "Events that have come from the platform.", true, func() float64 { return float64(a.feed.events.Load()) }},
		{"paddock_agent_expired_total", "Positions that were too old to be delivered.", true, buffer(func(s spool.Stats) float64 { return float64(s.Expired) })},
		{"paddock_agent_sessions_renewed_total", "Times that another process delivered from a copy of the buffer.", true, func() float64 { return float64(a.renewed.Load()) }},
		{"paddock_agent_unmarked_total", "Acknowledgements that could not be written down at once.", true, buffer(func(s spool.Stats) float64 { return float64(s.Unmarked) })},
		{"paddock_agent_http_streams_refused_total", "Streams of events refused at the bound.", true, func() float64 { return float64(a.streams.refused.Load()) }},
		{"paddock_agent_http_slow_bodies_refused_total", "Requests refused as too many bodies came slowly.", true, func() float64 { return float64(a.slow.refused.Load()) }},
	} {
		if m.counter {
			a.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.name, Help: m.help}, m.value))
		} else {
			a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.name, Help: m.help}, m.value))
		}
	}
}
