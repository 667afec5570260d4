package ab_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"paddock/lab/internal/persona/ab"
	"paddock/load"
)

// ours runs a command line here, and gives the text of its report.
func ours(t *testing.T, args []string) string {
	t.Helper()
	o, err := ab.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	if name := o.PostFile + o.PutFile; name != "" {
		if body, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	request, err := o.Request(body)
	if err != nil {
		t.Fatal(err)
	}
	r := ab.NewRecorder(o, nil, func(err error) { t.Error(err) })
	result, err := load.Run(t.Context(), r.Plan(request), r)
	if err != nil {
		t.Fatal(err)
	}
	report := r.Report(result)
	var b strings.Builder
	if err := o.WriteStart(&b, "0"); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := report.WriteFiles(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// theirs runs the same with ab; false = it is not installed.
func theirs(t *testing.T, args []string) (string, bool) {
	t.Helper()
	program, err := exec.LookPath("ab")
	if err != nil {
		t.Log("ab is not installed: nothing to compare with")
		return "", false
	}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out), true
}

// service answers each path in its own way.
func service(t *testing.T) (address string) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Server", "tested/1.0 (here)")
		w.Header().Set("Date", "Mon, 02 Nov 2026 03:04:05 GMT")
		switch r.URL.Path {
		case "/missing":
			http.Error(w, "there is no such page", http.StatusNotFound)
		case "/vary":
			_, _ = w.Write(bytes.Repeat([]byte("."), 9+int(asked.Add(1)%3)))
		case "/echo":
			_, _ = w.Write(body)
		default:
			w.Header().Set("Content-Length", "3516") // else the connection ends behind it
			_, _ = w.Write(bytes.Repeat([]byte("."), 3516))
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// fields are the figures that a script reads from a report.
func fields(t *testing.T, report string) map[string]string {
	t.Helper()
	awk, err := exec.LookPath("awk")
	if err != nil {
		t.Skip("awk is not installed")
	}
	cmd := exec.CommandContext(t.Context(), awk, "-f", "testdata/fields.awk")
	cmd.Stdin = strings.NewReader(report)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, twice := found[name]; twice {
			t.Errorf("%s is there twice in\n%s", name, report)
		}
		found[name] = value
	}
	return found
}

// measured are the figures that are another in each run.
var measured = []string{
	"seconds", "rate", "each", "every", "kbytes", "connect", "processing", "waiting", "total",
	"p50", "p66", "p75", "p80", "p90", "p95", "p98", "p99", "p100",
}

// A script that was written for ab reads the same figures from both reports, and the figures that
// do not depend on time are equal.
func TestReportsAreReadAlike(t *testing.T) {
	address := service(t)
	_, port, _ := net.SplitHostPort(address)
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("a=1&b=2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		flags, path string
		want        map[string]string // special values; the usual ones are below
	}{
		{"-n 30", "/", nil},
		{"-n 30 -k", "/", map[string]string{"kept": "30"}},
		{"-n 30 -c 3 -k", "/", map[string]string{"kept": "30", "concurrency": "3"}},
		{"-n 200 -k", "/", map[string]string{"kept": "200", "complete": "200"}},
		{"-n 30", "/missing", map[string]string{"non2xx": "30"}},
		{"-n 30 -k", "/missing", map[string]string{"non2xx": "30", "kept": "30"}},
		{"-n 30", "/vary", map[string]string{"failed": "20", "causes": "0 0 20 0"}},
		{"-n 30 -l", "/vary", map[string]string{"length": "Variable"}},
		{"-n 30 -i", "/", nil},
		{"-n 30 -p " + body, "/echo", map[string]string{"length": "7"}},
		{"-n 30 -k -u " + body, "/echo", map[string]string{"kept": "30"}},
	} {
		t.Run(tc.flags[:5]+tc.path, func(t *testing.T) {
			args := append(strings.Fields(tc.flags), "http://"+address+tc.path)
			got := fields(t, ours(t, args))
			for name, want := range tc.want {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
			if got["port"] != port || got["software"] != "tested/1.0" || got["path"] != tc.path {
				t.Error(got)
			}
			for _, name := range measured {
				if got[name] == "" {
					t.Errorf("%s is missing", name)
				}
			}
			text, ok := theirs(t, args)
			if !ok {
				return
			}
			want := fields(t, text)
			if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
				t.Errorf("the script found %v, and with ab %v", g, w)
			}
			for name := range want {
				if !slices.Contains(measured, name) && got[name] != want[name] {
					t.Errorf("%s is %q, and with ab %q", name, got[name], want[name])
				}
			}
		})
	}
}

// The same for a script in Python, and for the relations between the figures.
func TestPythonReadsReports(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	args := []string{"-n", "200", "-c", "4", "-k", "http://" + service(t) + "/"}
	reports := []string{ours(t, args)}
	if text, ok := theirs(t, args); ok {
		reports = append(reports, text)
	}
	for _, report := range reports {
		cmd := exec.CommandContext(t.Context(), python, "testdata/fields.py")
		cmd.Stdin = strings.NewReader(report)
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s\n%s", err, &complaint, report)
		}
		var f struct {
			Complete, Rate, Each, Every float64
			P50, P99, Longest           float64
			Total                       []float64
		}
		if err := json.Unmarshal(out, &f); err != nil {
			t.Fatal(err)
		}
		// Little's law, and the order of percentiles.
		if off := f.Rate*f.Each/1000 - 4; f.Complete != 200 || off < -0.1 || off > 0.1 || f.P50 > f.P99 || f.P99 > f.Longest || f.Longest != f.Total[4] {
			t.Errorf("%+v", f)
		}
	}
}

// The files of -e and -g have the same lines as those of ab.
func TestFilesAreReadAlike(t *testing.T) {
	dir := t.TempDir()
	address := service(t)
	args := func(who string) []string {
		return []string{"-n", "50", "-e", filepath.Join(dir, who+".csv"), "-g", filepath.Join(dir, who+".tsv"), "http://" + address + "/"}
	}
	shape := func(who string) (lines [2]int, heads [2]string) {
		for i, ending := range []string{".csv", ".tsv"} {
			text, err := os.ReadFile(filepath.Join(dir, who+ending))
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Split(strings.TrimSpace(string(text)), "\n")
			lines[i], heads[i] = len(all), all[0]
			before := 0.0
			for n, line := range all[1:] {
				cells := strings.Split(line, [...]string{",", "\t"}[i])
				value, err := strconv.ParseFloat(cells[[...]int{1, 4}[i]], 64)
				if err != nil || len(cells) != [...]int{2, 6}[i] {
					t.Errorf("%s%s: %q", who, ending, line)
				}
				if value < before && (who == "ours" || i == 1 || n < 99) { // ab's file has a value of its own at 99
					t.Errorf("%s%s, line %d: %v behind %v", who, ending, n+2, value, before)
				}
				before = value
			}
		}
		return lines, heads
	}
	ours(t, args("ours"))
	lines, heads := shape("ours")
	if lines != [2]int{102, 51} {
		t.Errorf("%v lines", lines)
	}
	if _, ok := theirs(t, args("theirs")); !ok {
		return
	}
	if l, h := shape("theirs"); l != lines || h != heads {
		t.Errorf("%v lines with the heads %q, and of ab %v with %q", lines, heads, l, h)
	}
}
