package directory

import (
	"time"
)

// Status is the state of the directory.
type Status struct {
	Sources []Source // by file
	Err     error    // why the directory cannot be read; nil: it can
	Since   time.Time

	Loads, Failures uint64 // of files since the start

	bySet map[string]int // place in Sources
}

// Source is a file and its state.
type Source struct {
	File    string
	Set     string    // named after the file; "": the name makes none
	Loaded  time.Time // when the contents of the set were read; zero: never
	Missing bool      // present at the start, and not served since
	Err     error     // why the set differs from the file; nil: it does not
	Since   time.Time // the time at which Err was found
}

// Failing counts the files that cannot be served in their present state, and the directory itself
// if it cannot be read.
func (s Status) Failing() (n int) {
	for _, f := range s.Sources {
		if f.Err != nil {
			n++
		}
	}
	if s.Err != nil {
		n++
	}
	return n
}

// Missing returns the names of files that were present at the start and were not served since.
func (s Status) Missing() (files []string) {
	for _, f := range s.Sources {
		if f.Missing {
			files = append(files, f.File)
		}
	}
	return files
}

// Status returns the state after the last scan. The caller must not change it.
func (d *Directory) Status() Status {
	s := *d.status.Load()
	s.Loads, s.Failures = d.loads.Load(), d.failures.Load()
	return s
}

// Source returns the file of a set. If several files are named like it, it is the one that was
// read.
func (s Status) Source(set string) (Source, bool) {
	i, ok := s.bySet[set]
	if !ok {
		return Source{}, false
	}
	return s.Sources[i], true
}

// add adds the next source.
func (s *Status) add(f Source) {
	if i, ok := s.bySet[f.Set]; !ok || s.Sources[i].Loaded.IsZero() {
		s.bySet[f.Set] = len(s.Sources)
	}
	s.Sources = append(s.Sources, f)
}

// fault is a failure that lasts for some time. It is logged once.
type fault struct {
	err   error // nil: no failure
	since time.Time
	told  error // the last logged error
}

// set makes err the failure. The same error continues a failure, nil ends it.
func (f *fault) set(err error, now time.Time) {
	switch {
	case err == nil:
		f.err, f.since = nil, time.Time{}
	case f.err == nil || f.err.Error() != err.Error():
		f.err, f.since = err, now
	}
}

// turn is a change of a fault that has to be logged.
type turn int

const (
	nothing turn = iota
	begins
	ends
)

// turn returns the change since the last call.
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
