package admission

import "time"

const (
	// slack is by how much an answer may take longer than usual. Beyond the knee, where a
	// service has all that it can work on, twice as much under way only takes twice as long:
	// so this is also how far beyond it a limit comes to rest.
	slack = 1.5
	// lower is the part of a limit at which the usual time is measured. It is well below 1/slack:
	// otherwise a limit far beyond the knee would appear to be usual.
	lower = 0.25
	// smoothing is the part of a step that is taken at once; learning is the same for the usual
	// time while no measurement lowers the load.
	smoothing, learning = 0.5, 0.2
	// doubt is by how much an answer must take longer than usual for that to be measured
	// again. It is below slack, where a limit at rest is.
	doubt = 1.25
	// rest is the time for which a measurement is valid, and restTimes its minimum as a multiple of
	// the measurement's duration: with a lowered limit the throughput is lower. It is doubled, up
	// to longestRest, when a new measurement confirms the old one. It ends early when the limit has
	// changed by the factor moved: the usual time may have been measured beyond the knee, or may
	// not apply any more.
	rest, restTimes = 5 * time.Second, 40
	longestRest     = 10 * time.Minute
	moved           = 1.5
	// lowWindow is the window while the usual time is measured. A measurement lasts this many times
	// an answer's time, at most longestDip, or is given up: a service whose visitors wait for
	// minutes for an event is not overloaded, and has no lower time.
	lowWindow  = window / 4
	dipTimes   = 6
	longestDip = 15 * time.Second
	// less is the part that is left of a limit when a service fails.
	less = 0.9
	// An overload is detected at once when row answers in succession each take lateTimes the
	// allowed time: until the span ends, the service would be given several times its capacity.
	row, lateTimes = 8, 2
	// regain is the part of the way to its greatest that a limit comes back in a span in which
	// it bounds nothing and the service is well.
	regain = 0.1
)

// phase is the state of a limit.
type phase uint8

const (
	level   phase = iota // the limit is its value
	falling              // waiting until no more than a part of it is
	low                  // measuring the time of an answer at low load
)

// limit is the number of requests that a lane may run at once. It follows the time in which the
// service begins its answer: if that grows beyond the usual time, requests queue within the
// service, where they cannot be refused. The best value is known: the service's rate times the time
// of an answer without queueing, which by Little's law is the number it works on at once; more only
// wait longer (Kleinrock 1979). The rate is measured continuously, the time when the load is low
// anyway, or else by lowering the limit to a quarter for a moment. If the limit was far too high, a
// quarter is too high as well, and the new limit is a quarter nearer; this repeats until a quarter
// is too low.
//
// So a limit is slack times the rate times the usual time. It is not lowered for a service that
// answers within Limits.Patience, nor without a measurement.
//
// It begins at its maximum: a service counts as healthy until it has shown otherwise.
type limit struct {
	least, most float64
	patience    time.Duration

	value   float64
	awaited int // begun, and not ended
	span    span
	late    lateRow
	hasty   bool // it was lowered for a row since the last span that was whole
	phase   phase
	rate    float64 // answers per second in the last span; 0: unknown
	demand  demand

	usual   time.Duration // time of an answer at lower; 0: unknown
	usualAt time.Time     // when that was measured
	usualOf float64       // value then
	restFor time.Duration

	dipTo    float64
	dipSince time.Time
	dipUntil time.Time // when it is given up
	before   span      // the span that has led to it
}

// lateRow is answers one after another, all of them late.
type lateRow struct {
	n    int
	from time.Time // when the first one came
}

func newLimit(l *Limits) limit {
	return limit{
		least: float64(l.LaneFloor), most: float64(l.LaneRequests), patience: l.Patience, value: float64(l.LaneRequests), restFor: rest,
	}
}

// now is how much may be under way.
func (l *limit) now() int {
	if l.phase != level {
		return int(l.dipTo)
	}
	return int(l.value)
}

// begun records that a request has begun.
func (l *limit) begun(now time.Time) {
	l.span.pass(now, l.awaited)
	l.awaited++
	l.span.most = max(l.span.most, l.awaited)
	l.look(now)
}

// ended records the end of a request, successful or not, and its duration. It reports whether that
// shows an overload.
func (l *limit) ended(now time.Time, took time.Duration) (overload bool) {
	l.span.pass(now, l.awaited)
	l.awaited--
	l.span.ended++
	if l.lookAt(now, took) {
		return true
	}
	l.look(now)
	return false
}

// lookAt detects that one answer after another is far too late, and new ones would be too, while
// the load is above that at which the usual time is measured. The usual time is trusted at this
// point: a service that has just become slower is found out later.
func (l *limit) lookAt(now time.Time, took time.Duration) (overload bool) {
	late := lateTimes * l.allowed()
	if l.usual == 0 || l.phase != level || l.hasty || float64(took) <= late {
		l.late = lateRow{}
		return false
	}
	if l.late.n++; l.late.n == 1 {
		l.late.from = now
	}
	lasts := float64(now.Sub(l.late.from))
	if l.late.n < row || lasts < l.allowed() { // several may come at once, and the first ones slowly
		return false
	}
	each := lasts / float64(l.late.n-1)
	l.late = lateRow{}
	if float64(l.span.most) <= l.lower() || float64(l.awaited)*each <= late || l.demand.usual(&l.span, now) {
		return false
	}
	l.set(min(l.value, l.allowed()/each))
	l.span, l.hasty = span{from: now, last: now}, true
	return true
}

// allowed returns the duration of an answer from which the limit is lowered.
func (l *limit) allowed() float64 { return max(slack*float64(l.usual), float64(l.patience)) }

// failed records that one of the ended requests had no answer.
func (l *limit) failed() { l.span.failed++ }

// look adjusts the limit if the present span is over.
func (l *limit) look(now time.Time) {
	switch {
	case l.phase == level:
		if l.span.tells(window) {
			l.step(now)
			l.span = span{from: now, last: now}
		}
	case l.phase == falling && l.awaited <= int(l.dipTo):
		l.phase, l.span = low, span{from: now, last: now}
	case l.phase == low && l.span.tells(lowWindow) && !l.span.failing():
		l.usual = l.span.answer()
		l.endDip(now)
		l.follow(&l.before, 1)
	case now.After(l.dipUntil):
		l.endDip(now)
	}
}

// step ends a span.
func (l *limit) step(now time.Time) {
	s := &l.span
	l.rate, l.hasty = s.rate(), false
	if s.failing() {
		l.set(l.value * less)
		return
	}
	is := s.answer()
	inTime := float64(is) <= l.allowed()
	l.demand.note(s, now, inTime, s.asked <= s.ended+l.awaited)
	switch {
	case float64(s.most) <= l.lower():
		if l.usual == 0 {
			l.usual = is
		}
		l.usual += time.Duration(learning * float64(is-l.usual))
		l.usualAt, l.usualOf = now, l.value
	case is < l.usual/2: // the service is another
		l.usual, l.usualAt = is, time.Time{}
	case is < l.usual:
		l.usual += time.Duration(learning * float64(is-l.usual))
	}
	switch {
	case float64(s.most) < l.value/2: // the limit bounds nothing
		if l.wellAt(s) {
			l.set(l.value + regain*(l.most-l.value))
		}
	case !inTime && l.demand.usual(s, now): // it is borne for a moment
	case !l.wellAt(s) && l.doubted(now):
		l.phase, l.before, l.dipTo = falling, *s, l.lower()
		l.dipSince, l.dipUntil = now, now.Add(min(dipTimes*is+window, longestDip))
	default:
		l.follow(s, smoothing)
	}
}

// lower returns the load at which the usual time is measured.
func (l *limit) lower() float64 { return max(l.least, lower*l.value) }

// doubted reports whether the usual time must be measured again.
func (l *limit) doubted(now time.Time) bool {
	return l.usualAt.IsZero() || now.Sub(l.usualAt) >= l.restFor || l.value*moved < l.usualOf || l.value > moved*l.usualOf
}

// endDip restores the limit after a measurement.
func (l *limit) endDip(now time.Time) {
	l.usualAt, l.usualOf = now, l.value
	again := rest
	if l.wellAt(&l.before) {
		again = min(2*l.restFor, longestRest)
	}
	l.restFor = max(again, restTimes*now.Sub(l.dipSince))
	l.phase, l.span = level, span{from: now, last: now}
}

// wellAt reports whether the service took about its usual time then.
func (l *limit) wellAt(s *span) bool {
	is := s.answer()
	return is <= l.patience || float64(is) <= doubt*float64(l.usual)
}

// follow moves the limit a part of the way towards the one that s yields.
func (l *limit) follow(s *span, part float64) {
	if l.usual == 0 {
		return
	}
	is, to, allowed := float64(s.answer()), 0.0, l.allowed()
	if is > allowed {
		to = s.underWay() * allowed / is
	} else {
		to = l.value * min(allowed/is, slack)
	}
	l.set(l.value + part*(to-l.value))
}

func (l *limit) set(v float64) { l.value = min(max(v, l.least), l.most) }
