package dryrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/rulebook/dryrun"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A file gives the positions that the platform would accept, and each other one is named with its
// place.
func TestReadPositions(t *testing.T) {
	const (
		good = `{"id":"a","lon":1,"lat":2,"t":"2030-01-01T00:00:00Z"}`
		bare = `{"id":"a","lon":1,"lat":2}`
		bad  = `{"id":"a","lon":1,"lat":95,"t":"2026-01-01T00:00:00Z"}`
	)
	for text, want := range map[string]string{
		good + "\n\n" + bare + "\n" + bad + "\n" + good: "2, f:3: t: missing; f:4: lat: 95",
		bad: "0, f:1: lat: 95",
		"[" + good + "," + bare + "," + bad + "]": "1, f: position 1: t: missing; f: position 2: lat: 95",
		"{\n" + bare[1:]: "0, f: position 0: t: missing",
		`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"t":"2026-01-01T00:00:00Z"}}`: "1",
	} {
		got, err := dryrun.ReadPositions("f", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		told := fmt.Sprint(len(got.Positions))
		for i := range got.Rejected {
			r := &got.Rejected[i]
			told += fmt.Sprintf("; %s: %s", r.Place("f"), r.Reason)
		}
		for i, part := range strings.Split(strings.Replace(want, ", ", "; ", 1), "; ") {
			if parts := strings.Split(told, "; "); i >= len(parts) || !strings.HasPrefix(parts[i], part) {
				t.Errorf("%s: %s, want %s", text, told, want)
			}
		}
	}
	if _, err := dryrun.ReadPositions("f", strings.NewReader("[")); err == nil || !strings.HasPrefix(err.Error(), "f: ") {
		t.Error(err)
	}
	many, err := dryrun.ReadPositions("f", strings.NewReader(strings.Repeat(bare+"\n", 1100)))
	if err != nil || len(many.Rejected) != 1000 || many.Omitted != 100 {
		t.Errorf("%d listed, %d omitted, %v", len(many.Rejected), many.Omitted, err)
	}
}

// A file of rules is tried with the policies of the directory, which need not have rules that can
// be read, and without a policy of its own a set has that of the platform.
func TestReadState(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "yards.geojson", `{"type":"FeatureCollection","features":[]}`)
	write(t, dir, "yards.policy.yaml", "preset: raw\nttl: 1h\n")
	write(t, dir, "rules.yaml", "rules: 5\n")
	file := write(t, t.TempDir(), "mine.yaml", "rules:\n  - {id: a, set: yards}\n")
	rules, err := dryrun.ReadRules(file)
	if err != nil || len(rules) != 1 {
		t.Fatalf("%v, %v", rules, err)
	}
	state, err := dryrun.ReadState(dir, file, rules)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := dryrun.ReadSets(dir, fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	steady, _ := track.ParsePolicy("steady")
	if p, _, own := state.Policy("yards"); !own || p.TTL.Hours() != 1 || p.Fixes == steady.Fixes {
		t.Errorf("%+v", p)
	}
	if p, _, own := state.Policy("others"); own || *p != steady {
		t.Errorf("%+v", p)
	}
	if v := dryrun.View(catalog, state, nil); len(v.Sets) != 1 || v.Rules.Len() != 1 || v.Sets[0].Policy.TTL.Hours() != 1 {
		t.Errorf("%+v", v)
	}
	if v := dryrun.View(catalog, state, &steady); *v.Sets[0].Policy != steady {
		t.Errorf("%+v", v.Sets[0].Policy)
	}
	for text, want := range map[string]string{
		"rules:\n  - {id: a, set: yards, detect: [entr]}\n":          ":2:34: rules[0].detect[0]: ",
		"rules:\n  - {id: a, set: yards}\n  - {id: a, set: docks}\n": "rules[1].id",
	} {
		if _, err := dryrun.ReadRules(write(t, t.TempDir(), "bad.yaml", text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bad.yaml") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := dryrun.ReadSets(filepath.Join(dir, "none"), fence.Options{}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	write(t, dir, "yards.policy.yaml", "metre: 1\n")
	if _, err := dryrun.ReadState(dir, file, rules); err == nil || !strings.Contains(err.Error(), "yards.policy.yaml:1:") {
		t.Error(err)
	}
}
