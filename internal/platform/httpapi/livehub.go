package httpapi

import (
	"math"
	"runtime"
	"sync"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/httpapi/livemap"
	"paddock/internal/platform/ingest"
)

// liveHub gathers the data for all dashboards, once for all of them.
type liveHub struct {
	cfg *Config

	mu      sync.Mutex
	sample  livemap.Sample
	figures liveFigures
	counted time.Time
	totals  ingest.Totals
	late    lastMinute
}

// lastMinute holds a count at each of the last seconds in which there was a viewer.
type lastMinute struct {
	at    [60]time.Time
	count [60]uint64
	next  int
}

// add notes the count at a time, and returns how much was added to it within the minute before.
func (m *lastMinute) add(now time.Time, count uint64) uint64 {
	m.at[m.next], m.count[m.next] = now, count
	m.next = (m.next + 1) % len(m.at)
	before := count
	for i, at := range m.at {
		if !at.IsZero() && now.Sub(at) <= time.Minute {
			before = min(before, m.count[i])
		}
	}
	return count - before
}

func newLiveHub(cfg *Config) *liveHub { return &liveHub{cfg: cfg} }

// dots returns all objects as they were at most half a frame ago.
func (h *liveHub) dots() livemap.Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.sample.At) > liveDots*liveTick/2 {
		removed := h.cfg.Pipeline.Removed()
		dots := h.cfg.Pipeline.Dots(make([]track.Dot, 0, len(h.sample.Dots)+64))
		h.sample = livemap.Sample{At: now, Dots: dots, Removed: removed}
	}
	return h.sample
}

// liveFigures are the figures of the dashboard's bar.
type liveFigures struct {
	Type            string   `json:"type"`
	T               int64    `json:"t"`
	PositionsPerSec float64  `json:"positions_per_s"`
	EventsPerSec    float64  `json:"events_per_s"`
	Objects         int      `json:"objects"`
	Silent          int      `json:"silent"`
	Late            uint64   `json:"late"` // positions in the last minute
	Fences          int      `json:"fences"`
	EventP99Ms      *float64 `json:"event_p99_ms"` // nil: there was no event
	MemoryBytes     uint64   `json:"memory_bytes"`
	RejectedPerSec  float64  `json:"rejected_per_s"`
	LatePerSec      float64  `json:"late_per_s"`
	DroppedPerSec   float64  `json:"dropped_per_s"`
}

// stats returns the figures of the last second.
func (h *liveHub) stats() liveFigures {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	elapsed := now.Sub(h.counted)
	if elapsed < 9*liveStats*liveTick/10 {
		return h.figures
	}
	t := h.cfg.Pipeline.Metrics.Totals()
	if elapsed > 5*time.Second {
		h.totals = t // there was no viewer: the rates begin now
	}
	per := func(now, before uint64) float64 { return math.Round(float64(now-before)/elapsed.Seconds()*10) / 10 }
	f := liveFigures{
		Type: "stats", T: now.UnixMilli(),
		PositionsPerSec: per(t.Accepted+t.Late, h.totals.Accepted+h.totals.Late),
		EventsPerSec:    per(t.Events, h.totals.Events),
		RejectedPerSec:  per(t.Rejected+t.Full, h.totals.Rejected+h.totals.Full),
		LatePerSec:      per(t.Late, h.totals.Late),
		DroppedPerSec:   per(t.Overloaded, h.totals.Overloaded),
	}
	if t.EventP99 > 0 {
		ms := float64(t.EventP99.Microseconds()) / 1000
		f.EventP99Ms = &ms
	}
	f.Late = h.late.add(now, t.Late)
	f.Objects, f.Silent = h.cfg.Pipeline.Counts()
	for s := range h.cfg.Catalog.All() {
		f.Fences += s.Snapshot().Len()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.MemoryBytes = m.Sys - m.HeapReleased
	h.figures, h.totals, h.counted = f, t, now
	return f
}
