package admission

import "time"

const (
	// window is the minimum time that a span covers before a lane's limit is adjusted, and
	// windowEnds the minimum number of ended requests.
	window     = 100 * time.Millisecond
	windowEnds = 32
	// windowTimes is how many times an answer's own time a span lasts at least: requests that
	// begin together end together, and a shorter span would see all of them, or none.
	windowTimes = 2
	// tooManyFailed is the part of ended requests that may fail before a service counts as failing.
	tooManyFailed = 0.1
)

// span summarises the work of a service over some time. It measures the total waiting time, not
// that of each answer: by Little's law the mean time is the total waiting time divided by the
// number of ended requests, which includes the requests that have not ended yet.
type span struct {
	from, last time.Time     // last is when something began or ended
	awaited    time.Duration // by all requests together
	asked      int           // admitted or not
	ended      int
	failed     int
	most       int // awaited at once
}

// pass lets time go by, in which n requests were awaited.
func (s *span) pass(now time.Time, n int) {
	if s.from.IsZero() {
		s.from, s.last = now, now
	}
	s.awaited += time.Duration(n) * now.Sub(s.last)
	s.last = now
	s.most = max(s.most, n)
}

// tells reports whether the span has lasted for least, and long enough to be significant.
func (s *span) tells(least time.Duration) bool {
	return s.ended >= windowEnds && s.last.Sub(s.from) >= max(least, windowTimes*s.answer())
}

// answer is the mean time of an answer. Some have ended.
func (s *span) answer() time.Duration { return s.awaited / time.Duration(s.ended) }

// rate returns the requests that ended in a second. The span is significant.
func (s *span) rate() float64 { return float64(s.ended) / s.last.Sub(s.from).Seconds() }

// asks returns the requests that arrived in a second. A span that has just begun is as
// insignificant as a whole window without arrivals.
func (s *span) asks() float64 { return float64(s.asked) / max(s.last.Sub(s.from), window).Seconds() }

// underWay returns the mean number of concurrent requests. The span is significant.
func (s *span) underWay() float64 { return float64(s.awaited) / float64(s.last.Sub(s.from)) }

// failing reports whether too many of the ended requests have failed.
func (s *span) failing() bool { return float64(s.failed) > tooManyFailed*float64(s.ended) }
