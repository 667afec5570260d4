package journal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// implementations are the journals that the suite is about. reopen is nil if the journal ends with
// the process.
var implementations = map[string]func(t *testing.T) (j Journal, reopen func() Journal){
	"memory": func(*testing.T) (Journal, func() Journal) { return NewMemory(), nil },
	"disk": func(t *testing.T) (Journal, func() Journal) {
		dir := t.TempDir()
		j := open(t, Options{Dir: dir})
		return j, func() Journal { return open(t, Options{Dir: dir}) }
	},
	"overlay": func(t *testing.T) (Journal, func() Journal) {
		o, err := NewOverlay(NewMemory(), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		return o, nil
	},
	"simulated disk": func(t *testing.T) (Journal, func() Journal) {
		fs := vfs.NewCrashableMem()
		j := open(t, Options{Dir: "journal", FS: fs})
		return j, func() Journal { return open(t, Options{Dir: "journal", FS: fs}) }
	},
}

func open(t testing.TB, o Options) *Disk {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// suite runs a test on each implementation. check is called for what the test has left: with the
// journal itself, and after it was closed and opened again.
func suite(t *testing.T, fill, check func(t *testing.T, j Journal)) {
	t.Helper()
	for name, make := range implementations {
		t.Run(name, func(t *testing.T) {
			j, reopen := make(t)
			fill(t, j)
			check(t, j)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if reopen == nil {
				return
			}
			j = reopen()
			check(t, j)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// records returns the records from a number on, as "1=a 2=b".
func records(t testing.TB, j Journal, from uint64) string {
	t.Helper()
	var all []string
	ok(t, j.Records(from, func(n uint64, r []byte) error {
		all = append(all, fmt.Sprintf("%d=%s", n, r))
		return nil
	}))
	return strings.Join(all, " ")
}

func pieces(t testing.TB, j Journal, from uint64) string {
	t.Helper()
	var all []string
	ok(t, j.Pieces(from, func(p Piece) error {
		all = append(all, fmt.Sprintf("%d+%d=%d.%d %d %s", p.First, p.Count, p.At.Number, p.At.Piece, p.Time, p.Events))
		return nil
	}))
	return strings.Join(all, "; ")
}

func expect(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecords(t *testing.T) {
	suite(t, func(t *testing.T, j Journal) {
		if oldest, newest := j.Bounds(); oldest != 1 || newest != 0 {
			t.Errorf("empty: %d to %d", oldest, newest)
		}
		for i, r := range []string{"a", "", "c"} {
			buffer := []byte(r)
			if n, err := j.Append(buffer); err != nil || n != uint64(i)+1 {
				t.Errorf("record %d has number %d: %v", i, n, err)
			}
			clear(buffer) // the journal has its own copy
		}
	}, func(t *testing.T, j Journal) {
		if oldest, newest := j.Bounds(); oldest != 1 || newest != 3 {
			t.Errorf("%d to %d", oldest, newest)
		}
		expect(t, records(t, j, 0), "1=a 2= 3=c")
		expect(t, records(t, j, 3), "3=c")
		expect(t, records(t, j, 4), "")
		enough := errors.New("enough")
		if err := j.Records(1, func(uint64, []byte) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	})
}

func TestPieces(t *testing.T) {
	suite(t, func(t *testing.T, j Journal) {
		if p := j.Committed(); p.At != (Place{}) || !p.Last || p.Next() != 1 || j.OldestEvent() != 1 {
			t.Errorf("empty: %+v", p)
		}
		for _, c := range []struct {
			at    Place
			last  bool
			first uint64
			count int
			err   error
		}{
			{Place{1, 1}, true, 1, 1, ErrOrder},
			{Place{1, 0}, true, 2, 1, ErrOrder},
			{Place{1, 0}, true, 1, 0, ErrOrder},
			{Place{1, 0}, true, 1, 3, nil},
			{Place{1, 1}, true, 4, 1, ErrOrder}, // 1.0 was the last one
			{Place{1, 0}, true, 4, 1, ErrOrder},
			{Place{3, 0}, false, 4, 2, nil}, // record 2 has no events
			{Place{4, 0}, true, 6, 1, ErrOrder},
			{Place{3, 1}, false, 6, 1, nil},
			{Place{3, 3}, true, 7, 1, ErrOrder},
		} {
			events := fmt.Appendf(nil, "%v", c.at)
			err := j.Commit(Piece{At: c.at, Last: c.last, First: c.first, Count: c.count, Time: -int64(c.first), Events: events})
			if !errors.Is(err, c.err) {
				t.Errorf("%v: error %v, want %v", c.at, err, c.err)
			}
			clear(events) // the journal has its own copy
		}
	}, func(t *testing.T, j Journal) {
		const one, two, three = "1+3=1.0 -1 {1 0}", "4+2=3.0 -4 {3 0}", "6+1=3.1 -6 {3 1}"
		for from, want := range []string{one + "; " + two + "; " + three, 3: one + "; " + two + "; " + three, 4: two + "; " + three, 5: two + "; " + three, 6: three, 8: ""} {
			if want != "" || from == 8 {
				expect(t, pieces(t, j, uint64(from)), want)
			}
		}
		if p := j.Committed(); p.At != (Place{3, 1}) || p.Last || p.Next() != 7 || p.Events != nil || j.OldestEvent() != 1 {
			t.Errorf("%+v", p)
		}
	})
}

func TestCheckpoints(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 150_000)
	suite(t, func(t *testing.T, j Journal) {
		for n := range uint64(3) {
			ok(t, j.SaveCheckpoint(63, 10*(n+1), large[:len(large)-int(n)]))
			ok(t, j.SaveCheckpoint(0, n, fmt.Append(nil, n)))
		}
		ok(t, j.SaveCheckpoint(5, 1, nil))
	}, func(t *testing.T, j Journal) {
		for partition, want := range map[int]string{0: "2: 2; 1: 1; ", 63: "30: 1499998; 20: 1499999; ", 5: "1: ; ", 7: ""} {
			all, err := j.Checkpoints(partition)
			ok(t, err)
			got := ""
			for _, c := range all {
				text := string(c.State)
				if len(text) > 10 {
					if !bytes.Equal(c.State, large[:len(c.State)]) {
						t.Errorf("partition %d: other bytes", partition)
					}
					text = fmt.Sprint(len(text))
				}
				got += fmt.Sprintf("%d: %s; ", c.Number, text)
			}
			expect(t, got, want)
		}
	})
}

func TestValues(t *testing.T) {
	suite(t, func(t *testing.T, j Journal) {
		ok(t, j.Put(Value{"a", []byte("1")}))
		ok(t, j.Put(Value{"b/c", nil}))
		ok(t, j.Put(Value{"a", []byte("2")}))
		ok(t, j.Put(Value{"b/d", []byte("3")}))
		ok(t, j.Put(Value{"c", []byte("4")}))
		ok(t, j.Remove("b/d", "none"))
		ok(t, j.Remove())
	}, func(t *testing.T, j Journal) {
		for name, want := range map[string]string{"a": "2", "b/c": ""} {
			got, err := j.Get(name)
			ok(t, err)
			expect(t, string(got), want)
		}
		for _, name := range []string{"b", "b/d"} {
			if _, err := j.Get(name); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		names, err := j.Names("b")
		ok(t, err)
		expect(t, strings.Join(names, " "), "b/c")
	})
}

func TestChanges(t *testing.T) {
	suite(t, func(t *testing.T, j Journal) {
		ok(t, j.Put(Value{"h/1", []byte("a")}, Value{"h/2", []byte("b")}, Value{"h/\xff", []byte("c")}, Value{"i", []byte("d")}))
		ok(t, j.Change([]Span{{"h/1", "h/2"}, {"h/3", "h/4"}}, Value{"h/3", []byte("e")}, Value{"h/10", nil}))
		buffer := []byte("f")
		ok(t, j.Change(nil, Value{"h/4", buffer}))
		clear(buffer) // the journal has its own copy
		ok(t, j.Change([]Span{{"h/4\x00", "h/5"}, Only("i"), Only("none")}))
	}, func(t *testing.T, j Journal) {
		values := func(prefix, from string) string {
			var all []string
			ok(t, j.Values(prefix, from, func(v Value) error {
				all = append(all, fmt.Sprintf("%q=%s", v.Name, v.Bytes))
				return nil
			}))
			return strings.Join(all, " ")
		}
		expect(t, values("h/", ""), `"h/10"= "h/2"=b "h/3"=e "h/4"=f "h/\xff"=c`)
		expect(t, values("h/", "h/3"), `"h/3"=e "h/4"=f "h/\xff"=c`)
		expect(t, values("h/", "i"), "")
		expect(t, values("h/\xff", ""), `"h/\xff"=c`)
		expect(t, values("i", ""), "")
		expect(t, values("none", ""), "")
		enough := errors.New("enough")
		if err := j.Values("h/", "", func(Value) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
	})
}

func TestTrim(t *testing.T) {
	suite(t, func(t *testing.T, j Journal) {
		for n := range uint64(5) {
			_, err := j.Append([]byte{'a' + byte(n)})
			ok(t, err)
			ok(t, j.Commit(Piece{At: Place{n + 1, 0}, Last: true, First: 2*n + 1, Count: 2, Events: []byte{'A' + byte(n)}}))
		}
		ok(t, j.TrimRecords(3))
		ok(t, j.TrimRecords(2)) // changes nothing
		ok(t, j.TrimPieces(8))
		ok(t, j.TrimPieces(3)) // changes nothing
	}, func(t *testing.T, j Journal) {
		expect(t, records(t, j, 1), "3=c 4=d 5=e")
		expect(t, pieces(t, j, 0), "7+2=4.0 0 D; 9+2=5.0 0 E")
		if n := j.OldestEvent(); n != 7 {
			t.Errorf("the oldest event is %d", n)
		}
	})
	suite(t, func(t *testing.T, j Journal) { // of everything: the numbers go on
		for n := range uint64(2) {
			_, err := j.Append([]byte("x"))
			ok(t, err)
			ok(t, j.Commit(Piece{At: Place{n + 1, 0}, Last: true, First: n + 1, Count: 1}))
		}
		ok(t, j.TrimRecords(99))
		ok(t, j.TrimPieces(99))
	}, func(t *testing.T, j Journal) {
		if oldest, newest := j.Bounds(); oldest != 3 || newest != 2 {
			t.Errorf("%d to %d", oldest, newest)
		}
		if p := j.Committed(); p.At.Number != 2 || !p.Last || j.OldestEvent() != 2 {
			t.Errorf("committed %+v, the oldest event is %d", p, j.OldestEvent())
		}
	})
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
