package journal

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// storeLog passes the store's reports on.
type storeLog struct {
	*slog.Logger
	d     *Disk
	fatal func(error)
}

// Infof implements the store's Logger.
func (l storeLog) Infof(format string, args ...any) {
	l.Debug("journal store", "report", fmt.Sprintf(format, args...))
}

// Errorf implements the store's Logger.
func (l storeLog) Errorf(format string, args ...any) {
	l.Error("journal store", "report", fmt.Sprintf(format, args...))
}

// Fatalf implements the store's Logger. It does not return.
func (l storeLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf("%w: %s: %s", ErrFailed, l.d.dir, fmt.Sprintf(format, args...))
	l.d.fail(err)
	l.fatal(err)
}

// logFS is the file system of an open store. It reports the first failed write of the store's log
// to Fatalf, which does not return. Otherwise the store would panic when it next writes or begins a
// log, and at some places in a way that no caller can recover from.
type logFS struct {
	vfs.FS
	log  storeLog
	live atomic.Bool // between Open and Close, which return errors
}

// Unwrap implements [vfs.FS].
func (f *logFS) Unwrap() vfs.FS { return f.FS }

// Create implements [vfs.FS].
func (f *logFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	return f.watched(name, file, err)
}

// ReuseForWrite implements [vfs.FS].
func (f *logFS) ReuseForWrite(from, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, name, category)
	return f.watched(name, file, err)
}

func (f *logFS) watched(name string, file vfs.File, err error) (vfs.File, error) {
	if filepath.Ext(name) != ".log" {
		return file, err
	}
	if f.check(err) != nil {
		return nil, err
	}
	return &logFile{file, f}, nil
}

// check reports an error, and returns it while the store is not open.
func (f *logFS) check(err error) error {
	if err != nil && f.live.Load() {
		f.log.Fatalf("the log: %v", err)
	}
	return err
}

// logFile is a file of the store's log.
type logFile struct {
	vfs.File
	fs *logFS
}

// Write implements [vfs.File].
func (f *logFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.fs.check(err)
}

// Sync implements [vfs.File].
func (f *logFile) Sync() error { return f.fs.check(f.File.Sync()) }

// SyncData implements [vfs.File].
func (f *logFile) SyncData() error { return f.fs.check(f.File.SyncData()) }

// SyncTo implements [vfs.File].
func (f *logFile) SyncTo(length int64) (full bool, err error) {
	full, err = f.File.SyncTo(length)
	return full, f.fs.check(err)
}

// Close implements [vfs.File].
func (f *logFile) Close() error { return f.fs.check(f.File.Close()) }
