package doctor

import (
	"context"
	"sync"
	"time"

	"paddock/bus"
	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/busd/bridge"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/doors/source"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
)

// Facts is what the checks of a platform look at. All fields of the first group are required.
type Facts struct {
	Version  string
	Pipeline *ingest.Pipeline
	Events   *events.Log
	Catalog  *fence.Catalog
	Doors    *doors.Doors
	Bus      *bus.Server
	Policy   func(set string) *track.Policy
	// BusPending is the bound on the bytes that wait for one client of the bus.
	BusPending func() int64
	Trend      *Trend
	Flaps      *Flaps
	Syncs      *Syncs

	Data     string // the data directory; "": nothing is kept
	MinFree  int64  // bytes of its disk, below which positions are refused
	Files    int    // that the process may open; 0: unknown
	Journal  *journal.Disk
	History  *history.History
	Hooks    *hooks.Hooks
	Sinks    *sinks.Sinks
	Sources  *source.Sources
	Bridges  func() []bridge.State   // of the bus; nil: there are none
	SetFiles func() directory.Status // nil: there is no directory
	Tunnel   func() Tunnel           // nil: there is none
	// Overloads returns the refusals of visitors of the tunnel for want of capacity, since
	// the start. Nil: there is no tunnel.
	Overloads func() uint64

	// Cluster returns what this node knows of its cluster. Nil: there is one node.
	Cluster func(context.Context) *cluster.Status

	Certificates func() []Certificate
	Addresses    map[string]string // of http, bus, wire and visitors, for clients

	once  sync.Once
	turns chan struct{} // see turn
}

// turn returns a channel with room for one examination.
func (f *Facts) turn() chan struct{} {
	f.once.Do(func() { f.turns = make(chan struct{}, 1) })
	return f.turns
}

// Certificate is one that the platform serves.
type Certificate struct {
	Of   string // the key of the configuration, as http.cert
	File string
	Ends time.Time
	// OnHangup: SIGHUP has it read again. Else it is read again by itself.
	OnHangup bool
}

// Tunnel is the state of the tunnel's server.
type Tunnel struct {
	Sessions, SessionsLimit, Away int
	Requests, RequestsLimit       int
}

// Report is what a platform finds about itself.
type Report struct {
	At        time.Time         `json:"t"`
	Version   string            `json:"version"`
	Status    Status            `json:"status"` // the worst one of the checks
	Addresses map[string]string `json:"addresses"`
	Summary   Summary           `json:"summary"`
	Checks    []Result          `json:"checks"`
}

// Summary is a compact reading of the fleet, without a check.
type Summary struct {
	Objects         int    `json:"objects"`
	Silent          int    `json:"silent"`           // objects
	Late            uint64 `json:"late"`             // positions, in the last 10 minutes
	Rejected        uint64 `json:"rejected"`         // likewise, also for want of room
	Flapping        int    `json:"flapping"`         // pairs of an object and a fence
	FailingWebhooks int    `json:"failing_webhooks"` // that wait after a failure, or were disabled by the platform
	FailingSinks    int    `json:"failing_sinks"`
	FailingSources  int    `json:"failing_sources"`
	FailingFiles    int    `json:"failing_files"` // of sets
}

// Examine runs the checks with these names, or all without names. With none it makes the summary
// alone.
//
// One examination is made at a time. The error is that of a context that ends before its turn.
func (f *Facts) Examine(ctx context.Context, only []string, none bool) (Report, error) {
	r := Report{At: time.Now().UTC().Truncate(time.Millisecond), Version: f.Version, Addresses: f.Addresses, Summary: f.Summary(), Checks: []Result{}}
	if none {
		r.Status = OK
		return r, nil
	}
	select {
	case f.turn() <- struct{}{}:
		defer func() { <-f.turn() }()
	case <-ctx.Done():
		return r, ctx.Err()
	}
	r.Checks = append(r.Checks, Run(ctx, f.Checks(), only)...)
	r.Status = Worst(r.Checks)
	return r, nil
}

// Checks returns the checks of a platform.
func (f *Facts) Checks() []Check {
	plain := func(name string, run func() Result) Check {
		return Check{name, func(context.Context) Result { return run() }}
	}
	return []Check{
		plain("version", f.version),
		plain("cpu", func() Result { return cpu(system()) }),
		plain("memory", func() Result { return memory(system()) }),
		plain("open-files", f.openFiles),
		plain("disk", f.disk),
		plain("fsync", f.fsync),
		plain("certificates", f.certificates),
		plain("set-files", f.setFiles),
		plain("fences", f.fences),
		plain("rejected", f.rejected),
		plain("device-clocks", f.deviceClocks),
		plain("flapping", f.flapping),
		plain("sources", f.sources),
		plain("webhooks", f.webhooks),
		plain("sinks", f.sinks),
		plain("bridges", f.bridges),
		plain("subscribers", f.subscribers),
		plain("lag", f.lag),
		plain("tunnel", f.tunnel),
		{"cluster", f.cluster},
		{"cluster-log", f.clusterLog},
	}
}

// Summary reads the summary.
func (f *Facts) Summary() Summary {
	var s Summary
	s.Objects, s.Silent = f.Pipeline.Counts()
	past := f.Trend.Recent(f.now())
	s.Late, s.Rejected = past.Late, past.Rejected
	flapping, _ := f.Flaps.List(time.Now())
	s.Flapping = len(flapping)
	if f.Hooks != nil {
		items, _ := f.failingHooks()
		s.FailingWebhooks = len(items)
	}
	if f.Sinks != nil {
		items, _ := f.failingSinks()
		s.FailingSinks = len(items)
	}
	if f.Sources != nil {
		s.FailingSources = len(f.failingSources())
	}
	if f.SetFiles != nil {
		s.FailingFiles = f.SetFiles().Failing()
	}
	return s
}
