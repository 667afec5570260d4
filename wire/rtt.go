package wire

import "time"

// rttWindow is for how long a measured round trip counts.
const rttWindow = 10 * time.Second

// rttFilter knows the shortest round trip of the last 10 to 20 s: a PING that
// waited behind bulk has measured the queue, not the path.
type rttFilter struct {
	best, previous time.Duration // of this window and of the one before; 0: none
	since          time.Duration
}

func (f *rttFilter) add(rtt, now time.Duration) {
	if now-f.since > rttWindow {
		f.previous, f.best, f.since = f.best, 0, now
	}
	if f.best == 0 || rtt < f.best {
		f.best = rtt
	}
}

// min is the shortest round trip, 0 if none was measured.
func (f *rttFilter) min() time.Duration {
	if f.best == 0 || f.previous != 0 && f.previous < f.best {
		return f.previous
	}
	return f.best
}
