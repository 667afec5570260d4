package load

import "time"

// Arrivals are the times at which requests are due, counted from the start of the run: a
// sequence that is fixed beforehand and never goes back. It is safe for any number of
// goroutines.
type Arrivals interface {
	// Stripe yields the arrivals number k for which k mod of = part, in order: what one
	// of so many threads has to do. The union over all parts is the whole sequence, to
	// the nanosecond.
	Stripe(part, of int) Stripe

	// Rate is the number of arrivals per second that are meant at a time.
	Rate(at time.Duration) float64

	// Length is when the sequence ends; 0 = never.
	Length() time.Duration

	// String describes the sequence in a few words.
	String() string
}

// Stripe yields arrivals in order. It belongs to one goroutine.
type Stripe interface {
	// Next is the next arrival; false at the end.
	Next() (at time.Duration, ok bool)
}
