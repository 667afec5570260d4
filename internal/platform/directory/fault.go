package directory

import "time"

// fault is a reason that holds for some time. It is told once.
type fault struct {
	err   error // nil = all is well
	since time.Time
	told  error // what was told last
}

// set makes err the reason; the same one goes on, nil ends it.
func (f *fault) set(err error, now time.Time) {
	switch {
	case err == nil:
		f.err, f.since = nil, time.Time{}
	case f.err == nil || f.err.Error() != err.Error():
		f.err, f.since = err, now
	}
}

// turn is what there is to tell of a fault.
type turn int

const (
	nothing turn = iota
	begins
	ends
)

// turn says what there is to tell since it was asked last.
func (f *fault) turn() turn {
	before := f.told
	f.told = f.err
	switch {
	case f.err == before:
		return nothing
	case f.err == nil:
		return ends
	}
	return begins
}
