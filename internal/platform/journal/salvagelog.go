package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
)

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
			true, false,
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
