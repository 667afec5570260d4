package origins

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/version"
	"paddock/lab/internal/documents"
	"paddock/lab/internal/results"
)

// rows are the rows of a selection.
func rows(t *testing.T, words ...string) []*documents.Row {
	t.Helper()
	rows, err := documents.Select(words)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The scale multiplies durations and counts down to a bound, and nothing else; at full length the
// lines are the documents'.
func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		row   string
		scale float64
		want  string
	}{
		{"W4", 1, "wire --do post --conns 8 --batchsize 100 --routines 100 --count 1000000 --json"},
		{"W4", 0.1, "wire --do post --conns 8 --batchsize 100 --routines 100 --count 100000 --json"},
		{"W13", 0.001, "wire --do streamtx --batchsize 20 --routines 20 --payload 64 --conns 1 --count 20 --stream 1000 --json"},
		{"A5", 0.001, "ab -n 1000 -c 100 -q --json $URL/"},
		{"N1", 0.1, "nats --originals -d 0.1s --json"},
		{"P6", 0.1, "profile $DIR $PARENTS --fence rtree -d 3s --json"},
		{"K1", 0.01, "wrk -t1 -c50 -d 1s --latency --json $URL/engarde"},
		{"TS4", 0.1, "tunnel spike --rate 1000 -d 12s -q --json"},
		{"TP6", 1, "tunnel pressure --rate 500 -d 1200s -q --json"},
		{"TP6", 0.1, "tunnel pressure --rate 500 -d 60s -q --json"},
	} {
		lines, lasts := commands(rows(t, tc.row)[0], tc.scale)
		if got := strings.Join(lines[0], " "); got != tc.want || lasts <= 0 {
			t.Errorf("%s at %v: %v, %q", tc.row, tc.scale, lasts, got)
		}
	}
}

// All 73 rows take 45 runs of ours: those with the same run share it.
func TestJobs(t *testing.T) {
	r := &Runner{Rows: documents.Rows(), Scale: 1}
	var got []string
	all := 0
	jobs := r.jobs(&Report{})
	for _, j := range jobs {
		var ids []string
		for _, row := range j.rows {
			ids = append(ids, row.ID)
		}
		if all += len(ids); len(ids) > 1 {
			got = append(got, strings.Join(ids, " "))
		}
	}
	want := "A1 A6, A2 A7, A3 A8, A4 A9, N1 N2 N3 N4 N5 N6 N7 N8 N9 N10, F1 L1 K2, F2 L2 K3, F3 L3 K4, F4 L4 K5, " +
		"TS1 TS5, TS2 TS6, TS3 TS7, TS4 TS8, TP1 TP4, TP2 TP5, TP3 TP6"
	if text := strings.Join(got, ", "); text != want || all != 73 || len(jobs) != 45 {
		t.Errorf("%d rows, %d runs: %s", all, len(jobs), text)
	}
	if r.left() < 90*time.Minute || r.left() > 2*time.Hour {
		t.Errorf("all of it is planned for %v", r.left())
	}
}

// taken is a run whose objects are these.
func taken(t *testing.T, foreign bool, docs ...string) *take {
	t.Helper()
	one := &take{foreign: foreign, server: "paddock web"}
	for _, doc := range docs {
		if err := one.add([]byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	return one
}

// report is one of two rows: A11, which was measured in two rounds beside ab and not beside goab,
// and TP5, which failed.
func report(t *testing.T) *Report {
	t.Helper()
	r := &Report{Version: version.Get().String(), Machine: results.ThisMachine(), Scale: 0.5, Rounds: 2}
	j := &job{takes: map[string][]*take{}, gone: map[string]error{"goab": errors.New("no goab here: build it")}}
	for i, rate := range []int{20_000, 30_000} {
		verdict := []string{"green", "red"}[i]
		j.takes[ours] = append(j.takes[ours], taken(t, false,
			fmt.Sprintf(`{"columns": {"per_second": %d, "mean_ns": 50000}, "lamp": {"verdict": "green", "text": "fine"}}`, rate),
			fmt.Sprintf(`{"columns": {"per_second": %d}, "lamp": {"verdict": %q, "text": "a thread | was late"}}`, 2*rate, verdict)))
		j.takes["ab"] = append(j.takes["ab"], taken(t, true, `{"PerSecond": 10000, "Latency": {"Mean": 110000, "StdDev": 0}}`, `{"PerSecond": 15000}`))
	}
	failed := &job{gone: map[string]error{ours: errors.New("it does not start"), "koding-tunnel": errors.New("no koding-tunnel here")}}
	for _, of := range []struct {
		id string
		j  *job
	}{{"TP5", failed}, {"A11", j}} {
		row := rows(t, of.id)[0]
		r.add(row, of.j, row.Peers)
	}
	return r
}

// Quotients are computed within rounds, figures are medians, the verdict is the worst one; peers
// have the columns of their own alone.
func TestResult(t *testing.T) {
	r := report(t)
	one := r.Rows[0]
	if one.ID != "A11" || one.State != Measured || one.OverPeer.Median != 2.5 || one.OverPeer.Least != 2 || one.OverPeer.Most != 3 {
		t.Errorf("%s: %+v", one.ID, one.OverPeer)
	}
	if got := one.Ours.Figures; got["tps"] != 25_000 || got["tps_ab"] != 25_000 || got["avg"] != 0.05 || got["tps_k"] != 50_000 {
		t.Errorf("ours: %v", got)
	}
	if got := one.Peer.Figures; len(got) != 3 || got["tps_ab"] != 10_000 || got["avg_ab"] != 0.11 || got["tps_k"] != 15_000 {
		t.Errorf("the peer: %v", got)
	}
	if *one.OverDocument != 25_000./8864 || one.Verdict != "red" || one.Why != "a thread | was late" || len(one.Missing) != 1 {
		t.Errorf("%+v", one)
	}
	if failed, measured := r.Failed(); strings.Join(failed, " ") != "TP5" || !measured || r.Rows[1].OverDocument != nil {
		t.Errorf("failed: %v", failed)
	}
}

// A run that has measured nothing is no failure of this side.
func TestUnmeasured(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "sh", "-c", "exit 4").Run()
	r := &Report{}
	r.add(rows(t, "W1")[0], &job{gone: map[string]error{ours: fmt.Errorf("wire: %w", ended)}}, nil)
	if failed, measured := r.Failed(); r.Rows[0].State != Unmeasured || len(failed) > 0 || measured {
		t.Errorf("%+v, %v, %v", r.Rows[0], failed, measured)
	}
}

// Each form of the report has every row, with the figures of the document as they were printed.
func TestForms(t *testing.T) {
	r := report(t)
	var text, markdown, page strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteMarkdown(&markdown), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| A11 | goab and ab to a Go server, c=1 | TPS of goab 6249/s, avg of goab 0.16 ms, TPS of ab 8864/s, avg of ab 0.11 ms | " +
			"ab: TPS of ab 10,000/s, avg of ab 110µs, TPS with -k 15,000/s (of paddock web) | TPS of goab 25,000/s, ",
		`| 2.50 (2.00 to 3.00) | 2.82 | red | a thread \| was late |`,
		"- no goab here: build it",
		"| TP5 | koding 400/s | success 82.66%, p99 corrected -, max - | - | - | - | - | - | It has a share of successes, and dashes for times. failed: it does not start |",
	} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in\n%s", want, markdown.String())
		}
	}
	for _, want := range []string{"A11   8,864/s   10,000/s  25,000/s", "TP5: failed: it does not start\n", "no koding-tunnel here\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(page.String(), "NaN") || strings.Contains(page.String(), "Inf") || !strings.Contains(page.String(), "A11, ours: 25,000/s") {
		t.Error(page.String())
	}
}

// A run of a tunnel has its times by percentile in the page.
func TestCurves(t *testing.T) {
	j := &job{takes: map[string][]*take{ours: {taken(t, false,
		`{"rows": [{"success": 1, "p99_ns": 2000000, "lamp": "green", "response": {"quantiles": [{"q": 0, "ns": 100000}, {"q": 0.99, "ns": 2000000}, {"q": 1, "ns": 0}]}}]}`)}}}
	r := &Report{}
	for _, row := range rows(t, "TS1", "TS5") {
		r.add(row, j, nil)
	}
	p := r.Sections()[0].Curves()
	lines := 0
	for _, m := range p.Marks {
		if m.Line != "" {
			lines++
		}
	}
	if lines != 1 || len(p.Marks) != 3 || r.Rows[0].Ours.Figures["success"] != 100 {
		t.Errorf("%d lines, %+v", lines, p.Marks)
	}
}

// What was measured is kept if version, scale and machine are the same; rows that failed are not.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	r := &Runner{Rows: documents.Rows(), Scale: 0.5, Rounds: 2, Out: dir, Resume: true, Tell: func(string) {}}
	if n := len(r.begin().Rows); n != 0 {
		t.Errorf("%d rows of an empty directory", n)
	}
	if err := r.save(report(t)); err != nil {
		t.Fatal(err)
	}
	kept := r.begin()
	if len(kept.Rows) != 1 || kept.Rows[0].ID != "A11" || kept.Rows[0].Ours.Figures["tps"] != 25_000 || len(kept.Sections()) != 1 {
		t.Errorf("%+v", kept.Rows)
	}
	if jobs := r.jobs(kept); len(jobs) != len(r.jobs(&Report{}))-1 {
		t.Errorf("%d runs are left", len(jobs))
	}
	r.Scale = 1
	if n := len(r.begin().Rows); n != 0 {
		t.Errorf("%d rows of another scale", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "origins.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(r.begin().Rows); n != 0 {
		t.Errorf("%d rows of a broken file", n)
	}
}

// Selection: groups, tables and rows, in the order of the documents.
func TestSelect(t *testing.T) {
	var ids []string
	for _, row := range rows(t, "tp6", "W1", "L", "profile") {
		ids = append(ids, row.ID)
	}
	if got := strings.Join(ids, " "); got != "W1 P1 P2 P3 P4 P5 P6 P7 L1 L2 L3 L4 TP6" {
		t.Error(got)
	}
	if _, err := documents.Select([]string{"W1", "W15"}); err == nil || !strings.Contains(err.Error(), `"W15"`) {
		t.Error(err)
	}
	if len(rows(t)) != 73 || len(rows(t, "fence")) != 14 || len(rows(t, "tunnel")) != 14 || len(rows(t, "ab")) != 14 {
		t.Error("a group has other rows")
	}
}

// Rows below the document's figure are listed with what was measured about them.
func TestBelow(t *testing.T) {
	r := &Report{}
	r.add(rows(t, "A12")[0], &job{takes: map[string][]*take{
		ours: {taken(t, false, `{"columns": {"per_second": 20000}}`, `{"columns": {"per_second": 90000}}`)},
		"ab": {taken(t, true, `{"PerSecond": 11207.5}`, `{"PerSecond": 15000}`)},
	}}, []string{"ab"})
	r.add(rows(t, "P6")[0], &job{takes: map[string][]*take{ours: {taken(t, false,
		`{"rows": [{"bucket_seconds": [0.2, 0, 0, 0, 0, 0], "other_seconds": 0, "total_seconds": 1.8, "requests": 200000}]}`)}}}, nil)
	r.add(rows(t, "W1")[0], &job{takes: map[string][]*take{ours: {taken(t, false, `{"throughput": 83335}`)}}}, nil)
	r.add(rows(t, "N1")[0], &job{takes: map[string][]*take{ours: {taken(t, false, `{"rows": [{"ns_per_op": 559}]}`)}}}, nil)
	var got []string
	for _, one := range r.Below() {
		got = append(got, one.ID+" "+one.ByDocument()+": "+one.Reason())
	}
	if len(got) != 2 ||
		!strings.HasPrefix(got[0], "A12 0.892: ab itself gives 11,208/s here, 0.5 of the document's figure. Without -k") || !strings.HasSuffix(got[0], "it is 90,000/s here.") ||
		!strings.HasPrefix(got[1], "P6 1.96: The look-up takes 1.00 us of the 9.00 us of a request here.") {
		t.Errorf("%q", got)
	}
}
