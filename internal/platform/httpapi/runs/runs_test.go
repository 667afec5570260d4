package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// runText is a run.json with a beginning, without the members that are not read.
func runText(began string) string {
	return fmt.Sprintf(`{"schema": "paddock.run/1",
"manifest": {"began": %q, "argv": ["paddock", "bench", "http", "http://10.0.0.2/"], "version": "v1", "revision": null, "cpu_model": "EPYC", "cpus": 2, "kernel": "6.1"},
"plan": {"driver": "http/1.1", "address": "10.0.0.2:80", "model": "open", "arrivals": "poisson 100/s", "conns": 4},
"totals": {"interrupted": false, "done": 95, "good": 90, "per_second": 9.5, "unanswered": 3, "unsent": 2},
"response": {"max_ns": 900, "quantiles": [{"q": 0.5, "ns": 100}, {"q": 0.99, "ns": 800}, {"q": 1, "ns": 900}]},
"objectives": [{"objective": "p99<50ms", "outcome": "met", "text": "800ns", "limit": 5e7}],
"errors": [{"class": "status", "count": 5, "samples": []}],
"lamp": {"verdict": "green", "text": "the service's", "measures": []},
"host": {"user_ns": 9000, "system_ns": 500}}`, began)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, path string) *Directory {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func listed(t *testing.T, d *Directory) (*List, []string) {
	t.Helper()
	list, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list.Runs {
		names = append(names, r.Name)
	}
	return list, names
}

// A list has the runs of the directory and one level further down, the newest first, with the
// figures of each.
func TestList(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old", "run.json"), runText("2026-03-01T00:00:00Z"))
	write(t, filepath.Join(dir, "new", "run.json"), runText("2026-03-03T00:00:00Z"))
	write(t, filepath.Join(dir, "new", "report.html"), "<p>")
	write(t, filepath.Join(dir, "new", "within", "run.json"), runText("2026-03-04T00:00:00Z"))
	write(t, filepath.Join(dir, "twice", "2", "run.json"), runText("2026-03-02T00:00:00Z"))
	write(t, filepath.Join(dir, "twice", "too", "deep", "run.json"), runText("2026-03-05T00:00:00Z"))
	write(t, filepath.Join(dir, "other", "seconds.csv"), "")
	write(t, filepath.Join(dir, "run.json"), runText("2026-03-06T00:00:00Z"))
	d := opened(t, dir)
	list, names := listed(t, d)
	if want := []string{"new", "twice/2", "old"}; !slices.Equal(names, want) || list.All != 3 || !list.Complete || list.Directory != dir {
		t.Fatalf("%q of %d, want %q", names, list.All, want)
	}
	if !list.Runs[0].Report || list.Runs[1].Report {
		t.Error("the first run alone has a report")
	}
	got, _ := json.Marshal(list.Runs[0].Summary)
	want := `{"began":"2026-03-03T00:00:00Z","command":"paddock bench http http://10.0.0.2/","version":"v1","revision":null,"cpu_model":"EPYC","cpus":2,` +
		`"driver":"http/1.1","target":"10.0.0.2:80","model":"open","arrivals":"poisson 100/s","conns":4,` +
		`"interrupted":false,"good":90,"rate":9.5,"p50_ns":100,"p99_ns":800,"max_ns":900,"errors":0.1,"generator_cpu_ns":100,` +
		`"verdict":"green","verdict_text":"the service's","objectives":[{"objective":"p99\u003c50ms","outcome":"met","text":"800ns"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	write(t, filepath.Join(dir, "old", "run.json"), runText("2026-03-09T00:00:00.5Z"))
	if _, names := listed(t, d); names[0] != "old" {
		t.Errorf("%q after a run was written again", names)
	}
}

// A broken run.json is listed with its error, and the others are as they were. Links out of the
// directory are not followed.
func TestBrokenRuns(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "run.json"), runText("2026-03-03T00:00:00Z"))
	write(t, filepath.Join(dir, "good", "run.json"), runText("2026-03-03T00:00:00Z"))
	for name, text := range map[string]string{
		"empty": "", "cut": runText("2026-03-03T00:00:00Z")[:40], "type": `{"totals":{"done":"many"}}`, "time": runText("yesterday"),
		"schema": `{"schema":"paddock.run/2"}`, "large": strings.Repeat(" ", maxRunFile+1), "null": "null",
	} {
		write(t, filepath.Join(dir, name, "run.json"), text)
	}
	if err := errors.Join(
		os.Symlink(outside, filepath.Join(dir, "linked")), os.MkdirAll(filepath.Join(dir, "escape"), 0o755), os.MkdirAll(filepath.Join(dir, "folder", "run.json"), 0o755),
		os.Symlink(filepath.Join(outside, "run.json"), filepath.Join(dir, "escape", "run.json")),
	); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"good": "", "empty": "run.json: byte 0: unexpected end of JSON input", "cut": "run.json: byte 40: unexpected end of JSON input",
		"type": "run.json: totals.done: a string where another type is expected", "null": `run.json: the schema is "", not "paddock.run/1"`,
		"time": "run.json: parsing time", "schema": `run.json: the schema is "paddock.run/2", not "paddock.run/1"`,
		"large": "run.json: 1048577 bytes, of which at most 1048576 are read", "escape": "run.json: path escapes from parent", "folder": "run.json: not a regular file",
	}
	list, _ := listed(t, opened(t, dir))
	for _, r := range list.Runs {
		text, ok := want[r.Name]
		if !ok || !strings.HasPrefix(r.Error, text) || (text == "") != (r.Error == "") || (r.Summary == nil) == (text == "") {
			t.Errorf("%s: %q, want %q", r.Name, r.Error, text)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// A list has the runs that were written last, and says how many there are. Of a directory with
// more entries than are looked at, it says so.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	begun := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range MaxRuns + 3 {
		name := filepath.Join(dir, fmt.Sprintf("%03d", i), "run.json")
		write(t, name, `{"schema":"paddock.run/1"}`)
		if err := os.Chtimes(name, begun, begun.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	list, names := listed(t, opened(t, dir))
	if len(names) != MaxRuns || list.All != MaxRuns+3 || slices.Contains(names, "002") || !slices.Contains(names, "003") {
		t.Errorf("%d of %d: %q", len(names), list.All, names)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, left := range []int{7, MaxRuns + 2, MaxRuns + 3} {
		s := search{root: root, left: left}
		if err := s.below("."); err != nil || len(s.found) != left || (s.left >= 0) != (left == MaxRuns+3) {
			t.Errorf("%d entries: %d found, %d left, %v", left, len(s.found), s.left, err)
		}
	}
}

func TestLongTexts(t *testing.T) {
	for text, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "12345…", "1234äöü9": "1234…"} {
		if got := clip(text, 8); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A report is served with a policy that keeps its script in a sandbox. Names lead to no other file.
func TestReports(t *testing.T) {
	dir, outside := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	for _, name := range []string{filepath.Join(dir, "a"), filepath.Join(dir, "b", "2"), outside, filepath.Dir(dir), dir} {
		write(t, filepath.Join(name, "report.html"), "<script>1</script>")
	}
	write(t, filepath.Join(dir, "c", "d", "e", "report.html"), "")
	write(t, filepath.Join(dir, "escape", "x"), "")
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "linked")), os.Symlink(filepath.Join(outside, "report.html"), filepath.Join(dir, "escape", "report.html"))); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	for _, name := range []string{"a", "b/2"} {
		w := httptest.NewRecorder()
		if err := d.ServeReport(w, name); err != nil || w.Body.String() != "<script>1</script>" {
			t.Errorf("%s: %v, %s", name, err, w.Body)
		}
		h := w.Header()
		if h.Get("Content-Security-Policy") != reportPolicy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %v", name, h)
		}
	}
	for _, name := range []string{"", ".", "..", "/", "/a", "a/", "a/.", "../runs/a", "a/../../" + filepath.Base(outside), "linked", "escape", "c/d/e", "none", "b", "a\x00", outside} {
		w := httptest.NewRecorder()
		if err := d.ServeReport(w, name); !errors.Is(err, ErrNone) || w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%q: %v, %s", name, err, w.Body)
		}
	}
}

// A setting names a directory. One that is gone later is an error of the request, and one that is
// there again is read.
func TestOpen(t *testing.T) {
	if d, err := Open(""); d != nil || err != nil {
		t.Errorf("none: %v, %v", d, err)
	}
	dir := filepath.Join(t.TempDir(), "runs")
	write(t, filepath.Join(dir, "file"), "")
	for _, path := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "absent")} {
		if err := Check(path); err == nil {
			t.Errorf("%s has no error", path)
		}
	}
	var none *Directory
	if _, err := none.List(); !errors.Is(err, ErrNone) {
		t.Errorf("a list of none: %v", err)
	}
	d := opened(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := d.List(); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("a list of a directory that is gone: %v", err)
	}
	write(t, filepath.Join(dir, "a", "run.json"), runText("2026-03-01T00:00:00Z"))
	if _, names := listed(t, d); !slices.Equal(names, []string{"a"}) {
		t.Errorf("%q in the directory that is there again", names)
	}
}

// The schema of run.json has every member that is read.
func TestReadsTheSchema(t *testing.T) {
	text, err := os.ReadFile("../../../../lab/internal/runfile/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	members := 0
	var check func(path string, v reflect.Type, node map[string]any)
	check = func(path string, v reflect.Type, node map[string]any) {
		for {
			if ref, ok := node["$ref"].(string); ok {
				node = schema["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			} else if either, ok := node["anyOf"].([]any); ok {
				node = either[0].(map[string]any)
			} else if v.Kind() == reflect.Pointer {
				v = v.Elem()
			} else if items, ok := node["items"].(map[string]any); ok && v.Kind() == reflect.Slice {
				v, node = v.Elem(), items
			} else {
				break
			}
		}
		if v.Kind() != reflect.Struct || v == reflect.TypeFor[time.Time]() {
			members++
			return
		}
		for i := range v.NumField() {
			name := v.Field(i).Tag.Get("json")
			properties, _ := node["properties"].(map[string]any)
			below, ok := properties[name].(map[string]any)
			if !ok {
				t.Errorf("%s.%s is not in the schema", path, name)
				continue
			}
			check(path+"."+name, v.Field(i).Type, below)
		}
	}
	check("run", reflect.TypeFor[document](), schema)
	if members < 25 {
		t.Errorf("%d members were compared", members)
	}
}
