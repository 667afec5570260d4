package directory

import (
	"time"
)

// Status is how the directory stands.
type Status struct {
	Sources []Source // by file
	Err     error    // why the directory as a whole cannot be read; nil = it can
	Since   time.Time

	Loads, Failures uint64 // of files since the start: read and served; found to fail

	bySet map[string]int // place in Sources
}

// Source is a file, and what became of it.
type Source struct {
	File    string
	Set     string    // that is named after it; "" if its name makes none
	Loaded  time.Time // when what the set holds was read; zero if nothing was
	Missing bool      // the file was there at the start, and could not be served since
	Err     error     // why the set is not what the file holds; nil if it is
	Since   time.Time // when that was found
}

// Failing counts the files that cannot be read as they are, and the directory itself.
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

// Missing names the files that were there at the start and could not be served since.
func (s Status) Missing() (files []string) {
	for _, f := range s.Sources {
		if f.Missing {
			files = append(files, f.File)
		}
	}
	return files
}

// Status is how things stood after the last look. The caller must not change it.
func (d *Directory) Status() Status {
	s := *d.status.Load()
	s.Loads, s.Failures = d.loads.Load(), d.failures.Load()
	return s
}

// Source is the file of a set. Where several are named like it, it is the one that was
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
