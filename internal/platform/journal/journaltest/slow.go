package journaltest

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"paddock/internal/platform/journal"
)

// Slow returns options with which each write to the disk takes this time longer until it is
// durable.
func Slow(o journal.Options, wait time.Duration) journal.Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.FS = slowFS{o.FS, wait}
	return o
}

type slowFS struct {
	vfs.FS
	wait time.Duration
}

// Create implements [vfs.FS].
func (s slowFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, category)
	return s.slow(f, err)
}

// ReuseForWrite implements [vfs.FS].
func (s slowFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.ReuseForWrite(oldname, newname, category)
	return s.slow(f, err)
}

// Unwrap implements [vfs.FS].
func (s slowFS) Unwrap() vfs.FS { return s.FS }

func (s slowFS) slow(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return slowFile{f, s.wait}, nil
}

// slowFile is a file whose writes take long until they are durable.
type slowFile struct {
	vfs.File
	wait time.Duration
}

// Sync implements [vfs.File].
func (f slowFile) Sync() error {
	<-time.After(f.wait)
	return f.File.Sync()
}

// SyncData implements [vfs.File].
func (f slowFile) SyncData() error {
	<-time.After(f.wait)
	return f.File.SyncData()
}
