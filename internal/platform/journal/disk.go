package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// Format is the version of the keys and values below. A program reads its own and older ones.
	// Since 2 there are pieces of lost events, since 3 events about several objects. A new format
	// of the store raises it too.
	Format = 3
	// memtable bounds the log that is read after a crash.
	memtable = 16 << 20
	// sublevels is the number of levels of new files from which on they are merged. Most records
	// are trimmed before that, and are not written again.
	sublevels = 16
)

// The kinds of keys. Numbers follow big-endian, so that keys are in the order of numbers.
const (
	keyRecord     = 'l' // number -> record
	keyPiece      = 'e' // cursor of the first event -> piece, see appendPiece
	keyCheckpoint = 'c' // partition, slot, index -> bytes; the last index is the manifest
	keyMeta       = 'm' // name -> value
)

// Options configure Open.
type Options struct {
	Dir    string
	Logger *slog.Logger // nil: no reports
	// Fatal is called when the store cannot go on, such as after a failed write of its log. It must
	// not return. Nil: it panics.
	Fatal func(error)
	// ReadOnly changes nothing. The directory must be there.
	ReadOnly bool
	// Appended is called with the duration of each Append. Nil: no call.
	Appended func(time.Duration)
	// FS replaces the file system, in tests.
	FS vfs.FS
	// NoSync makes Append return before a record is durable: for a test that has to fail.
	NoSync bool

	listed bool // the list of files is examined already
}

// Disk is a journal in a directory.
type Disk struct {
	db       *pebble.DB
	dir      string
	fs       vfs.FS
	sync     *pebble.WriteOptions
	appended func(time.Duration)
	noted    bool // Note does something
	log      *logFS

	failed atomic.Pointer[error] // the first failed write

	mu             sync.Mutex
	oldest, newest uint64
	committed      Piece  // without its events
	oldestEvent    uint64 // cursor
}

var _ Journal = (*Disk)(nil)

// Open opens the journal of a directory, and makes it if it is not there. The error is ErrLocked,
// ErrNewer, ErrDamaged, or one of the file system.
func Open(o Options) (*Disk, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
		if !o.ReadOnly {
			if err := os.MkdirAll(o.Dir, 0o700); err != nil {
				return nil, err
			}
		}
	}
	if o.Fatal == nil {
		o.Fatal = func(err error) { panic(err) }
	}
	if o.Appended == nil {
		o.Appended = func(time.Duration) {}
	}
	d := &Disk{dir: o.Dir, fs: o.FS, sync: pebble.Sync, appended: o.Appended, noted: !o.ReadOnly && !o.NoSync}
	if o.NoSync {
		d.sync = pebble.NoSync
	}
	if err := checkFormat(o.FS, o.Dir); err != nil {
		return nil, err
	}
	if !o.listed {
		if err := checkList(o); err != nil {
			return nil, d.openError(err, o.FS)
		}
	}
	d.log = &logFS{FS: o.FS, log: storeLog{o.Logger, d, o.Fatal}}
	options := &pebble.Options{
		FS: d.log, Logger: d.log.log, FormatMajorVersion: pebble.FormatValueSeparation,
		ReadOnly: o.ReadOnly, MemTableSize: memtable, MemTableStopWritesThreshold: 4,
		L0CompactionThreshold: sublevels, L0StopWritesThreshold: 3 * sublevels,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { d.fail(err) },
			DataCorruption:  func(i pebble.DataCorruptionInfo) { d.fail(fmt.Errorf("%w: %s: %w", ErrDamaged, i.Path, i.Details)) },
		},
	}
	db, err := pebble.Open(o.Dir, options)
	if err != nil {
		return nil, d.openError(err, o.FS)
	}
	d.db = db
	d.log.live.Store(true)
	if err := d.begin(o.ReadOnly); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if !o.ReadOnly {
		d.writeOwner(o.FS)
	}
	if err := d.Note(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// openError says what keeps the directory from being opened.
func (d *Disk) openError(err error, fs vfs.FS) error {
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist), errors.Is(err, ErrDamaged), errors.Is(err, ErrLocked):
		return err
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %s: %w", ErrDamaged, d.dir, err)
	case strings.Contains(err.Error(), "resource temporarily unavailable") || strings.Contains(err.Error(), "lock held"):
		return fmt.Errorf("%w: %s%s: stop it, or use another directory", ErrLocked, d.dir, d.owner(fs))
	case strings.Contains(err.Error(), "format major version"):
		return fmt.Errorf("%w: %s: %w", ErrNewer, d.dir, err)
	}
	return fmt.Errorf("%s: %w", d.dir, err)
}

// ownerFile holds the number of the process that has the directory.
const ownerFile = "PID"

func (d *Disk) writeOwner(fs vfs.FS) {
	f, err := fs.Create(filepath.Join(d.dir, ownerFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return // it only helps an error text
	}
	_, _ = f.Write([]byte(strconv.Itoa(os.Getpid())))
	_ = f.Close()
}

func (d *Disk) owner(fs vfs.FS) string {
	f, err := fs.Open(filepath.Join(d.dir, ownerFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	var b [20]byte
	n, _ := f.Read(b[:])
	if _, err := strconv.Atoi(string(b[:n])); err != nil {
		return ""
	}
	return " by process " + string(b[:n])
}

// begin reads the format and the bounds. A directory of an older format gets the present one, as
// what is written from now on may need it: first in the file that older programs look at.
func (d *Disk) begin(readOnly bool) error {
	value, err := d.Get("format")
	stored, n := binary.Uvarint(value)
	switch {
	case errors.Is(err, ErrNotFound): // it is empty
	case err != nil:
		return err
	case n <= 0 || stored > Format:
		return newer(d.dir, stored)
	}
	if !readOnly {
		if err := writeFormat(d.fs, d.dir); err != nil {
			return err
		}
	}
	if stored < Format && !readOnly {
		if err := d.Put(Value{"format", binary.AppendUvarint(nil, Format)}); err != nil {
			return err
		}
	}
	d.oldest, d.oldestEvent, d.committed = 1, 1, noPiece
	trimmed, err := d.Get("trimmed")
	if err == nil {
		d.oldest = binary.BigEndian.Uint64(trimmed)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	d.newest = d.oldest - 1
	if key, _, err := d.lastOf(keyRecord); err != nil {
		return err
	} else if key != nil {
		d.newest = binary.BigEndian.Uint64(key[1:])
	}
	key, value, err := d.lastOf(keyPiece)
	if err != nil || key == nil {
		return err
	}
	if d.committed, err = d.parsePiece(key, value); err != nil {
		return err
	}
	d.committed.Events = nil
	return d.findOldestEvent()
}

// lastOf returns the last key of a kind, with its value.
func (d *Disk) lastOf(kind byte) (key, value []byte, err error) {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}})
	if err != nil {
		return nil, nil, d.readError(err)
	}
	if it.Last() {
		key = append(key, it.Key()...)
		value = append(value, it.Value()...)
	}
	return key, value, d.readError(errors.Join(it.Error(), it.Close()))
}

func recordKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{keyRecord}, number)
}

// fail keeps the first error of a write: nothing is written any more.
func (d *Disk) fail(err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("%w: %w", ErrFailed, err)
	d.failed.CompareAndSwap(nil, &err)
}

// write applies a batch of writes.
func (d *Disk) write(b *pebble.Batch, o *pebble.WriteOptions) error {
	defer b.Close()
	if err := d.failed.Load(); err != nil {
		return *err
	}
	if err := b.Commit(o); err != nil {
		d.fail(err)
		return *d.failed.Load()
	}
	return nil
}

func (d *Disk) readError(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		err = fmt.Errorf("%w: %s: %w", ErrDamaged, d.dir, err)
		d.fail(err)
	}
	return err
}

// Append implements [Journal].
func (d *Disk) Append(record []byte) (uint64, error) {
	begun := time.Now()
	defer func() { d.appended(time.Since(begun)) }()
	number := d.next()
	b := d.db.NewBatch()
	if err := b.Set(recordKey(number), record, nil); err != nil {
		return 0, errors.Join(err, b.Close())
	}
	if err := d.write(b, d.sync); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest = number
	return number, nil
}

func (d *Disk) next() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.newest + 1
}

// Bounds implements [Journal].
func (d *Disk) Bounds() (oldest, newest uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.oldest, d.newest
}

// walk calls f for each key from one on, below the end of its kind.
func (d *Disk) walk(from []byte, f func(key, value []byte) error) error {
	return d.walkTo(from, []byte{from[0] + 1}, f)
}

// walkTo calls f for each key from one on, below another one.
func (d *Disk) walkTo(from, to []byte, f func(key, value []byte) error) error {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return d.readError(err)
	}
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = f(it.Key(), value)
		}
		if err != nil {
			return d.readError(errors.Join(err, it.Close()))
		}
	}
	return d.readError(errors.Join(it.Error(), it.Close()))
}

// Records implements [Journal].
func (d *Disk) Records(from uint64, f func(number uint64, record []byte) error) error {
	expected := max(from, d.oldestNow())
	return d.walk(recordKey(expected), func(key, value []byte) error {
		number := binary.BigEndian.Uint64(key[1:])
		if number != expected {
			return fmt.Errorf("%w: %s: record %d is missing", ErrDamaged, d.dir, expected)
		}
		expected++
		return f(number, value)
	})
}

func (d *Disk) oldestNow() uint64 {
	oldest, _ := d.Bounds()
	return oldest
}

func (d *Disk) get(key []byte) ([]byte, error) {
	value, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, d.readError(err)
	}
	return append([]byte{}, value...), closer.Close()
}

func metaKey(name string) []byte { return append([]byte{keyMeta}, name...) }

// Put implements [Journal].
func (d *Disk) Put(values ...Value) error {
	b := d.db.NewBatch()
	for _, v := range values {
		if err := b.Set(metaKey(v.Name), v.Bytes, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return d.write(b, d.sync)
}

// Get implements [Journal].
func (d *Disk) Get(name string) ([]byte, error) { return d.get(metaKey(name)) }

// Names implements [Journal].
func (d *Disk) Names(prefix string) (names []string, err error) {
	err = d.Values(prefix, "", func(v Value) error {
		names = append(names, v.Name)
		return nil
	})
	return names, err
}

// Values implements [Journal].
func (d *Disk) Values(prefix, from string, f func(Value) error) error {
	end := []byte{keyMeta + 1}
	if prefix != "" {
		end = metaKey(PrefixEnd(prefix))
	}
	return d.walkTo(metaKey(max(prefix, from)), end, func(key, value []byte) error {
		return f(Value{string(key[1:]), value})
	})
}

// Change implements [Journal].
func (d *Disk) Change(remove []Span, put ...Value) error {
	b := d.db.NewBatch()
	for _, s := range remove {
		var err error
		if s == Only(s.From) { // reads pass many of them faster
			err = b.Delete(metaKey(s.From), nil)
		} else {
			err = b.DeleteRange(metaKey(s.From), metaKey(s.To), nil)
		}
		if err != nil {
			return errors.Join(err, b.Close())
		}
	}
	for _, v := range put {
		if err := b.Set(metaKey(v.Name), v.Bytes, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return d.write(b, pebble.NoSync)
}

// Remove implements [Journal].
func (d *Disk) Remove(names ...string) error {
	b := d.db.NewBatch()
	for _, name := range names {
		if err := b.Delete(metaKey(name), nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return d.write(b, pebble.NoSync)
}

// TrimRecords implements [Journal].
func (d *Disk) TrimRecords(before uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before = min(before, d.newest+1)
	if before <= d.oldest {
		return nil
	}
	b := d.db.NewBatch()
	if err := errors.Join(
		b.DeleteRange(recordKey(0), recordKey(before), nil),
		b.Set(metaKey("trimmed"), binary.BigEndian.AppendUint64(nil, before), nil),
	); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := d.write(b, pebble.NoSync); err != nil {
		return err
	}
	d.oldest = before
	return nil
}

// Close implements [Journal].
func (d *Disk) Close() error {
	var err error
	if d.failed.Load() == nil {
		err = d.Note()
	}
	d.log.live.Store(false)
	return errors.Join(err, d.db.Close())
}
