package admission

import "time"

const (
	// moreThanUsual is from how many times what a service was seen to do in time it is asked
	// for more than that.
	moreThanUsual = 2
	// bearing is how long a service that is asked for no more than usual may be slow without
	// being given less.
	bearing = time.Second
	// forget is the part of a step by which what was seen gives way to less.
	forget = 0.02
)

// demand is how much is asked of a service, beside what it has done in time until now. Where
// it becomes slow though no more is asked than before, it is the service that has changed, or
// this machine: most often it has stood still for a moment, and goes on. Nobody need be refused
// for that. A service that is asked for more than it can do is another matter.
type demand struct {
	done float64   // asked a second, and answered in time; 0: nothing is known
	slow time.Time // since when it does not do as much any more; zero if it does
}

// note hears of a span that is over: whether answers came in time, and all were let in.
func (d *demand) note(s *span, now time.Time, inTime, all bool) {
	switch {
	case inTime:
		if asked := s.asks(); all {
			d.done = max(asked, d.done+forget*(asked-d.done))
		}
		d.slow = time.Time{}
	case !d.usual(s, now):
		*d = demand{}
	case d.slow.IsZero():
		d.slow = s.from
	}
}

// usual says whether no more is asked in a span than what the service has done in time, until
// a moment ago at least.
func (d *demand) usual(s *span, now time.Time) bool {
	return d.done > 0 && s.asks() <= moreThanUsual*d.done && (d.slow.IsZero() || now.Sub(d.slow) < bearing)
}
