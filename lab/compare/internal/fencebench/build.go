package fencebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/platform/directory"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
)

// mostBuilds bounds the builds of a window: the preparation of each is not timed, and takes longer.
const mostBuilds = 5

// repeat calls prepare and then the function that it returns, which is timed, until the timed part
// has taken the window.
func repeat(o measure.Options, prepare func() (timed func() error, err error)) (*measure.Measurement, error) {
	var took time.Duration
	ops := int64(0)
	for ops == 0 || took < o.Duration && ops < mostBuilds {
		timed, err := prepare()
		if err != nil {
			return nil, err
		}
		runtime.GC() // the garbage of the build before is not part of this one
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
		if newIndex, ok := builders[contender]; ok {
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
			c, err := geojson.ReadGeoJSON(f, s.file, geojson.ReadOptions{})
			if err != nil {
				return err
			}
			_, err = newSet(contender, c)
			return err
		}, nil
	})
}

// fromSnapshot starts from the snapshot of the set's file, as a service does that is
// started again.
func (s *scene) fromSnapshot(temp string, o measure.Options) (*measure.Measurement, error) {
	dir, snapshots := filepath.Join(temp, "snapshot-of"), filepath.Join(temp, "snapshots")
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.MkdirAll(snapshots, 0o700)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, filepath.Base(s.file))
	if err := os.WriteFile(file, text, 0o666); err != nil {
		return nil, err
	}
	past := time.Now().Add(-time.Hour) // a file that may still change has no snapshot
	if err := os.Chtimes(file, past, past); err != nil {
		return nil, err
	}
	open := func() (*directory.Directory, error) {
		return directory.Open(directory.Options{
			Dir: dir, Fences: fence.Options{Kind: fence.DefaultKind}, Catalog: new(fence.Catalog),
			Unwatched: true, Snapshots: snapshots,
		})
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Run(over, nil); err != nil { // writes the snapshot first
		return nil, err
	}
	if left, err := filepath.Glob(filepath.Join(snapshots, "*")); err != nil || len(left) != 1 {
		return nil, fmt.Errorf("%d snapshots were written, instead of one", len(left))
	}
	return repeat(o, func() (func() error, error) {
		return func() error { _, err := open(); return err }, nil
	})
}

// memory returns the growth of the heap for the fences and their index, by ring edge: without ids
// and properties, which the plain set does not have.
func (s *scene) memory(contender string) (*measure.Measurement, error) {
	before := heap()
	began := time.Now()
	var kept any
	if newIndex, ok := builders[contender]; ok {
		kept = newIndex(s.fences)
	} else {
		set, err := s.newSet(contender)
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

// heap returns the size of the heap without garbage.
func heap() int64 {
	runtime.GC()
	runtime.GC() // objects that finalizers and pools kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
