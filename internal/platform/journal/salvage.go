package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// copied is the number of bytes that are copied at once.
const copied = 4 << 20

// Salvage copies what can be read of a journal into a directory that is not there, and returns the
// rest. If there is none, everything is right, and nothing is copied. The journal stays as it is;
// its files are linked below scratch meanwhile. The copy may lack records, pieces and values, and
// its last pieces, see [Salvaged].
func Salvage(from, scratch, to string, log *slog.Logger) (damage []Damage, err error) {
	lock, err := pebble.LockDirectory(from, vfs.Default)
	if err != nil {
		d := Disk{dir: from}
		return nil, d.openError(err, vfs.Default)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	whole := salvage{dir: from, log: log}
	if err := whole.link(scratch); err != nil {
		return nil, err
	}
	in, err := whole.open(scratch, true)
	if pebble.IsCorruptionError(err) {
		if err = whole.cutLog(scratch); err == nil {
			in, err = whole.open(scratch, true)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: nothing can be saved of it: restore a backup: %w", ErrDamaged, from, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	whole.in = in
	if err := whole.examineList(scratch); err != nil {
		return nil, err
	}
	whole.before = len(whole.damage)
	if err := whole.walk(func(_, _ []byte) error { return nil }); err != nil || len(whole.damage) == 0 {
		return nil, err
	}
	whole.damage = whole.damage[:whole.before] // the copy meets the rest again
	err = whole.copy(to)
	return whole.damage, err
}

// salvage is the state of Salvage.
type salvage struct {
	dir     string
	log     *slog.Logger
	in      *pebble.DB
	damage  []Damage
	damaged string // the last damaged file
	before  int    // how many of them concern the log and the list of files
}

// examineList notes records that a list of files which ends early has lost.
func (s *salvage) examineList(dir string) error {
	place, cut, err := cutList(vfs.Default, dir)
	if err != nil || !cut {
		return err
	}
	last := []byte{keyRecord}
	it, err := s.in.NewIter(&pebble.IterOptions{LowerBound: last, UpperBound: []byte{keyRecord + 1}})
	if err != nil {
		return err
	}
	if it.Last() {
		last = bytes.Clone(it.Key())
	}
	_ = it.Close() // its error comes again
	newest, _ := numberIn(last, keyRecord)
	if trimmed, closer, err := s.in.Get(metaKey("trimmed")); err == nil {
		newest = max(newest, binary.BigEndian.Uint64(trimmed)-1)
		_ = closer.Close() // of a value in memory
	}
	if want := noted(vfs.Default, s.dir); newest < want {
		s.damage = append(s.damage, Damage{
			strings.Replace(place, dir, s.dir, 1), fmt.Sprintf("the list of files ends early: records from %d to %d at least, and more", newest+1, want), true, true,
		})
	}
	return nil
}

// link makes a directory with links to the files, without the lock.
func (s *salvage) link(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name() == "LOCK" || f.Name() == ownerFile {
			continue
		}
		if err := vfs.LinkOrCopy(vfs.Default, filepath.Join(s.dir, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// open opens a store. Some damage makes it panic, which is an error here.
func (s *salvage) open(dir string, readOnly bool) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return pebble.Open(dir, &pebble.Options{
		ReadOnly: readOnly, FormatMajorVersion: pebble.FormatValueSeparation, MemTableSize: memtable,
		Logger: storeLog{s.log, &Disk{dir: s.dir}, func(err error) { panic(err) }},
		// The default ends the process at the first damage.
		EventListener: &pebble.EventListener{DataCorruption: func(i pebble.DataCorruptionInfo) { s.damaged = filepath.Base(i.Path) }},
	})
}

// walk calls f for everything that can be read, and notes the rest.
func (s *salvage) walk(f func(key, value []byte) error) error {
	from := []byte{keyCheckpoint} // the first kind
	for {
		last, err := s.walkFrom(from, f)
		if err == nil {
			return nil
		}
		if !pebble.IsCorruptionError(err) {
			return err
		}
		if last != nil {
			from = append(last, 0)
		}
		file := s.damaged
		next, more := s.readable(from)
		s.damage = append(s.damage, Damage{
			s.place(file, err), describe(from, next),
			ends(from, next, keyRecord) || ends(from, next, keyPiece), begins(from, next),
		})
		if !more {
			return nil
		}
		from = next
	}
}

// block finds the place of a damaged block in the store's errors: offset and length.
var block = regexp.MustCompile(`block (\d+)/(\d+)`)

// place names the place of a damage.
func (s *salvage) place(file string, err error) string {
	path := filepath.Join(s.dir, file)
	if found := block.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Sprintf("%s at %s, %s bytes", path, found[1], found[2])
	}
	return fmt.Sprintf("%s (%.100q)", path, err.Error())
}

// walkFrom calls f for the values from a key on, and returns the last key that could be read.
func (s *salvage) walkFrom(from []byte, f func(key, value []byte) error) (last []byte, err error) {
	it, err := s.in.NewIter(&pebble.IterOptions{LowerBound: from})
	if err != nil {
		return nil, err
	}
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = f(it.Key(), value)
		}
		if err != nil {
			return last, errors.Join(err, it.Close())
		}
		last = append(last[:0], it.Key()...)
	}
	return last, errors.Join(it.Error(), it.Close())
}

// copy writes everything that can be read into a new store.
func (s *salvage) copy(to string) error {
	out, err := s.open(to, false)
	if err != nil {
		return err
	}
	b := out.NewBatch()
	err = s.walk(func(key, value []byte) error {
		if err := b.Set(key, value, nil); err != nil || b.Len() < copied {
			return err
		}
		err := b.Commit(pebble.NoSync)
		b.Reset()
		return err
	})
	if err == nil {
		err = b.Commit(pebble.NoSync)
	}
	if err == nil {
		err = out.Flush()
	}
	return errors.Join(err, b.Close(), out.Close())
}
