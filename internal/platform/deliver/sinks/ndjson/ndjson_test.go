package ndjson

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

func batchOf(ids ...string) *deliver.Batch {
	b := &deliver.Batch{}
	for _, id := range ids {
		b.Items = append(b.Items, deliver.Item{Record: events.Record{Kind: track.Enter, JSON: events.Plain([]byte(`{"id":"` + id + `"}`))}})
	}
	return b
}

// line is the length of a line of batchOf, for ids of one byte.
const line = int64(len(`{"id":"1"}` + "\n"))

func send(t *testing.T, e *End, ids ...string) {
	t.Helper()
	if r := e.Send(t.Context(), batchOf(ids...)); r.Verdict != deliver.Delivered {
		t.Fatal(r)
	}
}

// ids returns the ids in a file.
func ids(t *testing.T, path string) (all string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		var id string
		if _, err := fmt.Sscanf(l, "{\"id\":\"%1s\"}\n", &id); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		all += id
	}
	return all
}

// older returns the ids in the older files, by their names.
func older(t *testing.T, path string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(strings.TrimSuffix(path, ".ndjson") + "-*.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		all = append(all, ids(t, f))
	}
	return all
}

// Batches follow each other in the file, also after it was closed. A line that was cut off goes.
func TestAppends(t *testing.T) {
	c := &Config{Path: filepath.Join(t.TempDir(), "e.ndjson"), MaxBytes: config.MiB, Keep: 1}
	e := New(c, false)
	send(t, e, "1", "2")
	send(t, e, "3")
	e.Close()
	f, err := os.OpenFile(c.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"` + strings.Repeat("x", 200_000)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	e = New(c, false)
	send(t, e, "4")
	e.Close()
	if got := ids(t, c.Path); got != "1234" {
		t.Error(got)
	}
	if info, err := os.Stat(c.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A file that would become too long gets another name, and the oldest of these go.
func TestRotates(t *testing.T) {
	c := &Config{Path: filepath.Join(t.TempDir(), "e.ndjson"), MaxBytes: config.Size(2 * line), Keep: 2}
	beside := strings.TrimSuffix(c.Path, ".ndjson") + "-mine.ndjson"
	if err := os.WriteFile(beside, []byte(`{"id":"m"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := New(c, false)
	defer e.Close()
	for _, id := range strings.Split("12345678", "") {
		send(t, e, id)
	}
	send(t, e, "9", "a", "b") // a batch is not divided
	if got := ids(t, c.Path); got != "9ab" {
		t.Error(got)
	}
	if got := strings.Join(older(t, c.Path), " "); got != "56 78 m" {
		t.Error(got)
	}
}

// After the clock was set back a file gets a time behind that of the newest one, so that the oldest
// goes and not the newest.
func TestRotatesWithTheClockSetBack(t *testing.T) {
	c := &Config{Path: filepath.Join(t.TempDir(), "e.ndjson"), MaxBytes: config.Size(line), Keep: 2}
	e := New(c, false)
	defer e.Close()
	ahead := time.Date(2999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	if err := os.WriteFile(e.nameOf(ahead), []byte(`{"id":"1"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"2", "3", "4", "5"} {
		send(t, e, id)
	}
	if got := strings.Join(older(t, c.Path), " "); got != "3 4" {
		t.Error(got)
	}
	if got := ids(t, e.nameOf(ahead.Add(3*unit))); got != "4" {
		t.Error(got)
	}
}

// A program that takes the file away, or cuts it, gets the next events in a new one.
func TestFileIsTaken(t *testing.T) {
	c := &Config{Path: filepath.Join(t.TempDir(), "e.ndjson"), MaxBytes: config.MiB, Keep: 1}
	e := New(c, false)
	defer e.Close()
	send(t, e, "1")
	if err := os.Rename(c.Path, c.Path+".1"); err != nil {
		t.Fatal(err)
	}
	send(t, e, "2")
	if err := os.Truncate(c.Path, 0); err != nil {
		t.Fatal(err)
	}
	send(t, e, "3")
	if got := ids(t, c.Path+".1") + " " + ids(t, c.Path); got != "1 3" {
		t.Error(got)
	}
}

// A file that cannot be written has failed, and goes on where it was later.
func TestFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	e := New(&Config{Path: filepath.Join(dir, "e.ndjson"), MaxBytes: config.MiB, Keep: 1}, false)
	defer e.Close()
	if r := e.Send(t.Context(), batchOf("1")); r.Verdict != deliver.Failed || !strings.Contains(r.Reason, "no such file or directory") {
		t.Error(r)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	send(t, e, "1")
	if got := ids(t, e.c.Path); got != "1" {
		t.Error(got)
	}
}

// The format of Tile38 is that of its notifications.
func TestTile38(t *testing.T) {
	c := &Config{Path: filepath.Join(t.TempDir(), "e.ndjson"), MaxBytes: config.MiB, Keep: 1}
	e := New(c, true)
	send(t, e, "1")
	e.Close()
	text, err := os.ReadFile(c.Path)
	if err != nil || !strings.HasPrefix(string(text), `{"command":"set","group":"","detect":"enter"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// The section has its faults with their places.
func TestRead(t *testing.T) {
	file, root := strictyaml.Parse("p.yaml", []byte("path: e.ndjson\nmax_bytes: 1GiB\nkeep: 3\n"))
	c := Read(root)
	c.Locate("/data")
	if err := file.Err(); err != nil || c.Path != "/data/e.ndjson" || c.MaxBytes != config.GiB || c.Keep != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"1_000", "1e3", "16 files", "0x10"} { // of which the first digit is a number
		file, root = strictyaml.Parse("p.yaml", []byte("path: e.ndjson\nkeep: "+text+"\n"))
		if c := Read(root); file.Err() == nil {
			t.Errorf("keep: %s is %d", text, c.Keep)
		}
	}
	file, root = strictyaml.Parse("p.yaml", []byte("max_bytes: -1\nkeep: 0\nrotate: 1\n"))
	Read(root)
	for _, want := range []string{"p.yaml:1:12: max_bytes: ", `p.yaml:2:7: keep: "0" is not a number from 1 to 100000`, "p.yaml:3:1: unknown key rotate", "file: path is missing"} {
		if !strings.Contains(fmt.Sprint(file.Err()), want) {
			t.Errorf("%q is not in\n%v", want, file.Err())
		}
	}
}
