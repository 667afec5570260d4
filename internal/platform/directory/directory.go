// Package directory keeps the sets of a catalog what the GeoJSON files of a
// directory say: one set for each file whose name ends in "json", not recursive.
//
// [Directory.Run] looks at the directory again and again: at the name, size, time of
// change and identity of each file, which works on every file system and for every
// way to write a file. A file is read once it has been still from one look to the
// next, and all others with it, so that neither an editor nor a copy is met half-way.
// What a look reads becomes visible at one moment, all sets at once
// (fence.Catalog.Apply). Content that is served already is not read again, whatever
// its times say.
//
// What cannot be read costs nobody anything: the set stays as it was, and
// [Directory.Sources] says why until the file is mended.
package directory

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence"
)

const (
	// DefaultInterval is the time between two looks.
	DefaultInterval = time.Second
	// share is how many times longer a pause is than the look before it, at least:
	// looking at a directory of very many files takes at most 5 % of a core.
	share = 20
	// patience is how many looks in a row may find something moving before the rest is
	// read all the same: one file that never rests must not hold up the others.
	patience = 10
)

// Options configure Open.
type Options struct {
	Dir       string
	Fences    fence.Options  // of the sets
	Catalog   *fence.Catalog // that holds the sets, and may hold others
	Logger    *slog.Logger   // nil discards
	Interval  time.Duration  // between two looks; 0 is DefaultInterval
	Unwatched bool           // only Reload looks
	Partial   bool           // Open leaves out files that cannot be served, instead of failing
	Snapshots string         // directory where snapshots of sets are kept for the next start; "" keeps none
}

// Directory is a directory and what was read from it. Safe for concurrent use.
type Directory struct {
	o   Options
	log *slog.Logger

	mu     sync.Mutex       // held by whoever reads the directory; guards what follows
	files  map[string]*file // by name: those that are there, and those that are served
	moving int              // looks in a row that found something moving
	kept   *snapshots       // nil = none
	fault  fault            // of the directory as a whole

	status          atomic.Pointer[Status]
	loads, failures atomic.Uint64 // of files, since the start
}

// Open reads the directory into the catalog. A directory without a file is ErrNoSets. One
// file that cannot be read is an error here, as are two that have one name as sets; with
// Options.Partial the others are served, and [Status.Missing] counts those. After an error
// the catalog is as it was.
func Open(o Options) (*Directory, error) {
	d := &Directory{o: o, log: o.Logger, files: map[string]*file{}}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.o.Interval == 0 {
		d.o.Interval = DefaultInterval
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.list(); err != nil {
		return nil, err
	}
	for _, f := range d.sorted() {
		f.missing = true
		if f.obstacle != nil && !o.Partial {
			return nil, f.obstacle
		}
		f.moved = false // as in Reload
	}
	d.kept = openSnapshots(o.Snapshots, d.log)
	contents, due := d.remember(d.due(always))
	read, err := d.read(due, always)
	contents = append(contents, read...)
	if err == nil || o.Partial {
		err = d.publish(contents, nil)
	}
	if err != nil && !o.Partial {
		return nil, err
	}
	d.tell()
	return d, nil
}

// remember makes contents of snapshots, and gives the files that must be read.
func (d *Directory) remember(due []*file) (contents []*content, left []*file) {
	for _, f := range due {
		var c *content
		if d.kept != nil {
			f.read = time.Now()
			c = d.kept.open(f, f.source(d.o.Dir), d.o.Fences)
		}
		if c == nil {
			left = append(left, f)
			continue
		}
		contents = append(contents, c)
	}
	return contents, left
}

// keep writes snapshots of what was read.
func (d *Directory) keep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil {
		return
	}
	wrote := false
	for _, f := range d.sorted() {
		if f.written || f.served == nil || f.gone() {
			continue
		}
		f.written, wrote = true, true // or never
		err := d.kept.write(f, f.source(d.o.Dir), d.o.Fences)
		if err != nil && !errors.Is(err, fence.ErrEdited) {
			d.log.Warn("no snapshot of a set", "file", f.name, "set", f.set, "error", err)
		}
	}
	if wrote {
		d.kept.prune()
	}
}

// Run looks at the directory until ctx ends, and reloads for each signal. What Open has read
// from files it keeps as snapshots.
func (d *Directory) Run(ctx context.Context, reload <-chan os.Signal) error {
	d.keep()
	pause := time.NewTimer(d.o.Interval)
	defer pause.Stop()
	looks := pause.C
	if d.o.Unwatched {
		looks = nil
	}
	for {
		select {
		case <-looks:
			begun := time.Now()
			d.look()
			pause.Reset(max(d.o.Interval, share*time.Since(begun)))
		case s := <-reload:
			d.log.Info("reloading; fences added at run time will be gone", "signal", s.String())
			if err := d.Reload(); err != nil {
				d.log.Error("reload incomplete; what failed stays as it was", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// look reads what has changed and is still now.
func (d *Directory) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tell()
	if d.list() != nil {
		return
	}
	if d.moving++; d.moved() && d.moving < patience {
		return
	}
	d.moving = 0
	_ = d.load(whenStill) // tell says what failed
}

// Reload makes the sets what the files say now, without waiting for them to be still.
// It reads every file, whatever its size and time say. What was added to its set at run
// time is gone. The error joins what could not be read.
func (d *Directory) Reload() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tell()
	if err := d.list(); err != nil {
		return err
	}
	d.moving = 0
	err := d.load(always)
	for _, f := range d.sorted() {
		f.moved = false // it is judged as it is
		err = errors.Join(err, f.obstacle)
	}
	return err
}

// load makes the sets what the files say, and removes those of the files that have gone.
func (d *Directory) load(m mode) error {
	contents, failed := d.read(d.due(m), m)
	return errors.Join(failed, d.publish(contents, d.gone(m)))
}

// read reads files. One that fails keeps the reason; the error joins them.
func (d *Directory) read(due []*file, m mode) (contents []*content, failed error) {
	for _, f := range due {
		c, err := f.load(d.o, m)
		failed = errors.Join(failed, err)
		if c != nil {
			contents = append(contents, c)
		}
	}
	return contents, failed
}

// publish makes what was read visible at one moment.
func (d *Directory) publish(contents []*content, gone []*file) error {
	if len(contents) == 0 && len(gone) == 0 {
		return nil
	}
	begun := time.Now()
	ch := fence.Change{Remove: d.orphans(gone)}
	var served, replaced []*content
	var failed error
	for _, c := range contents {
		set, ok := d.o.Catalog.Get(c.file.set)
		if !ok || c.set != nil {
			if err := c.makeSet(d.o.Fences); err != nil {
				failed = errors.Join(failed, c.file.fail(err))
				continue
			}
			served, ch.Put = append(served, c), append(ch.Put, c.set)
			continue
		}
		c.set, replaced = set, append(replaced, c)
		ch.Replace = append(ch.Replace, fence.Replacement{Set: set, Collection: c.collection})
	}
	snaps, err := d.o.Catalog.Apply(ch)
	if err != nil { // ErrFull: a set has had four billion fences
		for _, c := range replaced {
			err = errors.Join(err, c.file.fail(c.file.named(err)))
		}
		return err
	}
	for i, c := range replaced {
		c.snap = snaps[i]
	}
	served = append(served, replaced...)
	d.published(served, gone)
	d.log.Info("fences loaded", "sets", len(served), "removed", len(ch.Remove), "took", time.Since(begun))
	return failed
}

// published notes what readers see now.
func (d *Directory) published(contents []*content, gone []*file) {
	var report fence.Report
	for _, c := range contents {
		c.file.serve(c)
		report.Sets = append(report.Sets, c.report())
		d.loads.Add(1)
	}
	for _, f := range gone {
		d.forget(f)
	}
	report.Log(d.log)
}

// tell tells the log what has begun to fail or ceased to, and readers how things stand.
func (d *Directory) tell() {
	now := time.Now()
	switch d.fault.turn() {
	case begins:
		d.failures.Add(1)
		d.log.Error("directory not readable; all sets stay as they are", "dir", d.o.Dir, "error", d.fault.err)
	case ends:
		d.log.Info("directory readable again", "dir", d.o.Dir)
	}
	s := &Status{Err: d.fault.err, Since: d.fault.since, bySet: map[string]int{}}
	for _, f := range d.sorted() {
		f.fault.set(f.trouble(), now)
		switch f.fault.turn() {
		case begins:
			d.failures.Add(1)
			d.log.Error("file refused; what its set holds stays", "file", f.name, "set", f.set, "error", f.fault.err)
		case ends:
			d.log.Info("file mended", "file", f.name, "set", f.set)
		}
		s.add(Source{File: f.name, Set: f.set, Loaded: f.loaded, Missing: f.missing, Err: f.fault.err, Since: f.fault.since})
	}
	d.status.Store(s)
}
