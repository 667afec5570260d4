package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// copied is the number of bytes that are copied at once.
const copied = 4 << 20

// Damage is a part of a journal that cannot be read.
type Damage struct {
	Where string // file and offset
	What  string // lies there
	// Newest says that the newest records or events may be among it, so that their number is not
	// known.
	Newest bool
}

func (d Damage) String() string { return d.Where + ": " + d.What }

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
			strings.Replace(place, dir, s.dir, 1), fmt.Sprintf("the list of files ends early: records from %d to %d at least, and more", newest+1, want), true,
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

// cutLog finds the first damage of the store's log. It ends the linked log there, and removes later
// ones.
func (s *salvage) cutLog(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return err
	}
	slices.Sort(logs) // numbers of equal length
	for i, path := range logs {
		good, whole, err := readLog(path, i == len(logs)-1)
		if err != nil {
			return err
		}
		if whole {
			continue
		}
		lost := int64(0)
		for _, later := range logs[i:] {
			info, err := os.Stat(later)
			if err != nil {
				return err
			}
			lost += info.Size()
		}
		s.damage = append(s.damage, Damage{
			fmt.Sprintf("%s at %d", filepath.Join(s.dir, filepath.Base(path)), good),
			fmt.Sprintf("what was written last, in the %d bytes from there on", lost-good),
			true,
		})
		return cutFile(path, good, logs[i+1:])
	}
	return fmt.Errorf("%w: the damage is in none of its logs", ErrDamaged)
}

// cutFile puts the beginning of a file in its place, and removes others.
func cutFile(path string, length int64, others []string) error {
	b, err := os.ReadFile(path) // some megabytes, see memtable
	if err != nil {
		return err
	}
	for _, gone := range append([]string{path}, others...) { // links: the journal keeps its own
		if err := os.Remove(gone); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b[:length], 0o600)
}

// readLog returns the end of the last whole record of a log, and whether nothing follows that a
// loss of power could not have left.
func readLog(path string, last bool) (good int64, whole bool, err error) {
	number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".log"), 10, 32)
	if err != nil {
		return 0, false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	r := newReader(record.NewReader, f, number)
	for {
		one, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, one)
		}
		switch {
		case err == nil:
			good = r.Offset()
		case errors.Is(err, io.EOF), last && errors.Is(err, record.ErrUnexpectedEOF):
			return good, true, nil
		case errors.Is(err, record.ErrUnexpectedEOF), errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
			return good, false, nil
		default:
			return good, false, err
		}
	}
}

// newReader calls a function whose second type has no name here.
func newReader[N ~uint64](f func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return f(r, N(number))
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
			ends(from, next, keyRecord) || ends(from, next, keyPiece),
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

// readable returns the first key behind a damaged place that can be read, or more false if nothing
// follows. Keys are numbers of stepBytes bytes here: leap finds one that can be read, and halves of
// the leap the first one. A damaged block is slow to read, as the store looks for the
// bit that has changed.
func (s *salvage) readable(from []byte) (next []byte, more bool) {
	least := uint(8 * (stepBytes - ordered)) // the power of the smallest step
	if from[0] == keyMeta {
		least = 0
	}
	low := number(from) // is damaged; low and step are not
	step, next, more, ok := s.leap(low, least)
	if !ok {
		return nil, false
	}
	for step.BitLen() > int(least)+1 {
		step.Rsh(step, 1)
		middle := new(big.Int).Add(low, step)
		if key, found, err := s.at(middle.FillBytes(make([]byte, stepBytes))); err == nil {
			next, more = key, found
		} else {
			low = middle
		}
	}
	return next, more
}

// leap returns a step to a key that can be read, of this power of two or more, and the first key
// from there on.
func (s *salvage) leap(low *big.Int, power uint) (step *big.Int, next []byte, more, ok bool) {
	for power < 8*stepBytes-3 { // the first byte of a key is one of few letters
		step = new(big.Int).Lsh(big.NewInt(1), power)
		key, found, err := s.at(new(big.Int).Add(low, step).FillBytes(make([]byte, stepBytes)))
		if err == nil {
			return step, key, found, true
		}
		if power < 8*stepBytes-8 {
			power += 8
		} else {
			power++
		}
	}
	return nil, nil, false, false
}

// stepBytes is the length of keys as numbers, and ordered that of the keys of records and events.
const (
	stepBytes = 32
	ordered   = 9
)

func number(key []byte) *big.Int {
	b := make([]byte, stepBytes)
	copy(b, key)
	return new(big.Int).SetBytes(b)
}

// at returns the first key from one on. The error is that of a damaged place.
func (s *salvage) at(from []byte) (key []byte, found bool, err error) {
	it, err := s.in.NewIter(&pebble.IterOptions{LowerBound: from})
	if err != nil {
		return nil, false, err
	}
	if it.First() {
		key, found = bytes.Clone(it.Key()), true
		_, err = it.ValueAndErr()
	}
	return key, found, errors.Join(err, it.Error(), it.Close())
}

// ends reports whether the last keys of a kind lie between two keys; next is nil at the end.
func ends(from, next []byte, kind byte) bool {
	return bytes.Compare(from, []byte{kind + 1}) < 0 && (next == nil || next[0] > kind)
}

// describe names what lies between two keys; next is nil at the end.
func describe(from, next []byte) string {
	if next == nil {
		next = []byte{255}
	}
	var parts []string
	for _, kind := range []struct {
		prefix byte
		name   string
	}{{keyCheckpoint, "states of objects"}, {keyPiece, "events"}, {keyRecord, "records"}, {keyMeta, "values"}} {
		if bytes.Compare(from, []byte{kind.prefix + 1}) >= 0 || bytes.Compare(next, []byte{kind.prefix}) < 0 {
			continue
		}
		text := kind.name
		if begin, ok := numberIn(from, kind.prefix); ok {
			text += fmt.Sprintf(" from %d", begin)
		}
		if end, ok := numberIn(next, kind.prefix); ok {
			text += fmt.Sprintf(" before %d", end)
		}
		if kind.prefix == keyMeta {
			text += fmt.Sprintf(" from %.40q before %.40q", nameOf(from), nameOf(next))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// nameOf returns the name of the key of a value, or "" for another key.
func nameOf(key []byte) []byte {
	name, ok := bytes.CutPrefix(key, []byte{keyMeta})
	if !ok {
		return nil
	}
	return name
}

// numberIn returns the number of a key of a record or a piece.
func numberIn(key []byte, kind byte) (uint64, bool) {
	if len(key) < 9 || key[0] != kind || kind != keyRecord && kind != keyPiece {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
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
