package sinks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/process/strictyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(text string) (*Settings, error) {
	file, root := strictyaml.Parse("p.yaml", []byte(text))
	file.Env = func(name string) (string, bool) { return "of-" + name, true }
	return Read(root), file.Err()
}

// The section has its faults with their places.
func TestFaults(t *testing.T) {
	s, err := read("- {id: b, file: {path: b.ndjson}, sets: [x], events: [enter], format: tile38}\n- {id: a, file: {path: /a.ndjson}, enabled: false}\n")
	if err != nil || len(s.Sinks) != 2 || s.Sinks[0].ID != "a" || s.Sinks[0].Enabled || !s.Sinks[1].Tile38 || s.Sinks[1].Sets[0] != "x" {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := s.Locate("/etc"); err != nil {
		t.Error(err)
	}
	if got := s.Sinks[0].to.String() + " " + s.Sinks[1].to.String(); got != "/a.ndjson /etc/b.ndjson" {
		t.Error(got)
	}
	_, err = read("- {id: a, file: {path: x}, events: [entr], format: xml}\n- {id: a, file: {path: x}}\n- {file: {path: x}, colour: red}\n- {id: d}\n")
	for _, want := range []string{
		`p.yaml:1:36: events: value 1: unknown event "entr"`, `p.yaml:1:52: format: "xml" is neither cloudevents nor tile38`, "p.yaml:2:3: id: a is the id of the sink at p.yaml:1:",
		"p.yaml:3:21: unknown key colour", "id: missing", "a sink has one of ",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if _, err := read(strings.Repeat("- {id: a}\n", MaxSinks+1)); err == nil || !strings.Contains(err.Error(), "101 sinks, the limit is 100") {
		t.Error(err)
	}
}

// Two sinks do not write one file, however their paths are written.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("there", filepath.Join(dir, "link")), os.Symlink(dir, filepath.Join(dir, "here"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, c := range []struct {
		dir, a, b string
		one       bool
	}{
		{dir, "d/x", "./d/y/../x", true},
		{dir, "x", filepath.Join(dir, "x"), true},
		{"absent", "x", "absent//x", false}, // which is below absent
		{"/absent", "x", "/absent//x", true},
		{".", "x", filepath.Join(dir, "x"), true},
		{dir, "x", "here/x", true},
		{dir, "there", "link", true},
		{dir, "x", "there", false},
		{dir, "x", "d/x", false},
	} {
		s, err := read(fmt.Sprintf("- {id: a, file: {path: %s}}\n- {id: b, file: {path: %s}}\n- {id: c, nats: {url: 'nats://a:1'}}\n- {id: d, nats: {url: 'nats://a:1'}}\n", c.a, c.b))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("b: file: the sink a writes %s too: give each its own file", filepath.Join(c.dir, c.a))
		if err := s.Locate(c.dir); (err != nil) != c.one || err != nil && err.Error() != want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A sink gets the events that it selects, goes on after a restart where it was, and goes with its
// state from the store once it is not in the file.
func TestSinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.ndjson")
	store, log := journal.NewMemory(), events.NewLog(100, 1<<20, "e")
	open := func(text string) *Sinks {
		t.Helper()
		settings, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Settings: settings, Log: log, Store: store, Keeps: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	tell := func(sets ...string) {
		for _, set := range sets {
			log.Append([]events.Record{{Set: set, JSON: events.Plain([]byte(`{"set":"` + set + `"}`))}})
		}
	}
	drain := func(s *Sinks) {
		t.Helper()
		if err := s.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	}
	await := func(want string) {
		t.Helper()
		for {
			text, err := os.ReadFile(path)
			if got := strings.Join(strings.Fields(string(text)), " "); got == want {
				return
			} else if err != nil && !errors.Is(err, os.ErrNotExist) || len(got) >= len(want) {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
		}
	}
	text := "- {id: archive, file: {path: " + path + "}, sets: [a, c]}\n"
	s := open(text)
	tell("a", "b", "c")
	await(`{"set":"a"} {"set":"c"}`)
	if list := s.List(); len(list) != 1 || list[0].ID != "archive" || list[0].Kind != "file" || list[0].To != path || list[0].Events != "sets a,c" {
		t.Errorf("%+v", list)
	}
	if shown, err := s.Operate("archive", Disable); err != nil || shown.State.Reason != "by request" {
		t.Errorf("%+v, %v", shown, err)
	}
	tell("c")
	for _, operation := range []string{Retry, Enable} {
		if _, err := s.Operate("archive", operation); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Operate("other", Retry); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	await(`{"set":"a"} {"set":"c"} {"set":"c"}`)
	drain(s)
	tell("a")
	s = open(text)
	await(`{"set":"a"} {"set":"c"} {"set":"c"} {"set":"a"}`)
	drain(s)
	if n := s.Attempts(deliver.Delivered); n == 0 {
		t.Error("no attempt was counted")
	}
	s = open("[]\n")
	drain(s)
	if names, _ := store.Names(prefix); len(names) != 0 {
		t.Errorf("%q", names)
	}
}
