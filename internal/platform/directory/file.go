package directory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"paddock/fence"
	"paddock/fence/geojson"
)

// settling is the time after a modification within which a file may change again without a new
// modification time, because clocks of file systems are coarse. A file that was read within it is
// compared once more later, and by every reload.
const settling = 2 * time.Second

// errMoving reports a file that changed while it was read.
var errMoving = errors.New("it changed while it was read")

// file is a file of the directory, with its set.
type file struct {
	name string
	set  string // named after it; "": the name makes none

	// As of the last scan.
	listed   bool        // it was present
	info     os.FileInfo // nil: unavailable
	moved    bool        // it had changed since the scan before
	obstacle error       // why it cannot be read at all

	// As of the last reading.
	stamp   os.FileInfo // of the contents, even if they failed; nil: not read
	failed  error       // why it failed
	again   bool        // the failure may be temporary: retry at every scan
	read    time.Time
	content uint64 // hash of the served contents

	skipped, omitted int  // of the contents: features, findings
	restored         bool // restored from a snapshot
	written          bool // a snapshot was written, or tried

	served     *fence.Set // nil: none
	removed    bool       // a run before has removed the set of these contents
	missing    bool       // present at the start, and not served since
	generation uint64     // of the set after the reading
	loaded     time.Time

	fault fault // the reported failure
}

func newFile(name string) *file {
	return &file{name: name, set: fence.Slug(strings.TrimSuffix(name, path.Ext(name)))}
}

// same reports whether the stamps of a file are equal.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// look takes the file's stamp. A symbolic link stands for its target.
func (f *file) look(at string, there bool) {
	var info os.FileInfo
	f.obstacle = nil
	if there {
		info, f.obstacle = f.stat(at)
	}
	f.moved = there != f.listed || !same(f.info, info)
	f.listed, f.info = there, info
}

func (f *file) stat(at string) (os.FileInfo, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, f.named(err)
	}
	if !info.Mode().IsRegular() {
		return nil, f.named(errNotRegular)
	}
	return info, nil
}

// gone reports whether the file was missing at the last scan.
func (f *file) gone() bool { return !f.listed }

// changed reports whether the file may differ from the contents that were read.
func (f *file) changed(now time.Time) bool {
	return f.again || !same(f.stamp, f.info) || f.hasty(f.read) && !f.hasty(now)
}

// hasty reports whether a reading at that time may have missed a later change.
func (f *file) hasty(read time.Time) bool {
	return f.stamp != nil && read.Sub(f.stamp.ModTime()) < settling
}

// overtaken reports whether the set was changed or removed since it was read from the file.
func (f *file) overtaken(c *fence.Catalog) bool {
	set, ok := c.Get(f.set)
	return !ok || set != f.served || set.Snapshot().Generation() != f.generation
}

// trouble returns why the set differs from the file, or nil. An obstacle that may disappear with
// the next scan does not count yet.
func (f *file) trouble() error {
	if f.obstacle != nil && (!f.moved || f.fault.err != nil) {
		return f.obstacle
	}
	return f.failed
}

// load reads the file. It returns nil if the contents are served already, and keeps the reason of a
// failure.
func (f *file) load(o Options, m mode) (*content, error) {
	f.read, f.again = time.Now(), false
	at := filepath.Join(o.Dir, f.name)
	if (f.served != nil || f.removed) && (m == whenStill || !f.overtaken(o.Catalog)) && f.unchanged(at) {
		f.failed = nil
		return nil, nil
	}
	c, err := f.parse(at, o.Fences)
	if err != nil {
		return nil, f.fail(err)
	}
	return c, nil
}

// open opens the file and takes its stamp. It does not block on a pipe, even if the file has become
// one since the scan.
func (f *file) open(at string) (*os.File, error) {
	r, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f.stamp = info
	return r, nil
}

// unchanged reports whether the file holds the served contents.
func (f *file) unchanged(at string) bool {
	r, err := f.open(at)
	if err != nil {
		return false // parse will find the same error
	}
	defer r.Close()
	sum, err := hash(r)
	return err == nil && sum == f.content
}

// hash returns the hash of all bytes of r.
func hash(r io.Reader) (uint64, error) {
	h := xxhash.New()
	_, err := io.Copy(h, r)
	return h.Sum64(), err
}

// source returns the file's absolute path.
func (f *file) source(dir string) string {
	path, err := filepath.Abs(filepath.Join(dir, f.name))
	if err != nil { // the working directory is gone
		return filepath.Join(dir, f.name)
	}
	return path
}

// parse reads the present contents of the file.
func (f *file) parse(at string, o fence.Options) (*content, error) {
	r, err := f.open(at)
	if err != nil {
		f.again = true
		return nil, f.named(err)
	}
	defer r.Close()
	h := xxhash.New()
	c, err := geojson.ReadGeoJSON(io.TeeReader(r, h), f.name, o.Reading())
	if now, statErr := r.Stat(); statErr != nil || !same(f.stamp, now) {
		f.again = true
		return nil, f.named(errMoving)
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		f.again = true
		return nil, f.named(e)
	}
	if err != nil {
		return nil, err
	}
	return &content{file: f, collection: c, sum: h.Sum64()}, nil
}

// fail keeps the reason of a failure, and returns it.
func (f *file) fail(err error) error {
	f.failed = err
	return err
}

// serve records that readers see the content.
func (f *file) serve(c *content) {
	f.failed, f.content, f.loaded = nil, c.sum, time.Now()
	f.skipped, f.omitted = c.collection.Skipped, c.collection.Omitted
	f.restored, f.written = c.restored, c.restored
	f.served, f.removed, f.generation, f.missing = c.set, false, c.snap.Generation(), false
}

// named adds the file's name to an error. The path in the system's error is left out, because
// clients see the text.
func (f *file) named(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// content is the content of a file before it is published.
type content struct {
	file       *file
	collection *geojson.Collection
	sum        uint64 // hash of the file

	set  *fence.Set
	snap *fence.Snapshot // the state of set with this content

	restored bool // from a snapshot
}

// makeSet makes a set of the content, which readers do not see yet.
func (c *content) makeSet(o fence.Options) error {
	if c.set != nil {
		return nil // from a snapshot
	}
	set, err := fence.NewSet(c.file.set, o)
	if err != nil {
		return c.file.named(err)
	}
	snap, err := set.Replace(c.collection)
	if err != nil {
		return c.file.named(err)
	}
	c.set, c.snap = set, snap
	return nil
}

// report returns the findings in the content.
func (c *content) report() fence.SetReport {
	return fence.SetReport{
		Name: c.set.Name(), File: c.file.name, Stats: c.snap.Stats(),
		Skipped: c.collection.Skipped, Findings: c.snap.Findings(), Omitted: c.collection.Omitted,
	}
}
