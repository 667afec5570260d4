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
)

// settling is how long after its time of change a file may change again without
// showing it: clocks of file systems are coarse. What was read earlier is compared
// once more after it, and by every reload.
const settling = 2 * time.Second

// errMoving is wrapped where a file changed while it was read.
var errMoving = errors.New("it changed while it was read")

// file is a file of the directory, and what was made of it.
type file struct {
	name string
	set  string // named after it; "" = its name makes none

	// As of the last look.
	listed   bool        // it was there
	info     os.FileInfo // nil = not to be had
	moved    bool        // it was not as at the look before
	obstacle error       // why it cannot even be tried

	// As of the last reading.
	stamp   os.FileInfo // of what was read, well or not; nil = nothing
	failed  error       // why nothing came of it
	again   bool        // the failure may go by itself: try at every look
	read    time.Time
	content uint64 // hash of what is served

	skipped, omitted int  // of the content: features, findings
	restored         bool // it came of a snapshot
	written          bool // there is a snapshot, or there will be none

	served     *fence.Set // nil = nothing
	missing    bool       // it was there at the start, and nothing was served since
	generation uint64     // of that set as it was read
	loaded     time.Time

	fault fault // what of all this is told
}

func newFile(name string) *file {
	return &file{name: name, set: fence.Slug(strings.TrimSuffix(name, path.Ext(name)))}
}

// same reports whether nothing shows that a file has changed.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// look takes the file's stamp. A symbolic link stands for what it leads to.
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

// gone reports whether the file was not there at the last look.
func (f *file) gone() bool { return !f.listed }

// changed reports whether there is something else to read than what was read.
func (f *file) changed(now time.Time) bool {
	return f.again || !same(f.stamp, f.info) || f.hasty(f.read) && !f.hasty(now)
}

// hasty reports whether a reading at that time may have missed a later change.
func (f *file) hasty(read time.Time) bool {
	return f.stamp != nil && read.Sub(f.stamp.ModTime()) < settling
}

// overtaken reports whether the set is not what was read, since somebody changed or
// removed it.
func (f *file) overtaken(c *fence.Catalog) bool {
	set, ok := c.Get(f.set)
	return !ok || set != f.served || set.Snapshot().Generation() != f.generation
}

// trouble is why the set is not what the file holds; nil if it is. An obstacle that may go
// with the next look is none yet.
func (f *file) trouble() error {
	if f.obstacle != nil && (!f.moved || f.fault.err != nil) {
		return f.obstacle
	}
	return f.failed
}

// load reads the file. It gives nothing where the content is the one that is served, and
// keeps the reason where it fails.
func (f *file) load(o Options, m mode) (*content, error) {
	f.read, f.again = time.Now(), false
	at := filepath.Join(o.Dir, f.name)
	if f.served != nil && (m == whenStill || !f.overtaken(o.Catalog)) && f.unchanged(at) {
		f.failed = nil
		return nil, nil
	}
	c, err := f.parse(at, o.Fences)
	if err != nil {
		return nil, f.fail(err)
	}
	return c, nil
}

// open opens the file and takes the stamp of what will be read. It does not wait for
// anything but a disk, whatever the file has become since the look.
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

// unchanged reports whether the file holds what is served.
func (f *file) unchanged(at string) bool {
	r, err := f.open(at)
	if err != nil {
		return false // parse will find the same
	}
	defer r.Close()
	sum, err := hash(r)
	return err == nil && sum == f.content
}

// hash is that of all that r gives.
func hash(r io.Reader) (uint64, error) {
	h := xxhash.New()
	_, err := io.Copy(h, r)
	return h.Sum64(), err
}

// source is the file's whole path.
func (f *file) source(dir string) string {
	path, err := filepath.Abs(filepath.Join(dir, f.name))
	if err != nil { // the working directory is gone
		return filepath.Join(dir, f.name)
	}
	return path
}

// parse reads what the file holds now.
func (f *file) parse(at string, o fence.Options) (*content, error) {
	r, err := f.open(at)
	if err != nil {
		f.again = true
		return nil, f.named(err)
	}
	defer r.Close()
	h := xxhash.New()
	c, err := fence.ReadGeoJSON(io.TeeReader(r, h), f.name, o.Reading())
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

// fail keeps why nothing came of the file, and returns it.
func (f *file) fail(err error) error {
	f.failed = err
	return err
}

// serve notes that the content is what readers see.
func (f *file) serve(c *content) {
	f.failed, f.content, f.loaded = nil, c.sum, time.Now()
	f.skipped, f.omitted = c.collection.Skipped, c.collection.Omitted
	f.restored, f.written = c.restored, c.restored
	f.served, f.generation, f.missing = c.set, c.snap.Generation(), false
}

// named says which file an error is about. The operating system's words repeat the
// path, which is nobody's business but the operator's.
func (f *file) named(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// content is what was read from a file, on its way to readers.
type content struct {
	file       *file
	collection *fence.Collection
	sum        uint64 // hash of the file

	set  *fence.Set
	snap *fence.Snapshot // of the set, with this content

	restored bool // it came of a snapshot
}

// makeSet makes a set of the content, which no reader sees yet.
func (c *content) makeSet(o fence.Options) error {
	if c.set != nil {
		return nil // it came of a snapshot
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

// report tells what was found in the content.
func (c *content) report() fence.SetReport {
	return fence.SetReport{
		Name: c.set.Name(), File: c.file.name, Stats: c.snap.Stats(),
		Skipped: c.collection.Skipped, Findings: c.snap.Findings(), Omitted: c.collection.Omitted,
	}
}
