// Package directory keeps the sets of a catalog equal to the GeoJSON files of a directory: one set
// for each file whose name ends in "json", without subdirectories.
//
// [Directory.Run] scans the directory periodically. It compares the name, size, modification time
// and identity of each file, which works on every file system and for every way to write a file. It
// waits until no file has changed between two scans and then reads all changed files, so that it
// does not read a file that an editor or a copy has written only in part. All sets that it reads
// become visible at once (fence.Catalog.Apply). A file whose contents are served already is not
// parsed again, whatever its times are.
//
// A file that cannot be read changes nothing: its set stays as it was, and [Directory.Status] has
// the reason until the file is mended.
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
	// DefaultInterval is the default time between two scans.
	DefaultInterval = time.Second
	// share is the least ratio of the pause to the duration of the scan before it, so that scans of
	// a very large directory take at most 5 % of a core.
	share = 20
	// patience is the number of scans in a row that may find a file changing before the other files
	// are read anyway, so that one file that changes constantly does not block them.
	patience = 10
)

// Options configure Open.
type Options struct {
	Dir       string
	Fences    fence.Options  // of the sets
	Catalog   *fence.Catalog // holds the sets, and may hold others
	Logger    *slog.Logger   // nil discards
	Interval  time.Duration  // between two scans; 0 is DefaultInterval
	Unwatched bool           // do not scan periodically; only Reload reads
	Partial   bool           // let Open skip files that cannot be served, instead of failing
	Snapshots string         // directory of snapshots of sets for the next start; "" keeps none

	// Reloading is called by Run for each signal, before the files are read. Nil: no call.
	Reloading func()

	// Record is [Directory.Record] of the run that the catalog's sets are of; nil: there was none.
	// Publishing is locked while the catalog and the record change together; nil: no lock.
	Record     []byte
	Publishing sync.Locker
	// Reloaded is called by Run after the files were read for a signal. Nil: no call.
	Reloaded func()
	// Changing is called before sets of these names are served, or removed, and its result after it
	// with the error, if any. Nil: none.
	Changing func(put, removed []string) func(error)
}

// Directory is a directory and the sets that were read from it. It is safe for concurrent use.
type Directory struct {
	o   Options
	log *slog.Logger

	mu     sync.Mutex       // held while the directory is read; guards the fields below
	files  map[string]*file // by name: present files, and files that are served
	moving int              // scans in a row that found a changing file
	kept   *snapshots       // nil = none
	fault  fault            // of the directory as a whole

	status          atomic.Pointer[Status]
	record          atomic.Pointer[record]
	loads, failures atomic.Uint64 // of files, since the start
}

// Open reads the directory into the catalog. A directory without a file is ErrNoSets. A file that
// cannot be read is an error, and so are two files with one name as sets; with Options.Partial the
// other files are served, and [Status.Missing] counts the failed ones. After an error the catalog
// is unchanged.
func Open(o Options) (*Directory, error) {
	d := &Directory{o: o, log: o.Logger, files: map[string]*file{}}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.o.Publishing == nil {
		d.o.Publishing = new(sync.Mutex)
	}
	if d.o.Reloaded == nil {
		d.o.Reloaded = func() {}
	}
	if d.o.Changing == nil {
		d.o.Changing = func(_, _ []string) func(error) { return func(error) {} }
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
	d.note()
	contents, due := d.remember(d.recall(d.due(always)))
	read, err := d.read(context.Background(), due, always)
	contents = append(contents, read...)
	if err == nil || o.Partial {
		err = d.publish(context.Background(), contents, d.gone(always))
	}
	if err != nil && !o.Partial {
		return nil, err
	}
	d.note()
	d.tell()
	return d, nil
}

// remember restores contents from snapshots, and returns the files that have to be read. A set that
// is in the catalog gets the new contents of its file, and stays the same set.
func (d *Directory) remember(due []*file) (contents []*content, left []*file) {
	for _, f := range due {
		var c *content
		if _, there := d.o.Catalog.Get(f.set); d.kept != nil && !there {
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

// keep writes snapshots of the sets that were read.
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
		f.written, wrote = true, true // even if it fails
		err := d.kept.write(f, f.source(d.o.Dir), d.o.Fences)
		if err != nil && !errors.Is(err, fence.ErrEdited) {
			d.log.Warn("no snapshot of a set", "file", f.name, "set", f.set, "error", err)
		}
	}
	if wrote {
		d.kept.prune()
	}
}

// Run scans the directory until ctx ends, and reloads for each signal. It first writes snapshots of
// the files that Open has read.
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
			d.look(ctx)
			pause.Reset(max(d.o.Interval, share*time.Since(begun)))
		case s := <-reload:
			d.log.Info("reloading; fences added at run time will be lost", "signal", s.String())
			if d.o.Reloading != nil {
				d.o.Reloading()
			}
			if err := d.Reload(ctx); err != nil && ctx.Err() == nil {
				d.log.Error("reload incomplete; what failed stays as it was", "error", err)
			}
			d.o.Reloaded()
		case <-ctx.Done():
			return nil
		}
	}
}

// look scans the directory, and reads changed files once no file is changing.
func (d *Directory) look(ctx context.Context) {
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
	_ = d.load(ctx, whenStill) // tell reports the failures
}

// Reload makes the sets equal to the files at once. It reads every file, whatever its size and time
// are. Fences that were added at run time are lost. The error joins the failures. If ctx ends
// before all files are read, the sets stay as they are, and the error is that of ctx.
func (d *Directory) Reload(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tell()
	if err := d.list(); err != nil {
		return err
	}
	d.moving = 0
	err := d.load(ctx, always)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, f := range d.sorted() {
		f.moved = false // it was read in its present state
		err = errors.Join(err, f.obstacle)
	}
	return err
}

// load makes the sets equal to the files, and removes the sets of missing files.
func (d *Directory) load(ctx context.Context, m mode) error {
	contents, failed := d.read(ctx, d.due(m), m)
	return errors.Join(failed, d.publish(ctx, contents, d.gone(m)))
}

// read reads files until ctx ends. A failed file keeps the reason; the error joins the reasons.
func (d *Directory) read(ctx context.Context, due []*file, m mode) (contents []*content, failed error) {
	for _, f := range due {
		if ctx.Err() != nil {
			break
		}
		c, err := f.load(d.o, m)
		failed = errors.Join(failed, err)
		if c != nil {
			contents = append(contents, c)
		}
	}
	return contents, failed
}

// publish makes the contents visible at once, unless ctx ends before.
func (d *Directory) publish(ctx context.Context, contents []*content, gone []*file) error {
	if len(contents) == 0 && len(gone) == 0 {
		return nil
	}
	begun := time.Now()
	ch := fence.Change{Remove: d.orphans(gone)}
	var served, replaced []*content
	var failed error
	for _, c := range contents {
		if ctx.Err() != nil {
			return ctx.Err()
		}
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
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.o.Publishing.Lock()
	defer d.o.Publishing.Unlock()
	changed := d.o.Changing(append(setNames(served), setNames(replaced)...), ch.Remove)
	snaps, err := d.o.Catalog.Apply(ch)
	changed(err)
	if err != nil { // ErrFull: the set has used up its four billion refs
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

func setNames(contents []*content) (names []string) {
	for _, c := range contents {
		names = append(names, c.set.Name())
	}
	return names
}

// published records the contents that readers see now.
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
	d.note()
	report.Log(d.log)
}

// tell logs failures that have begun or ended, and publishes the status.
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
			d.log.Error("file refused; its set is unchanged", "file", f.name, "set", f.set, "error", f.fault.err)
		case ends:
			d.log.Info("file mended", "file", f.name, "set", f.set)
		}
		s.add(Source{File: f.name, Set: f.set, Loaded: f.loaded, Missing: f.missing, Err: f.fault.err, Since: f.fault.since})
	}
	d.status.Store(s)
}
