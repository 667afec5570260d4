package doctor

import (
	"context"
	"sync"
	"time"
)

// Recently is the period for which Recent returns the increase.
const Recently = 10 * time.Minute

const (
	trendEvery = 10 * time.Second
	trendKept  = int(Recently/trendEvery) + 1
	// spaceEvery and spaceKept bound the readings of the free space: a day.
	spaceEvery = 10 * time.Minute
	spaceKept  = 24*6 + 1
	// spaceLeast is the least time over which a rate is computed: files of the journal come and go.
	spaceLeast = time.Hour
)

// Counts are counters since the start of the process.
type Counts struct {
	At              time.Time
	Accepted, Late  uint64 // positions
	Rejected        uint64 // likewise, also for want of room
	SlowClients     uint64 // of the bus, closed
	FellBehind, Cut uint64 // streams of events
	Overloads       uint64 // of the tunnel
}

// minus returns what has been added since earlier counts.
func (c Counts) minus(b Counts) Counts {
	return Counts{
		At: b.At, Accepted: c.Accepted - b.Accepted, Late: c.Late - b.Late, Rejected: c.Rejected - b.Rejected, SlowClients: c.SlowClients - b.SlowClients,
		FellBehind: c.FellBehind - b.FellBehind, Cut: c.Cut - b.Cut, Overloads: c.Overloads - b.Overloads,
	}
}

// space is a reading of the free space of the disk.
type space struct {
	at   time.Time
	free int64
}

// Trend keeps a bounded number of past readings of counters and of the free space.
type Trend struct {
	mu     sync.Mutex
	counts []Counts // the oldest first, at most trendKept
	spaces []space  // likewise, at most spaceKept
}

// Run takes readings until ctx ends. free reports false if it is not known.
func (t *Trend) Run(ctx context.Context, counts func() Counts, free func() (int64, bool)) {
	ticker := time.NewTicker(trendEvery)
	defer ticker.Stop()
	for {
		t.Note(counts())
		if bytes, ok := free(); ok {
			t.noteSpace(time.Now(), bytes)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Note keeps a reading.
func (t *Trend) Note(c Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts) == trendKept {
		t.counts = t.counts[:copy(t.counts, t.counts[1:])]
	}
	t.counts = append(t.counts, c)
}

// Recent returns what has been added to counters within Recently, or since the start if that was
// later.
func (t *Trend) Recent(now Counts) Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.counts {
		if now.At.Sub(c.At) <= Recently+trendEvery {
			return now.minus(c)
		}
	}
	return now.minus(Counts{At: now.At})
}

func (t *Trend) noteSpace(at time.Time, free int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.spaces); n > 0 && at.Sub(t.spaces[n-1].at) < spaceEvery {
		return
	}
	if len(t.spaces) == spaceKept {
		t.spaces = t.spaces[:copy(t.spaces, t.spaces[1:])]
	}
	t.spaces = append(t.spaces, space{at, free})
}

// left returns the time until free falls to least, at the rate of the readings, and the time that
// these cover. known is false if that is below spaceLeast, or if the free space does not shrink.
func (t *Trend) left(now time.Time, free, least int64) (left, over time.Duration, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spaces) == 0 {
		return 0, 0, false
	}
	first := t.spaces[0]
	over = now.Sub(first.at)
	gone := first.free - free
	if over < spaceLeast || gone <= 0 {
		return 0, over, false
	}
	const most = 10 * 365 * 24 * time.Hour
	seconds := float64(max(free-least, 0)) / (float64(gone) / over.Seconds())
	if seconds >= most.Seconds() {
		return most, over, true
	}
	return time.Duration(seconds * float64(time.Second)), over, true
}

// Syncs keeps the durations of the last writes that waited for the disk. It is safe for concurrent
// use.
type Syncs struct {
	mu   sync.Mutex
	last [512]time.Duration // a ring
	n    uint64             // ever added
	ends time.Time          // of the last one
}

// Add adds a duration.
func (s *Syncs) Add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[s.n%uint64(len(s.last))] = d
	s.n++
	s.ends = time.Now()
}

// all returns the kept durations, if the last one is not old.
func (s *Syncs) all() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.ends) > Recently {
		return nil
	}
	return append([]time.Duration{}, s.last[:min(s.n, uint64(len(s.last)))]...)
}
