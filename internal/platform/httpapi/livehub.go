package httpapi

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
)

// liveHub gathers the data for all dashboards, once for all of them.
type liveHub struct {
	cfg *Config

	mu      sync.Mutex
	sampled time.Time
	sample  []track.Dot // replaced, never changed: readers hold it
	figures liveFigures
	counted time.Time
	totals  ingest.Totals
}

func newLiveHub(cfg *Config) *liveHub { return &liveHub{cfg: cfg} }

// dots returns all objects as they were at most half a frame ago.
func (h *liveHub) dots() (time.Time, []track.Dot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.sampled) > liveDots*liveTick/2 {
		h.sample = h.cfg.Pipeline.Dots(make([]track.Dot, 0, len(h.sample)+64))
		h.sampled = now
	}
	return h.sampled, h.sample
}

// liveFigures are the figures of the dashboard's bar.
type liveFigures struct {
	Type            string   `json:"type"`
	T               int64    `json:"t"`
	PositionsPerSec float64  `json:"positions_per_s"`
	EventsPerSec    float64  `json:"events_per_s"`
	Objects         int      `json:"objects"`
	Silent          int      `json:"silent"`
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

// A frame of positions: a header of 16 bytes, then a record of 16 bytes for each
// object, all little-endian. docs/reference/live.md has the layout.
const (
	frameDots    = 1
	flagThinned  = 1
	noHeading    = math.MaxUint16
	noSpeed      = math.MaxUint8
	centidegrees = 100
)

func appendDots(b []byte, at time.Time, dots []track.Dot, thinned bool) []byte {
	flags := byte(0)
	if thinned {
		flags = flagThinned
	}
	le := binary.LittleEndian
	b = append(b, frameDots, flags, 0, 0)
	b = le.AppendUint32(b, uint32(len(dots)))
	b = le.AppendUint64(b, math.Float64bits(float64(at.UnixMilli())))
	for i := range dots {
		d := &dots[i]
		heading, speed := uint16(noHeading), byte(noSpeed)
		if d.Heading.Known {
			heading = uint16(math.Round(float64(d.Heading.Value)*centidegrees)) % (360 * centidegrees)
		}
		if d.Speed.Known {
			speed = byte(min(d.Speed.Value, noSpeed-1))
		}
		b = le.AppendUint32(b, d.Handle)
		b = le.AppendUint32(b, uint32(int32(math.Round(d.Point.Lon*1e7))))
		b = le.AppendUint32(b, uint32(int32(math.Round(d.Point.Lat*1e7))))
		b = le.AppendUint16(b, heading)
		b = append(b, byte(d.State), speed)
	}
	return b
}

// inView reports whether a dot lies in a view, which may cross the antimeridian.
func inView(v *[4]float64, d *track.Dot) bool {
	if v == nil {
		return true
	}
	west, south, east, north := v[0], v[1], v[2], v[3]
	if d.Point.Lat < south || d.Point.Lat > north {
		return false
	}
	if west <= east {
		return d.Point.Lon >= west && d.Point.Lon <= east
	}
	return d.Point.Lon >= west || d.Point.Lon <= east
}

// thin keeps about n dots, the same ones from frame to frame.
func thin(dots []track.Dot, n int) []track.Dot {
	every := uint32((len(dots) + n - 1) / n)
	kept := dots[:0]
	for i := range dots {
		if dots[i].Handle%every == 0 {
			kept = append(kept, dots[i])
		}
	}
	return kept
}
