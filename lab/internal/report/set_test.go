package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"paddock/lab/internal/runfile"
	"paddock/load"
)

// The page of several runs has a curve, a series and a row for each, the red ones are named, and
// nothing that a service or a file name says reaches it as markup.
func TestSet(t *testing.T) {
	s := &Set{}
	for i, name := range []string{"one", "two", hostile} {
		r := newRun(20)
		r.Document.Plan.Conns, r.Plan.Arrivals = 10*(i+1), nil
		r.Document.Verdict.Level = load.Level(i).String()
		s.Runs = append(s.Runs, Member{r, name, "series"})
	}
	var page, text bytes.Buffer
	if err := s.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "</script>"); n != 2 || strings.Contains(page.String(), "<script>alert") {
		t.Errorf("%d ends of scripts in\n%s", n, page.String())
	}
	if match := regexp.MustCompile(`(?i)<(link|img|iframe)|(src|href)=|@import|url\(|fetch\(`).Find(page.Bytes()); match != nil {
		t.Errorf("the page has %q", match)
	}
	found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(page.Bytes())
	var data plotData
	if err := json.Unmarshal(found[1], &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Curves) != 3 || len(data.Runs) != 3 || data.Levels.Unit != "connections" || len(data.Levels.Series) != 1 || data.Levels.Series[0].Points[2][0] != 30 {
		t.Errorf("%s", found[1])
	}
	if !strings.Contains(page.String(), "3 runs; red: &lt;/script&gt;") {
		t.Error("the red run is not named")
	}
	if err := s.WriteText(&text); err != nil || strings.ContainsAny(text.String(), "\x1b\u202e") || strings.Count(text.String(), "900/s") != 3 {
		t.Errorf("%v: %q", err, text.String())
	}
}

// The diagram by load is over what the runs have in common, and there is none for a single load.
func TestLevels(t *testing.T) {
	for _, tc := range []struct {
		name  string
		open  []bool
		conns []int
		want  string
	}{
		{"closed", []bool{false, false}, []int{1, 2}, "connections"},
		{"open", []bool{true, true}, []int{1, 1}, "requests asked for per second"},
		{"both", []bool{true, false}, []int{1, 2}, "good answers per second"},
		{"one load", []bool{false, false}, []int{2, 2}, ""},
	} {
		s := &Set{}
		for i, open := range tc.open {
			r := newRun(20)
			r.Document.Plan.Conns = tc.conns[i]
			r.Result.Total.Target, r.Result.InTime = float64(20_000*(i+1)), r.Result.InTime*int64(i+1)
			if !open {
				r.Plan.Arrivals = nil
			}
			s.Runs = append(s.Runs, Member{r, strconv.Itoa(i), "s"})
		}
		if l := s.levels(); (l == nil) != (tc.want == "") || l != nil && l.Unit != tc.want {
			t.Errorf("%s: %+v", tc.name, l)
		}
	}
}

// Runs are found in the order of the numbers in their names, and a page takes 64 of them.
func TestOpenSet(t *testing.T) {
	var document bytes.Buffer
	if err := newRun(20).Document.Write(&document); err != nil {
		t.Fatal(err)
	}
	fill := func(dir string, names ...string) string {
		for _, name := range names {
			path := filepath.Join(dir, name, runfile.RunFile)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, document.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	dir := t.TempDir()
	a, b := fill(filepath.Join(dir, "x", "a"), "c-2", "c-10", "c-1"), fill(filepath.Join(dir, "b"), "")
	s, err := OpenSet([]string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range s.Runs {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "a/c-1 a/c-2 a/c-10 b" {
		t.Errorf("%s", got)
	}
	var page bytes.Buffer
	if err := s.WriteHTML(&page); err != nil || strings.Contains(page.String(), `id="rates"`) {
		t.Errorf("runs without seconds: %v", err)
	}
	many := filepath.Join(dir, "many")
	for i := range maxRuns + 1 {
		fill(many, strconv.Itoa(i))
	}
	if _, err := OpenSet([]string{many}); err == nil || !strings.Contains(err.Error(), "more than 64") {
		t.Errorf("%v", err)
	}
}
