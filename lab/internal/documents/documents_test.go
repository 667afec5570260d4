package documents_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"paddock/lab/internal/documents"
)

// value returns a figure that has to be there.
func value(t *testing.T, r *documents.Row, column string) float64 {
	t.Helper()
	v, ok := r.Value(column)
	if !ok {
		t.Fatalf("%s has no %s", r.ID, column)
	}
	return v
}

// table returns the rows of a table.
func table(t *testing.T, id string) (rows []*documents.Row) {
	t.Helper()
	for _, one := range documents.Tables() {
		if one.ID == id {
			rows = append(rows, one.Rows...)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no table %s", id)
	}
	return rows
}

// All 73 rows are there, in the order of the documents, each with a run, the program that the
// document measured, and figures of columns that the table has.
func TestAllRows(t *testing.T) {
	var want []string
	for _, of := range []struct {
		id   string
		rows int
	}{{"W", 14}, {"A", 14}, {"N", 10}, {"P", 7}, {"F", 4}, {"L", 4}, {"K", 6}, {"TS", 8}, {"TP", 6}} {
		for i := range of.rows {
			want = append(want, fmt.Sprint(of.id, i+1))
		}
	}
	var got []string
	for _, r := range documents.Rows() {
		got = append(got, r.ID)
		if len(r.Run) == 0 || len(r.Peers) == 0 || len(r.Figures) == 0 || r.Name == "" {
			t.Errorf("%+v", r)
		}
		_ = value(t, r, r.Lead().ID)
		for column, printed := range r.Figures {
			_ = r.Table.Column(column)
			if _, ok := r.Value(column); ok == (printed == "-") {
				t.Errorf("%s: %s is %q", r.ID, column, printed)
			}
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || len(got) != 73 {
		t.Errorf("%d rows: %v", len(got), got)
	}
}

// A rate of gofast is N div S, and N follows from the flags: posts with a heartbeat a second and
// connection, requests with one more a routine and connection, messages with the request of each
// stream.
func TestWholeSeconds(t *testing.T) {
	for _, r := range table(t, "W") {
		if rate := value(t, r, "rate"); int64(rate) != r.N/r.S {
			t.Errorf("%s: %v/s, and %d div %d", r.ID, rate, r.N, r.S)
		}
		if low, high := r.TrueRate(); low >= high || value(t, r, "rate") > high || value(t, r, "rate") <= high-1 {
			t.Errorf("%s: above %v, at most %v", r.ID, low, high)
		}
		flags := map[string]int64{"--conns": 1, "--routines": 1}
		words := strings.Fields(r.Name)
		for i := 0; i+1 < len(words); i += 2 {
			var n int64
			_, _ = fmt.Sscan(words[i+1], &n)
			flags[words[i]] = n
		}
		want := flags["--conns"] * map[string]int64{
			"post": flags["--count"] + r.S, "request": flags["--count"] + flags["--routines"] + 1, "streamtx": flags["--count"] * (flags["--stream"] + 1),
		}[words[1]]
		if r.N != want {
			t.Errorf("%s: N is %d, and the flags make %d", r.ID, r.N, want)
		}
	}
}

// A mean of ab is c T/n, to the digit. goab's is measured, and one in a hundred off at most.
func TestMeansOfAB(t *testing.T) {
	for _, r := range table(t, "A") {
		var conns float64
		if _, err := fmt.Sscan(r.Arg, &conns); err != nil {
			t.Fatal(err)
		}
		goab := r.Peers[0] == "goab"
		for _, of := range []struct {
			tps, avg string
			exact    bool
		}{{"tps", "avg", !goab}, {"tps_ab", "avg_ab", true}} {
			tps, ok := r.Value(of.tps)
			if !ok {
				continue
			}
			law := conns * 1000 / tps
			switch avg := value(t, r, of.avg); {
			case of.exact && math.Abs(law-avg) > 0.005, math.Abs(law-avg) > max(0.01*avg, 0.005):
				t.Errorf("%s: %v ms, and c T/n is %.4f", r.ID, avg, law)
			}
		}
	}
}

// The bytes that gnatsd's rates count are those of whole operations, at a time that was cut to
// whole ns.
func TestBytesOfOperations(t *testing.T) {
	for i, payload := range []int{0, 1, 2, 11, 43, 2400} {
		r := table(t, "N")[i]
		subject := "a"
		if i > 1 {
			subject = "foo"
		}
		op := float64(len(fmt.Sprintf("PUB %s %d\r\n\r\n", subject, payload)) + payload)
		ns, mbs := value(t, r, "op"), value(t, r, "mbs")
		if most, least := op*1e3/ns, op*1e3/(ns+1); mbs > most+0.005 || mbs < least-0.005 {
			t.Errorf("%s: %v MB/s, and %v B in %v ns are %.2f to %.2f", r.ID, mbs, op, ns, least, most)
		}
	}
}

// The columns of a profile and Other are its total, and the ratio is the first of them over it. One
// ratio is a slip, which the row's note tells.
func TestSumsOfProfiles(t *testing.T) {
	for _, r := range table(t, "P") {
		sum := value(t, r, "other")
		for _, column := range []string{"get", "marshal", "unmarshal", "read", "finish", "gc"} {
			sum += value(t, r, column)
		}
		if total := value(t, r, "total"); math.Abs(sum-total) > 0.0051 {
			t.Errorf("%s: %.2f of %.2f", r.ID, sum, total)
		}
		ratio := fmt.Sprintf("%.2f", 100*value(t, r, "get")/value(t, r, "total"))
		if slip := ratio+"%" != r.Figures["ratio"]; slip != (r.Name == "bbox") || slip && !strings.Contains(r.Note, ratio+" %") {
			t.Errorf("%s: %s, printed %s: %q", r.ID, ratio, r.Figures["ratio"], r.Note)
		}
	}
}

// The tables of gofence are its blocks of wrk, and Non-2xx is one in 37,291.
func TestBlocksOfWrk(t *testing.T) {
	for i, k := range table(t, "K")[1:5] {
		f, l := table(t, "F")[i], table(t, "L")[i]
		if value(t, f, "avg") != math.Floor(value(t, k, "rate")) || f.Name != strings.Fields(k.Name)[0] {
			t.Errorf("%s: %s, and %s is %s", f.ID, f.Figures["avg"], k.ID, k.Figures["rate"])
		}
		for _, column := range []string{"avg", "sd", "max", "within"} {
			if value(t, l, column) != value(t, k, column) {
				t.Errorf("%s: %s is %s, and that of %s %s", l.ID, column, l.Figures[column], k.ID, k.Figures[column])
			}
		}
		if n := value(t, k, "non2xx"); n != math.Floor(value(t, k, "requests")/37_291) {
			t.Errorf("%s: Non-2xx %v", k.ID, n)
		}
		if rate := value(t, k, "requests") / 300; math.Abs(rate-value(t, k, "rate")) > 0.001*rate {
			t.Errorf("%s: %v/s in 5 m", k.ID, rate)
		}
	}
}

// By Little's law the mean of 50 connections times their rate is 50. What wrk corrects is above it,
// as the notes say.
func TestLittlesLaw(t *testing.T) {
	blocks := table(t, "K")
	for i, want := range []string{"61.1", "50.2", "52.1", "69.0", "57.1", "77.7"} {
		k := blocks[i]
		note := k.Note
		if i >= 1 && i <= 4 {
			note = table(t, "L")[i-1].Note
		}
		if got := fmt.Sprintf("%.1f", value(t, k, "avg")*value(t, k, "rate")/1000); got != want || !strings.Contains(note, "rate is "+want) {
			t.Errorf("%s: %s, want %s: %q", k.ID, got, want, note)
		}
	}
}

// The bytes of an answer are the same in each block of a kind of request, as far as they were
// printed.
func TestBytesOfAnswers(t *testing.T) {
	for i, want := range []float64{150.0, 623.4, 623.4, 623.4, 623.4, 540.0} {
		k := table(t, "K")[i]
		requests, read := value(t, k, "requests"), value(t, k, "read")
		unit := float64(1 << 20)
		if strings.HasSuffix(k.Figures["read"], "GB") {
			unit = 1 << 30
		}
		if got := read / requests; math.Abs(got-want) > 0.005*unit/requests+0.05 {
			t.Errorf("%s: %.1f bytes an answer, want %.1f", k.ID, got, want)
		}
	}
}
