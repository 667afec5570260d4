package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o Options) *Disk {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	defer j.Close()
	_, err := Open(Options{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	ok(t, j.Put(Value{"format", []byte{Format + 1}}))
	ok(t, j.Close())
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrNewer) {
		t.Errorf("error %v", err)
	}
}

// A directory that a newer program has written is refused before anything in it changes.
func TestADowngradeWritesNothing(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	_, err := j.Append([]byte("record"))
	ok(t, err)
	ok(t, j.Close())
	ok(t, os.WriteFile(filepath.Join(dir, formatFile), []byte(formatText(Format+1)), 0o600))
	before := contents(t, dir)
	for _, readOnly := range []bool{true, false} {
		_, err := Open(Options{Dir: dir, ReadOnly: readOnly})
		if want := fmt.Sprintf("%s has format %d, and this program reads up to %d: use the newer program", dir, Format+1, Format); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v", err)
		}
	}
	if err := CheckFormat(dir); !errors.Is(err, ErrNewer) {
		t.Errorf("error %v", err)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the files were %v and are %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// contents returns the files of a directory with their bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		ok(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// The format is also in a copy of the journal. A file that is damaged or missing is no obstacle, as
// the store has the format too, and is right after a start.
func TestTheFormatFileIsMended(t *testing.T) {
	dir := t.TempDir()
	file, copied := filepath.Join(dir, formatFile), filepath.Join(t.TempDir(), "copy")
	for _, damaged := range []string{"", "format 9\n", strings.Replace(formatText(Format), fmt.Sprint(Format), fmt.Sprint(Format+4), 1), formatText(Format) + "x", formatText(Format - 1)} {
		if damaged != "" {
			ok(t, os.WriteFile(file, []byte(damaged), 0o600))
		}
		j := open(t, Options{Dir: dir})
		if damaged == "" {
			ok(t, j.Checkpoint(copied))
		}
		ok(t, j.Close())
		for _, path := range []string{file, filepath.Join(copied, formatFile)} {
			if text, err := os.ReadFile(path); err != nil || string(text) != formatText(Format) {
				t.Errorf("%q became %q, %v", damaged, text, err)
			}
		}
	}
}

// A directory of an older format is read, and is of the present one from then on. One that is only
// read stays as it is.
func TestAnOlderFormatIsRaised(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	ok(t, j.Put(Value{"format", []byte{Format - 1}}))
	ok(t, j.Close())
	for _, readOnly := range []bool{true, false} {
		j := open(t, Options{Dir: dir, ReadOnly: readOnly})
		if v, err := j.Get("format"); err != nil || (v[0] == Format) == readOnly {
			t.Errorf("read only %v: format %d, %v", readOnly, v, err)
		}
		ok(t, j.Close())
	}
}

// A directory belongs to its user alone.
func TestTheDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	ok(t, open(t, Options{Dir: dir}).Close())
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A byte that has changed on disk is never taken for something else: it is an error that names the
// directory, or concerns bytes that nothing refers to any more.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	record := func(n uint64) []byte { return bytes.Repeat(fmt.Append(nil, n, " "), 2000) }
	const n = 300
	for i := range uint64(n) {
		_, err := j.Append(record(i + 1))
		ok(t, err)
		if i == n/2 {
			ok(t, j.db.Flush())
		}
	}
	ok(t, j.Close())
	files, err := os.ReadDir(dir)
	ok(t, err)
	damaged := 0
	for _, file := range files {
		ext := filepath.Ext(file.Name())
		if ext != ".sst" && ext != ".log" && !strings.HasPrefix(file.Name(), "MANIFEST") {
			continue
		}
		whole, err := os.ReadFile(filepath.Join(dir, file.Name()))
		ok(t, err)
		for _, share := range []int{0, 25, 50, 75, 99} {
			at := len(whole) * share / 100
			if len(whole) == 0 {
				continue
			}
			copied := t.TempDir()
			ok(t, os.CopyFS(copied, os.DirFS(dir)))
			broken := bytes.Clone(whole)
			broken[at] ^= 0x40
			ok(t, os.WriteFile(filepath.Join(copied, file.Name()), broken, 0o600))
			last, err := readAll(copied, record)
			switch {
			case err == nil && last == n:
			case err != nil && strings.Contains(err.Error(), copied):
				damaged++
			default:
				t.Errorf("%s at %d of %d: read up to record %d, error %v", file.Name(), at, len(whole), last, err)
			}
		}
	}
	if damaged == 0 {
		t.Error("no damage was found")
	}
}

// A damaged file with the newest state is an error of the one that reads it: the journal does not
// first go on with the older state, and then refuse every write.
func TestADamagedState(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir})
	random := mathrand.New(mathrand.NewPCG(1, 1))
	var states [2][]byte
	for n := range states {
		number, err := j.Append([]byte("record"))
		ok(t, err)
		for range 500 { // the store looks for the changed bit, which takes its time
			states[n] = binary.BigEndian.AppendUint64(states[n], random.Uint64())
		}
		ok(t, j.SaveCheckpoint(0, number, states[n]))
	}
	ok(t, j.db.Flush())
	ok(t, j.Close())
	for _, damaged := range states {
		copied := t.TempDir()
		ok(t, os.CopyFS(copied, os.DirFS(dir)))
		flip(t, copied, damaged[2000:][:16])
		again, err := Open(Options{Dir: copied})
		if err == nil {
			_, err = again.Checkpoints(0)
			ok(t, again.Close())
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), copied) {
			t.Errorf("error %v", err)
		}
	}
}

// flip changes a bit of bytes in a table of a directory.
func flip(t *testing.T, dir string, of []byte) {
	t.Helper()
	for name, text := range contents(t, dir) {
		if at := strings.Index(text, string(of)); at >= 0 && filepath.Ext(name) != ".log" {
			b := []byte(text)
			b[at] ^= 0x40
			ok(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
			return
		}
	}
	t.Fatal("no table has the bytes")
}

// readAll reads a directory and compares every record.
func readAll(dir string, want func(uint64) []byte) (last uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v", dir, p)
		}
	}()
	j, err := Open(Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	err = j.Records(1, func(n uint64, r []byte) error {
		if !bytes.Equal(r, want(n)) {
			return fmt.Errorf("record %d has other bytes", n)
		}
		last = n
		return nil
	})
	return last, errors.Join(err, j.Close())
}

// Without syncs no record is known to be durable, so none is noted as such.
func TestNoNoteWithoutSyncs(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Options{Dir: dir, NoSync: true})
	_, err := j.Append([]byte("record"))
	ok(t, err)
	ok(t, j.Note())
	ok(t, j.Close())
	if _, err := os.Stat(filepath.Join(dir, newestFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a record is noted: %v", err)
	}
}
