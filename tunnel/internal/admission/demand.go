package admission

import "time"

const (
	// moreThanUsual is the factor above a service's proven throughput from which the demand counts
	// as higher than usual.
	moreThanUsual = 2
	// bearing is how long a service that is asked for no more than usual may be slow without
	// being given less.
	bearing = time.Second
	// forget is the part of a step by which a higher proven throughput decays towards a lower one.
	forget = 0.02
)

// demand compares the demand for a service with the throughput that it has achieved in time until
// now. If a service becomes slow under its usual demand, the cause is the service or this machine:
// most often a short pause, after which it goes on. No visitor need be refused for that. Demand
// beyond the service's capacity is another matter.
type demand struct {
	done float64   // asked a second, and answered in time; 0: nothing is known
	slow time.Time // since when it does not do as much any more; zero if it does
}

// note records a span that is over: whether answers came in time, and all requests were admitted.
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

// usual reports whether the demand of a span is at most the throughput that the service has
// achieved in time, at least until a moment ago.
func (d *demand) usual(s *span, now time.Time) bool {
	return d.done > 0 && s.asks() <= moreThanUsual*d.done && (d.slow.IsZero() || now.Sub(d.slow) < bearing)
}
