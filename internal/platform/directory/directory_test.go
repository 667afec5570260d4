package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
)

// square returns a document of one fence with this id, around (1, 1).
func square(id int) string {
	return fmt.Sprintf(`{"type":"Feature","id":%d,"properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, id)
}

// place is a directory of files whose times the tests set, so that no clock is too coarse for them.
type place struct {
	*testing.T
	dir     string
	catalog *fence.Catalog
	log     bytes.Buffer
	d       *Directory
	written time.Time

	record    []byte
	snapshots string
	fences    fence.Options
	partial   bool
}

func newPlace(t *testing.T) *place {
	return &place{T: t, catalog: new(fence.Catalog), dir: t.TempDir(), written: time.Now().Add(-time.Hour).Truncate(time.Second)}
}

func (p *place) open() error {
	p.Helper()
	d, err := Open(Options{
		Dir: p.dir, Catalog: p.catalog, Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
		Snapshots: p.snapshots, Fences: p.fences, Partial: p.partial, Record: p.record,
	})
	p.d = d
	return err
}

func (p *place) mustOpen() {
	p.Helper()
	if err := p.open(); err != nil {
		p.Fatal(err)
	}
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) at(name string) string { return filepath.Join(p.dir, name) }

// write writes a file in place.
func (p *place) write(name, text string) {
	p.Helper()
	p.must(os.WriteFile(p.at(name), []byte(text), 0o600))
	p.written = p.written.Add(time.Second)
	p.must(os.Chtimes(p.at(name), p.written, p.written))
}

func (p *place) remove(name string) {
	p.Helper()
	p.must(os.Remove(p.at(name)))
}

// serves checks the sets, each as name=ids of the fences that hold (1, 1).
func (p *place) serves(want ...string) {
	p.Helper()
	var got []string
	for s := range p.catalog.All() {
		snap := s.Snapshot()
		var ids []string
		for _, r := range snap.Append(nil, 1, 1) {
			ids = append(ids, string(snap.Fence(r).ID))
		}
		got = append(got, s.Name()+"="+strings.Join(ids, "+"))
	}
	if !slices.Equal(got, want) {
		p.Errorf("serves %v, want %v", got, want)
	}
}

// look scans once, which sees a file that has just changed.
func (p *place) look() { p.d.look(p.Context()) }

// settle scans often enough for changed files to be read.
func (p *place) settle() {
	p.d.look(p.Context())
	p.d.look(p.Context())
}

// refuses checks the reported failure of a file, "" for none.
func (p *place) refuses(file, why string) {
	p.Helper()
	for _, s := range p.d.Status().Sources {
		if s.File != file {
			continue
		}
		got := ""
		if s.Err != nil {
			got = s.Err.Error()
		}
		if (why == "") != (got == "") || !strings.Contains(got, why) || (why == "") != s.Since.IsZero() {
			p.Errorf("%s is refused with %q since %v, want %q", file, got, s.Since, why)
		}
		return
	}
	p.Errorf("%s is not among the sources", file)
}

func TestChangesAreNoticed(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("B c.geojson", square(2))
	p.write("readme.txt", "no")
	p.must(os.Mkdir(p.at("d.json"), 0o700))
	p.mustOpen()
	p.serves("a=1", "b-c=2")

	p.write("a.json", square(3))
	p.look()
	p.serves("a=1", "b-c=2") // it may still be changing
	p.look()
	p.serves("a=3", "b-c=2")

	p.write("new.json", square(4))
	p.settle()
	p.serves("a=3", "b-c=2", "new=4")

	p.remove("B c.geojson")
	p.look()
	p.serves("a=3", "b-c=2", "new=4")
	p.look()
	p.serves("a=3", "new=4")
	if _, ok := p.d.Status().Source("b-c"); ok {
		t.Error("a file that has gone is still a source")
	}
}

// The set and the refs stay, so that trackers see fences that change, not fences that are removed
// and added.
func TestASetKeepsItsIdentity(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	before, _ := p.catalog.Get("a")
	p.write("a.json", strings.Replace(square(1), "[9,0]", "[8,0]", 1))
	p.settle()
	after, _ := p.catalog.Get("a")
	if before != after || after.Snapshot().Generation() != 2 {
		t.Errorf("another set, or generation %d", after.Snapshot().Generation())
	}
}

func TestRenameOver(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.write("a.json.tmp", square(2))
	p.must(os.Chtimes(p.at("a.json.tmp"), p.written.Add(-time.Second), p.written.Add(-time.Second)))
	info, err := os.Stat(p.at("a.json"))
	p.must(err)
	p.must(os.Chtimes(p.at("a.json.tmp"), info.ModTime(), info.ModTime())) // only its identity has changed
	p.must(os.Rename(p.at("a.json.tmp"), p.at("a.json")))
	p.settle()
	p.serves("a=2")
}

// Some editors move the old file away and write another one.
func TestAFileThatIsAwayForAMoment(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("b.json", square(1))
	p.mustOpen()
	p.must(os.Rename(p.at("a.json"), p.at("a.json~")))
	p.look()
	p.serves("a=1", "b=1")
	p.write("a.json", square(2))
	p.look()
	p.serves("a=1", "b=1")
	p.look()
	p.serves("a=2", "b=1")
}

// A growing file is not read, and neither are other changed files, because they may belong
// together. But a file that never stops changing does not block them for ever.
func TestWhatMovesIsAwaited(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("b.json", square(1))
	p.mustOpen()
	p.write("b.json", square(2))
	text := square(2)
	for _, part := range []int{1, 20, 60} {
		p.write("a.json", text[:part])
		p.look()
		p.serves("a=1", "b=1")
	}
	p.write("a.json", text)
	p.settle()
	p.serves("a=2", "b=2")
	p.refuses("a.json", "")

	p.write("b.json", square(3))
	for i := range patience {
		p.write("a.json", square(100+i))
		p.serves("a=2", "b=2")
		p.look()
	}
	p.serves("a=2", "b=3")
}

func TestAMalformedFileLeavesItsSet(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("b.json", square(1))
	p.mustOpen()
	p.write("a.json", square(2)[:50])
	p.write("b.json", square(2))
	p.settle()
	p.serves("a=1", "b=2")
	p.refuses("a.json", "a.json:1:51")
	p.refuses("b.json", "")
	if s := p.d.Status(); s.Failing() != 1 || s.Failures != 1 || s.Loads != 3 {
		t.Errorf("got %d failing, %d failures, %d loads", s.Failing(), s.Failures, s.Loads)
	}
	p.settle()
	if n := strings.Count(p.log.String(), "file refused"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &p.log)
	}
	p.write("a.json", square(3))
	p.settle()
	p.serves("a=3", "b=2")
	p.refuses("a.json", "")
	if s := p.d.Status(); s.Failing() != 0 || !strings.Contains(p.log.String(), "file mended") {
		t.Errorf("%d failing:\n%s", s.Failing(), &p.log)
	}

	p.write("bad.json", `{"type":"Topology"}`)
	p.settle()
	p.serves("a=3", "b=2")
	p.refuses("bad.json", "TopoJSON")
	if s, ok := p.d.Status().Source("bad"); !ok || !s.Loaded.IsZero() {
		t.Errorf("got %+v", s)
	}
}

// A file that returns to its served contents is not parsed again, and its failure ends at once.
func TestBackToWhatIsServed(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.write("a.json", "{")
	p.settle()
	p.refuses("a.json", "a.json:1:2")
	p.write("a.json", square(1))
	p.settle()
	p.refuses("a.json", "")
	set, _ := p.catalog.Get("a")
	if g := set.Snapshot().Generation(); g != 1 {
		t.Errorf("the same content made generation %d", g)
	}
}

func TestUnreadableFiles(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.must(os.Symlink("nowhere", p.at("dangling.json")))
	p.must(os.Symlink(p.dir, p.at("loop.json")))
	p.write("...json", square(1))
	p.write("hidden", square(4))
	p.must(os.Symlink("hidden", p.at("linked.json")))
	p.settle()
	p.refuses("dangling.json", "dangling.json: no such file")
	p.refuses("loop.json", "loop.json: it is not a regular file")
	p.refuses("...json", "neither letter a-z nor digit")
	p.serves("a=1", "linked=4")

	if os.Getuid() == 0 {
		t.Log("a superuser reads every file: permissions are not tested")
		return
	}
	p.must(os.Chmod(p.at("a.json"), 0))
	p.must(os.Chtimes(p.at("a.json"), p.written.Add(time.Second), p.written.Add(time.Second)))
	p.settle()
	p.refuses("a.json", "a.json: permission denied")
	p.serves("a=1", "linked=4")
	p.must(os.Chmod(p.at("a.json"), 0o600)) // which changes no stamp
	p.settle()
	p.refuses("a.json", "")
}

func TestTwoFilesOfOneName(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.write("A.geojson", square(2))
	p.settle()
	p.serves("a=1")
	for _, file := range []string{"a.json", "A.geojson"} {
		p.refuses(file, `set exists: A.geojson and a.json are both named "a"`)
	}
	p.remove("a.json")
	p.settle()
	p.serves("a=2")
	p.refuses("A.geojson", "")

	p.write("z.json", square(9))
	p.write("a.json", square(3))
	p.settle()
	p.remove("a.json")
	p.settle()
	p.serves("a=2", "z=9")
	p.remove("A.geojson")
	p.settle()
	p.serves("z=9")
}

// The set of a removed file stays for a broken successor, and is removed with it.
func TestAnHeirThatCannotBeRead(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("z.json", square(1))
	p.mustOpen()
	p.remove("a.json")
	p.write("a.geojson", "{")
	p.settle()
	p.serves("a=1", "z=1")
	p.remove("a.geojson")
	p.settle()
	p.serves("z=1")
}

// An empty directory is taken for a volume that is not mounted, and keeps its sets.
func TestAnEmptyDirectoryKeepsTheSets(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.must(os.Rename(p.dir, p.dir+"-away"))
	p.settle()
	p.serves("a=1")
	if s := p.d.Status(); !errors.Is(s.Err, os.ErrNotExist) || s.Failing() != 1 {
		t.Errorf("without the directory: %v, %d failing", s.Err, s.Failing())
	}
	p.must(os.Mkdir(p.dir, 0o700))
	p.settle()
	p.serves("a=1")
	if s := p.d.Status(); !errors.Is(s.Err, fence.ErrNoSets) {
		t.Errorf("an empty directory: %v", s.Err)
	}
	p.write("a.json", square(2))
	p.settle()
	p.serves("a=2")
	if s := p.d.Status(); s.Failing() != 0 {
		t.Errorf("%d failing", s.Failing())
	}
}

// Clocks of file systems are coarse, so a file that was read right after a write is compared again.
func TestAHastyReadingIsRepeated(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	f := p.d.files["a.json"]
	f.read = f.stamp.ModTime()
	info, err := os.Stat(p.at("a.json"))
	p.must(err)
	p.must(os.WriteFile(p.at("a.json"), []byte(square(2)), 0o600))
	p.must(os.Chtimes(p.at("a.json"), info.ModTime(), info.ModTime())) // the stamp is the same
	p.settle()
	p.serves("a=2")
}

func TestATouchChangesNothing(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	set, _ := p.catalog.Get("a")
	if _, _, err := set.Add(*parse(t, square(7))); err != nil {
		t.Fatal(err)
	}
	p.write("a.json", square(1))
	p.settle()
	p.serves("a=1+7")
}

// A reload restores the files' contents even in sets that were changed at run time. It does not
// wait, and it retries failures.
func TestReload(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"a.json", "b.json", "c.json", "d.json"} {
		p.write(name, square(1))
	}
	p.mustOpen()
	a, _ := p.catalog.Get("a")
	if _, _, err := a.Add(*parse(t, square(7))); err != nil {
		t.Fatal(err)
	}
	p.catalog.Remove("b")
	p.write("c.json", square(2))
	p.remove("d.json")
	p.write("e.json", square(5))
	b, _ := fence.NewSet("other", fence.Options{})
	p.must(p.catalog.Add(b)) // has no file
	p.must(p.d.Reload(p.Context()))
	p.serves("a=1", "b=1", "c=2", "e=5", "other=")

	p.write("c.json", "[")
	if err := p.d.Reload(p.Context()); err == nil || !strings.Contains(err.Error(), "c.json:1:2") {
		t.Errorf("got %v", err)
	}
	p.refuses("c.json", "c.json:1:2")
	p.serves("a=1", "b=1", "c=2", "e=5", "other=")
}

// ending is a context that ends at one of the looks at it.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A reload that is cut, as the process ends, reads no further file and changes nothing.
func TestReloadIsCut(t *testing.T) {
	const files = 5
	p := newPlace(t)
	write := func(id int) {
		for n := range files {
			p.write(fmt.Sprint(n, ".json"), square(id))
		}
	}
	write(1)
	p.mustOpen()
	write(2)
	for looks := range files + 2 {
		if err := p.d.Reload(&ending{p.Context(), looks}); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d looks: %v", looks, err)
		}
		read := 0
		for _, f := range p.d.files {
			if f.stamp.ModTime().Equal(f.info.ModTime()) {
				read++
			}
		}
		if read > looks {
			t.Errorf("%d files were read after %d looks", read, looks)
		}
		p.serves("0=1", "1=1", "2=1", "3=1", "4=1")
	}
	p.must(p.d.Reload(p.Context()))
	p.serves("0=2", "1=2", "2=2", "3=2", "4=2")
}

func parse(t *testing.T, feature string) *fence.Fence {
	t.Helper()
	f, _, err := geojson.ParseFeature([]byte(feature), geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

// At the start a file that cannot be read is an error.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "no sets: no file matches *json"},
		{map[string]string{"x.txt": ""}, "no sets: no file matches *json"},
		{map[string]string{"a.json": square(1), "b.json": "{"}, "b.json:1:2"},
		{map[string]string{"a.json": square(1), "A.json": square(1)}, "A.json and a.json are both named"},
		{map[string]string{"....json": square(1)}, "....json: no name for a set"},
	} {
		p := newPlace(t)
		for name, text := range c.files {
			p.write(name, text)
		}
		if err := p.open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		}
		p.serves()
	}
	p := newPlace(t)
	p.dir = p.at("nowhere")
	if err := p.open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// A partial start serves the good files, and reports the others until they are mended.
func TestAPartialStart(t *testing.T) {
	p := newPlace(t)
	p.partial = true
	p.write("a.json", square(1))
	p.write("b.json", "{")
	p.write("c.json", square(3))
	p.write("C.json", square(4))
	p.mustOpen()
	p.serves("a=1")
	p.missing("C.json", "b.json", "c.json")
	p.refuses("b.json", "b.json:1:2")
	p.refuses("c.json", "are both named")

	p.write("b.json", square(2))
	p.remove("C.json")
	p.settle()
	p.serves("a=1", "b=2", "c=3")
	p.missing()
	p.write("b.json", "[")
	p.settle()
	p.serves("a=1", "b=2", "c=3")
	p.missing() // its last contents are served
}

func (p *place) missing(want ...string) {
	p.Helper()
	if got := p.d.Status().Missing(); !slices.Equal(got, want) {
		p.Errorf("missing %v, want %v", got, want)
	}
}

// Copies may keep size and time with other contents. A reload reads every file.
func TestAReloadReadsEveryFile(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.mustOpen()
	p.must(os.WriteFile(p.at("a.json"), []byte(square(2)), 0o600))
	p.must(os.Chtimes(p.at("a.json"), p.written, p.written))
	p.must(p.d.Reload(p.Context()))
	p.serves("a=2")
}
