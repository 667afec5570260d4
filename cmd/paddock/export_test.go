//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"paddock/internal/platform/history/export"
)

// exported runs export to standard output.
func exported(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := outcomeOf(t, append([]string{"export"}, args...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("%s: code %d: %s", args, code, stderr)
	}
	return stdout
}

// contentsOf returns the files below a directory.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// The past of a platform is the same table, whether it runs, was killed, was stopped, or is a
// backup, and reading it changes nothing.
func TestExport(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := upKeeping(t, data)
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	begin := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	for n := range 30 {
		at := begin.Add(time.Duration(n) * time.Second).UnixMilli()
		body := fmt.Sprintf(`[{"id":"v1","lon":%d,"lat":1.25,"t":%d,"speed":3.4,"props":{"n":"<%d>"}},{"id":"a/b","fleet":"other","lon":%v,"lat":1,"t":%d}]`,
			n%20, at, n, float64(n)/3, at)
		if status, answer := p.send(t, http.MethodPost, "v1/positions", body); status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	forms := [][]string{
		{"--csv", "-"},
		{"--ndjson", "-"},
		{"--ndjson", "-", "--visits"},
		{"--ndjson", "-", "--events"},
		{"--csv", "-", "--object", "a/b"},
		{"--csv", "-", "--fleet", "default", "--from", begin.Add(5 * time.Second).Format(time.RFC3339), "--to", begin.Add(7 * time.Second).Format(time.RFC3339)},
	}
	var want []string
	for _, form := range forms {
		want = append(want, exported(t, append(form, "--url", p.url)...))
	}
	checkTables(t, want, begin)

	code, _, stderr := outcomeOf(t, "export", "--csv", "-", "--data", data)
	if code != 1 || !strings.Contains(stderr, "in use by another process") || !strings.Contains(stderr, "--url, or by --backup") {
		t.Errorf("code %d: %s", code, stderr)
	}
	backup := filepath.Join(t.TempDir(), "backup.tar")
	if code, _, stderr := outcomeOf(t, "backup", "-o", backup, "--server", p.url); code != 0 {
		t.Fatal(stderr)
	}
	compare := func(source ...string) {
		t.Helper()
		for i, form := range forms {
			if got := exported(t, slices.Concat(form, source)...); got != want[i] {
				t.Errorf("%s %s:\n%s\nwant\n%s", form, source, got, want[i])
			}
		}
	}
	compare("--backup", backup)
	_ = p.Process.Kill()
	_ = p.Wait() // it was killed
	before := contentsOf(t, data)
	compare("--data", data)
	if after := contentsOf(t, data); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("the directory has changed")
	}
	p = upKeeping(t, data)
	p.terminate(t)
	compare("--data", data)
	checkParquet(t, data, want[1])
}

// checkTables compares some of the tables with what was sent.
func checkTables(t *testing.T, tables []string, begin time.Time) {
	t.Helper()
	at := func(n int) string {
		return begin.Add(time.Duration(n) * time.Second).Format("2006-01-02T15:04:05.000Z")
	}
	count := func(i int) int { return strings.Count(tables[i], "\n") }
	if count(0) != 61 || !strings.HasPrefix(tables[0], "fleet,object,t,seen,lon,lat,accuracy,speed,heading,props\ndefault,v1,"+at(0)+",") ||
		!strings.Contains(tables[0], `,3,1.25,,3.4,,"{""n"":""<3>""}"`) {
		t.Errorf("positions: %s", tables[0])
	}
	if count(1) != 60 || count(2) != 3 || count(3) != 6 { // v1 enters, leaves, enters and leaves; the other one enters and leaves
		t.Errorf("%d positions, %d visits, %d events:\n%s%s", count(1), count(2), count(3), tables[2], tables[3])
	}
	if count(4) != 31 || strings.Contains(tables[4], "v1") {
		t.Errorf("of one object: %s", tables[4])
	}
	if count(5) != 3 || !strings.Contains(tables[5], at(5)) || !strings.Contains(tables[5], at(6)) {
		t.Errorf("of a time: %s", tables[5])
	}
}

// checkParquet compares a file of Parquet with the lines of JSON, as two programs read it.
func checkParquet(t *testing.T, data, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "positions.parquet")
	var summary struct {
		File, Format, Kind   string
		Rows, Objects, Bytes int64
	}
	if err := json.Unmarshal([]byte(exported(t, "--parquet", file, "--json", "--data", data)), &summary); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || summary.File != file || summary.Format != "parquet" || summary.Kind != "positions" ||
		summary.Rows != 60 || summary.Objects != 2 || summary.Bytes != info.Size() {
		t.Errorf("%+v, %v", summary, err)
	}
	rows, err := parquet.ReadFile[export.Position](file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	for i := range rows {
		if err := e.Encode(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", &got, want)
	}
	const script = `
import json, sys, pyarrow.parquet as parquet
for r in parquet.read_table(sys.argv[1]).to_pylist():
    print(json.dumps([r["fleet"], r["object"], r["t"].isoformat(timespec="milliseconds"), r["lon"], r["speed"] and round(r["speed"], 3), r["props"]]))
`
	python := os.Getenv("PADDOCK_PYARROW")
	if python == "" {
		t.Log("PADDOCK_PYARROW names no Python with pyarrow: the file is read by one library alone")
		return
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", script, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d rows: %s", len(lines), out)
	}
	for i, line := range lines {
		r := &rows[i]
		at := strings.Replace(r.T.String(), "Z", "+00:00", 1)
		want := fmt.Sprintf("[%q, %q, %q", r.Fleet, r.Object, at)
		if !strings.HasPrefix(line, want) || r.Props != nil && !strings.Contains(line, fmt.Sprintf("3.4, %q", r.Props)) {
			t.Errorf("row %d: %s, want %s", i, line, want)
		}
	}
}

// A table that cannot be completed leaves neither a file nor a part of one.
func TestExportLeavesNoPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "table.csv")
	code, _, stderr := outcomeOf(t, "export", "--csv", file, "--url", "http://"+deadAddress(t))
	if code != 1 || !strings.Contains(stderr, file) {
		t.Errorf("code %d: %s", code, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if code, _, stderr := outcomeOf(t, "export", "--csv", filepath.Join(dir, "no", "table"), "--url", "http://"+deadAddress(t)); code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("code %d: %s", code, stderr)
	}
	if code, _, _ := outcomeOf(t, "export", "--csv", "-", "--data", "off"); code != 2 {
		t.Errorf("code %d", code)
	}
}
