package fencebench

import (
	"os"
	"runtime"
	"time"

	"paddock/bench/internal/harness"
	"paddock/bench/internal/measure"
	"paddock/fence"
)

// mostBuilds is how many builds a window has at most: what precedes each is not
// timed, and takes longer.
const mostBuilds = 5

// repeat calls prepare and then what it returns, which is timed, until the timed part
// has taken the window.
func repeat(o measure.Options, prepare func() (timed func() error, err error)) (*measure.Measurement, error) {
	var took time.Duration
	ops := int64(0)
	for ops == 0 || took < o.Duration && ops < mostBuilds {
		timed, err := prepare()
		if err != nil {
			return nil, err
		}
		runtime.GC() // what the one before has left is not this one's work
		began := time.Now()
		if err := timed(); err != nil {
			return nil, err
		}
		took += time.Since(began)
		ops++
	}
	return within(ops, took, map[harness.Metric]float64{
		harness.Millis: float64(took.Microseconds()) / 1e3 / float64(ops),
	}), nil
}

// build makes the index of rings that have been read.
func (s *scene) build(contender string, o measure.Options) (*measure.Measurement, error) {
	return repeat(o, func() (func() error, error) {
		if newIndex, ok := peers[contender]; ok {
			return func() error { newIndex(s.fences); return nil }, nil
		}
		c, err := s.read()
		if err != nil {
			return nil, err
		}
		return func() error { _, err := newSet(contender, c); return err }, nil
	})
}

// fromFile makes the set of its file as it is on the disk, or in its cache.
func (s *scene) fromFile(contender string, o measure.Options) (*measure.Measurement, error) {
	return repeat(o, func() (func() error, error) {
		return func() error {
			f, err := os.Open(s.file)
			if err != nil {
				return err
			}
			defer f.Close()
			c, err := fence.ReadGeoJSON(f, s.file, fence.ReadOptions{})
			if err != nil {
				return err
			}
			_, err = newSet(contender, c)
			return err
		}, nil
	})
}

// memory is what the heap grows by for the fences and their index, by ring edge: all
// but ids and properties, which the plain set does not have.
func (s *scene) memory(contender string) (*measure.Measurement, error) {
	before := heap()
	began := time.Now()
	var kept any
	if newIndex, ok := peers[contender]; ok {
		kept = newIndex(s.fences)
	} else {
		c, err := s.read()
		if err != nil {
			return nil, err
		}
		set, err := newSet(contender, c)
		if err != nil {
			return nil, err
		}
		set.Settle()
		kept = set
	}
	took := time.Since(began)
	after := heap()
	runtime.KeepAlive(kept)
	return within(1, took, map[harness.Metric]float64{
		harness.EdgeBytes: float64(after-before) / float64(s.edges),
	}), nil
}

// heap is what is in use after all garbage has gone.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
