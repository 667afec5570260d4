package admission

import (
	"math"
	"time"
)

const (
	// window is how long what a service did is gathered before a lane's limit is
	// looked at again, and windowAnswers how much of it at least.
	window        = 100 * time.Millisecond
	windowAnswers = 10
	// slower is by how much a service may be slower than usual.
	slower = 2
	// smoothing is the part of a step that is taken at once.
	smoothing = 0.2
	// A window in which the limit bounded nothing shows the service as it is, and
	// changes so much of what is usual. In one at the limit it may be slow because of
	// what waits within it: that would come to be usual in some minutes only.
	learned, drift = 0.05, 0.0004
	// tooManyFailed is the part of answers that are failures above which there is
	// less to do, and less by how much.
	tooManyFailed = 0.1
	less          = 0.9
)

// limit is how much a lane may have under way, which follows the time its service
// takes to begin its answer: where that grows beyond what is usual, more work waits
// within the service, where nobody can refuse it. The rule is that of the gradient,
// known from Netflix's concurrency-limits: the limit times what is usual over what is,
// and the root of itself more, for the way up.
//
// It begins at its greatest, as a service is well until it has shown otherwise.
type limit struct {
	least, most float64
	patience    time.Duration

	value float64
	usual float64 // seconds; 0: nothing is known

	from            time.Time // of the present window
	answers, failed int
	sum             time.Duration
	peak            int // most under way
}

func newLimit(l *Limits) limit {
	return limit{least: float64(l.LaneFloor), most: float64(l.LaneRequests), patience: l.Patience, value: float64(l.LaneRequests)}
}

func (l *limit) now() int { return int(l.value) }

// begun hears that so many are under way.
func (l *limit) begun(n int) { l.peak = max(l.peak, n) }

// learn hears of an answer that took so long.
func (l *limit) learn(now time.Time, took time.Duration, failed bool) {
	if l.answers == 0 && l.failed == 0 {
		l.from = now.Add(-took)
	}
	if failed {
		l.failed++
	} else {
		l.answers++
		l.sum += took
	}
	if now.Sub(l.from) >= window && l.answers+l.failed >= windowAnswers {
		l.step()
		l.answers, l.failed, l.sum, l.peak = 0, 0, 0, 0
	}
}

// step ends a window.
func (l *limit) step() {
	if float64(l.failed) > tooManyFailed*float64(l.answers+l.failed) {
		l.set(l.value * less)
		return
	}
	is := l.sum.Seconds() / float64(l.answers)
	if l.usual == 0 {
		l.usual = is
	}
	allowed, changes := slower*max(l.usual, l.patience.Seconds()), learned
	if float64(l.peak) >= l.value/2 {
		changes = drift
		gradient := min(max(allowed/is, 0.5), 1)
		l.set(l.value + smoothing*(l.value*gradient+math.Sqrt(l.value)-l.value))
	}
	if is < l.usual {
		l.usual = is
	} else {
		l.usual += changes * (min(is, allowed) - l.usual)
	}
}

func (l *limit) set(v float64) { l.value = min(max(v, l.least), l.most) }
