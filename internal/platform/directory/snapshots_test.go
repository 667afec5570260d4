package directory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
)

// restart opens the directory again with snapshots beside it, and runs it until they are written.
// It returns the log.
func (p *place) restart(o fence.Options) string {
	p.Helper()
	p.log.Reset()
	p.catalog = new(fence.Catalog)
	p.snapshots, p.fences = p.dir+"-snapshots", o
	p.mustOpen()
	ended, cancel := context.WithCancel(p.Context())
	cancel()
	p.must(p.d.Run(ended, nil))
	return p.log.String()
}

// fromSnapshot checks whether the set was restored from a snapshot.
func (p *place) fromSnapshot(want bool) {
	p.Helper()
	if got := p.d.files["a.json"].restored; got != want {
		p.Errorf("from a snapshot: %t, want %t\n%s", got, want, &p.log)
	}
}

func (p *place) snapshot() string {
	p.Helper()
	found, err := filepath.Glob(filepath.Join(p.snapshots, "a-*.fences"))
	if err != nil || len(found) != 1 {
		p.Fatalf("snapshots %v, %v", found, err)
	}
	return found[0]
}

func TestASnapshotIsUsedByTheNextStart(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", strings.Replace(square(1), `"Feature"`, `"FeatureCollection","features":[{"type":"Feature","geometry":null},{"type":"Feature"`, 1)+"]}")
	first := p.restart(fence.Options{})
	p.fromSnapshot(false)
	second := p.restart(fence.Options{})
	p.fromSnapshot(true)
	p.serves("a=1")
	for _, part := range []string{"skipped=1 findings=1", "no-geometry"} {
		if !strings.Contains(first, part) || !strings.Contains(second, part) {
			t.Errorf("the log does not say %q each time:\n%s%s", part, first, second)
		}
	}
	p.write("a.json", square(2)) // a restored set follows its file
	p.settle()
	p.serves("a=2")
}

func TestASnapshotOfOtherContentIsRefused(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.restart(fence.Options{})
	p.write("a.json", square(2)) // of the same size
	if log := p.restart(fence.Options{}); !strings.Contains(log, "the file has changed since it was made") {
		t.Error(log)
	}
	p.fromSnapshot(false)
	p.serves("a=2")

	p.restart(fence.Options{})
	p.fromSnapshot(true)
	p.write("a.json", square(2)) // only its time has changed
	p.restart(fence.Options{})
	p.fromSnapshot(true)
}

// Copies and system images keep size and time with other contents.
func TestSizeAndTimeVouchForNothing(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.restart(fence.Options{})
	p.must(os.WriteFile(p.at("a.json"), []byte(square(3)), 0o600))
	p.must(os.Chtimes(p.at("a.json"), p.written, p.written))
	p.restart(fence.Options{})
	p.fromSnapshot(false)
	p.serves("a=3")
}

// A snapshot with a fence that has ended since is refused: the file gives one fence fewer.
func TestASnapshotOfExpiredFencesIsRefused(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", `{"type":"FeatureCollection","features":[`+square(1)+`,`+strings.Replace(square(2), "{}", `{"paddock:expires":"2026-03-12T11:00:00Z"}`, 1)+`]}`)
	now := time.Date(2026, 3, 12, 10, 0, 0, 0, time.UTC)
	o := fence.Options{Now: func() time.Time { return now }}
	p.restart(o)
	p.restart(o)
	p.fromSnapshot(true)
	now = now.Add(time.Hour)
	if log := p.restart(o); !strings.Contains(log, "a fence has expired since it was made") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	p.fromSnapshot(false)
	p.serves("a=1")
}

func TestAnUnusableSnapshotIsRefused(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.restart(fence.Options{})
	for _, c := range []struct {
		why   string
		spoil func(at string, whole []byte) error
	}{
		{"the checksum is wrong", func(at string, b []byte) error { b[len(b)-9] ^= 1; return os.WriteFile(at, b, 0o600) }},
		{"bytes, not", func(at string, b []byte) error { return os.Truncate(at, int64(len(b)-8)) }},
		{"it has 0 bytes", func(at string, _ []byte) error { return os.Truncate(at, 0) }},
		{"does not begin with", func(at string, b []byte) error { b[0]++; return os.WriteFile(at, b, 0o600) }},
		{"version", func(at string, b []byte) error { b[8]++; return os.WriteFile(at, b, 0o600) }},
		{"other users may write to it", func(at string, _ []byte) error { return os.Chmod(at, 0o666) }},
	} {
		whole, err := os.ReadFile(p.snapshot())
		p.must(err)
		p.must(c.spoil(p.snapshot(), whole))
		if log := p.restart(fence.Options{}); !strings.Contains(log, "snapshot refused") || !strings.Contains(log, c.why) {
			t.Errorf("not refused for %q:\n%s", c.why, log)
		}
		p.fromSnapshot(false)
		p.serves("a=1")
		p.restart(fence.Options{})
		p.fromSnapshot(true)
	}
}

// A mapped snapshot would end the process with SIGBUS here.
func TestASnapshotMayBeCutOffWhileItIsUsed(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.restart(fence.Options{})
	p.restart(fence.Options{})
	p.fromSnapshot(true)
	p.must(os.Truncate(p.snapshot(), 0))
	p.serves("a=1")
}

func TestSnapshotsOfOtherOptionsAreApart(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	for _, o := range []fence.Options{{}, {Kind: fence.KindRTree}, {Boundary: geometry.BoundaryClosed}, {IDProperty: "x"}} {
		p.restart(o)
		p.fromSnapshot(false)
	}
	p.restart(fence.Options{})
	p.fromSnapshot(true)
}

func TestWhereNothingCanBeWrittenThereAreNoSnapshots(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.must(os.WriteFile(p.dir+"-snapshots", nil, 0o600))
	if log := p.restart(fence.Options{}); !strings.Contains(log, "no snapshots of sets") {
		t.Error(log)
	}
	p.serves("a=1")
}

// Beyond the bound the least recently used snapshots are removed, and unfinished files of a crash.
func TestSnapshotsAreBounded(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.must(os.Mkdir(p.dir+"-snapshots", 0o700))
	old := time.Now().Add(-2 * time.Hour)
	for i := range maxSnapshots {
		at := filepath.Join(p.dir+"-snapshots", fmt.Sprintf("x%d%s", i, snapshotSuffix))
		p.must(os.WriteFile(at, nil, 0o600))
		p.must(os.Chtimes(at, old, old.Add(time.Duration(i)*time.Second)))
	}
	half := filepath.Join(p.dir+"-snapshots", newSnapshot+"1")
	p.must(os.WriteFile(half, nil, 0o600))
	p.must(os.Chtimes(half, old, old))
	p.restart(fence.Options{})
	left, err := os.ReadDir(p.snapshots)
	if err != nil || len(left) != maxSnapshots {
		t.Errorf("%d are left of %d, %v", len(left), maxSnapshots, err)
	}
	p.snapshot()
	if _, err := os.Stat(filepath.Join(p.snapshots, "x0"+snapshotSuffix)); !os.IsNotExist(err) {
		t.Error("the oldest is still there")
	}
}

// largest returns the largest file of the real data, which is not part of the project.
func largest(b *testing.B) []byte {
	b.Helper()
	var largest string
	var size int64
	files, _ := filepath.Glob("../../../../shared/data/nyc/*.geojson")
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Size() > size {
			largest, size = f, info.Size()
		}
	}
	if largest == "" {
		b.Skip("no real data in ../shared/data")
	}
	data, err := os.ReadFile(largest)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func benchPlace(b *testing.B) Options {
	b.Helper()
	dir := b.TempDir()
	old := time.Now().Add(-time.Hour)
	at := filepath.Join(dir, "largest.json")
	if err := os.WriteFile(at, largest(b), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Chtimes(at, old, old); err != nil {
		b.Fatal(err)
	}
	return Options{Dir: dir}
}

func opened(b *testing.B, o Options) *Directory {
	b.Helper()
	o.Catalog = new(fence.Catalog)
	d, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkStart makes a directory of one large file serve, without a snapshot.
func BenchmarkStart(b *testing.B) {
	o := benchPlace(b)
	for b.Loop() {
		opened(b, o)
	}
}

// BenchmarkSnapshotOpen is BenchmarkStart with a snapshot.
func BenchmarkSnapshotOpen(b *testing.B) {
	o := benchPlace(b)
	o.Snapshots = b.TempDir()
	opened(b, o).keep()
	for b.Loop() {
		if d := opened(b, o); !d.files["largest.json"].restored {
			b.Fatal("the snapshot was not used")
		}
	}
}

// BenchmarkSnapshotWrite writes the snapshot, down to the disk.
func BenchmarkSnapshotWrite(b *testing.B) {
	o := benchPlace(b)
	o.Snapshots = b.TempDir()
	d := opened(b, o)
	for b.Loop() {
		d.files["largest.json"].written = false
		d.keep()
	}
}
