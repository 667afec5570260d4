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
)

const (
	// maxSnapshots bounds the snapshots of a directory; those that were not used for longest go.
	maxSnapshots = 256
	// maxSnapshot bounds one, in bytes: more is not read.
	maxSnapshot = 16 << 30

	snapshotSuffix = ".fences"
	newSnapshot    = ".new-" // how names of those begin that are being written
)

// snapshots are sets as they came of their files, written down so that the next start need
// neither read nor index them: images as package fence makes them, in a directory of their
// own, one for each file. They save time and nothing else: one that is missing, damaged, of
// another version or of what the file no longer holds is refused, and made anew.
//
// A snapshot is read whole, not mapped: a mapped file that is cut off later ends the process
// with SIGBUS.
type snapshots struct {
	dir string
	log *slog.Logger
}

// origin is what a snapshot was made of. The file's times say nothing: copies and images of
// systems keep them over other content.
type origin struct {
	Path    string
	Size    int64
	Sum     uint64 // hash of the content
	Skipped int
	Omitted int
}

// SnapshotDir is what Options.Snapshots must be for a setting: "" is a directory in the user's
// cache, if there is one; "off" is none.
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

// openSnapshots prepares the directory; nil if it is "" or nothing can be written there.
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
		log.Info("no snapshots of sets: nothing can be written there", "dir", dir, "error", err)
		return nil
	}
	return &snapshots{dir: dir, log: log}
}

// at is the snapshot of a file. Its name tells the set to people, and files and options apart.
func (s *snapshots) at(source string, set string, o fence.Options) string {
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%t", source, o.Kind, o.Boundary, o.Antimeridian, o.IDProperty, o.Strict)
	return filepath.Join(s.dir, fmt.Sprintf("%.64s-%016x%s", set, xxhash.Sum64String(key), snapshotSuffix))
}

// open gives what the file was read as before; nil if that is not known, or not true any more.
func (s *snapshots) open(f *file, source string, o fence.Options) *content {
	at := s.at(source, f.set, o)
	c, err := s.use(at, f, source, o)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(at, now, now) // it was used: see prune
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

// errStale refuses a snapshot of what the file no longer holds.
var errStale = errors.New("the file has changed since it was made")

// fromImage makes content of an image, if that is of what the file holds.
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
	return &content{
		file: f, collection: &fence.Collection{Skipped: from.Skipped, Omitted: from.Omitted}, sum: from.Sum,
		set: set, snap: set.Snapshot(), restored: true,
	}, nil
}

// write keeps a set for the next start. A set that was changed since it was made has no
// snapshot; the next start reads its file.
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
			_ = os.Remove(w.Name()) // what failed says more
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

// prune removes the snapshots that were not used for longest where there are too many, and
// what a crash has left half-written.
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
