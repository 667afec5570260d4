package directory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"paddock/fence"
	"paddock/fence/geojson"
)

const (
	// maxSnapshots bounds the snapshots of a directory; the least recently used are removed.
	maxSnapshots = 256
	// maxSnapshot bounds one snapshot, in bytes; larger files are not read.
	maxSnapshot = 16 << 30

	snapshotSuffix = ".fences"
	newSnapshot    = ".new-" // the prefix of unfinished files
)

// snapshots stores sets on disk, so that the next start need neither parse nor index their files:
// images of package fence in a directory of their own, one for each file. They only save time. A
// snapshot that is missing, damaged, of another version or of other contents is refused, and
// written again.
//
// A snapshot is read, not mapped: if a mapped file were truncated, the process would end with
// SIGBUS.
type snapshots struct {
	dir string
	log *slog.Logger
}

// origin identifies the source of a snapshot. The file's times are not part of it: a copy, or a
// system image, may have the same times and other contents.
type origin struct {
	Path    string
	Size    int64
	Sum     uint64 // hash of the content
	Skipped int
	Omitted int
}

// SnapshotDir returns Options.Snapshots for a setting: "" is a directory in the user's cache, if
// there is one; "off" is none.
func SnapshotDir(setting string) string {
	switch setting {
	case "off":
		return ""
	case "":
	default:
		return setting
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "paddock", "snapshots")
}

// openSnapshots prepares the directory. It returns nil if dir is "" or not writable.
func openSnapshots(dir string, log *slog.Logger) *snapshots {
	if dir == "" {
		return nil
	}
	err := os.MkdirAll(dir, 0o700)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(dir, newSnapshot)
	}
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		log.Info("no snapshots of sets: the directory is not writable", "dir", dir, "error", err)
		return nil
	}
	return &snapshots{dir: dir, log: log}
}

// at returns the path of a file's snapshot. Its name contains the set, for people, and a hash of
// the file and the options.
func (s *snapshots) at(source string, set string, o fence.Options) string {
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%t", source, o.Kind, o.Boundary, o.Antimeridian, o.IDProperty, o.Strict)
	return filepath.Join(s.dir, fmt.Sprintf("%.64s-%016x%s", set, xxhash.Sum64String(key), snapshotSuffix))
}

// open returns the content of a file from its snapshot, or nil if there is no valid one.
func (s *snapshots) open(f *file, source string, o fence.Options) *content {
	at := s.at(source, f.set, o)
	c, err := s.use(at, f, source, o)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(at, now, now) // the snapshot was used now: see prune
		return c
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.log.Info("snapshot refused; the file is read", "file", f.name, "snapshot", at, "reason", err)
	}
	return nil
}

func (s *snapshots) use(at string, f *file, source string, o fence.Options) (*content, error) {
	r, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err == nil {
		err = private(info)
	}
	if err != nil {
		return nil, err
	}
	if size := info.Size(); size <= 0 || size > maxSnapshot {
		return nil, fmt.Errorf("it has %d bytes", size)
	}
	image := make([]byte, info.Size())
	if _, err := io.ReadFull(r, image); err != nil {
		return nil, err
	}
	return f.fromImage(image, source, o)
}

var (
	// errStale refuses a snapshot of other contents.
	errStale = errors.New("the file has changed since it was made")
	// errExpired refuses a snapshot with a fence that has expired: the file is read without it.
	errExpired = errors.New("a fence has expired since it was made")
)

// fromImage makes content from an image, if the image is of the file's present contents.
func (f *file) fromImage(image []byte, source string, o fence.Options) (*content, error) {
	r, err := f.open(source)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var (
		sum    uint64
		failed error
		beside sync.WaitGroup
	)
	beside.Go(func() { sum, failed = hash(r) })
	set, note, err := fence.OpenImage(f.set, image, o)
	beside.Wait()
	if err != nil {
		return nil, err
	}
	var from origin
	if err := json.Unmarshal(note, &from); err != nil {
		return nil, fmt.Errorf("its note: %w", err)
	}
	if failed != nil || from.Path != source || from.Size != f.stamp.Size() || from.Sum != sum {
		return nil, errStale
	}
	if ends := set.Snapshot().NextExpiry(); o.Now != nil && !ends.IsZero() && !o.Now().Before(ends) {
		return nil, errExpired
	}
	return &content{
		file: f, collection: &geojson.Collection{Skipped: from.Skipped, Omitted: from.Omitted}, sum: from.Sum,
		set: set, snap: set.Snapshot(), restored: true,
	}, nil
}

// write writes the snapshot of a set. The error is fence.ErrEdited for a set that was changed at
// run time.
func (s *snapshots) write(f *file, source string, o fence.Options) (err error) {
	note, err := json.Marshal(origin{
		Path: source, Size: f.stamp.Size(), Sum: f.content, Skipped: f.skipped, Omitted: f.omitted,
	})
	if err != nil {
		return err
	}
	w, err := os.CreateTemp(s.dir, newSnapshot)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(w.Name()) // the earlier error matters more
		}
	}()
	err = f.served.WriteImage(w, note)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := os.Rename(w.Name(), s.at(source, f.set, o)); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// prune removes the least recently used snapshots beyond the bound, and unfinished files of a
// crash.
func (s *snapshots) prune() {
	entries, _ := os.ReadDir(s.dir)
	type kept struct {
		name string
		used time.Time
	}
	var all []kept
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasSuffix(e.Name(), snapshotSuffix):
			all = append(all, kept{e.Name(), info.ModTime()})
		case strings.HasPrefix(e.Name(), newSnapshot) && time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(filepath.Join(s.dir, e.Name())) // the next prune tries again
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.used.Compare(a.used) })
	for _, k := range all[min(len(all), maxSnapshots):] {
		_ = os.Remove(filepath.Join(s.dir, k.name))
	}
}
