package runfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
	"paddock/load/histogram"
)

// echo starts an echo server.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// run makes some load, and writes the result.
func run(t *testing.T, plan load.Plan, d *runfile.Directory) (*runfile.Document, *load.Result) {
	t.Helper()
	r := runfile.NewRecorder(plan, d)
	r.WatchTarget()
	result, err := load.Run(t.Context(), plan, r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Document(runfile.ReadManifest([]string{"paddock", "bench"}, result.Began), result), result
}

// schema returns the schema of documents.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(runfile.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("run.json", tree); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("run.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, d *runfile.Document) {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(tree); err != nil {
		t.Error(err)
	}
}

// The files of a run agree with its result, and the usual readers of such files accept them.
func TestDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "run")
	d, err := runfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	plan := load.Plan{
		Address: echo(t), Codec: &load.Raw{Request: make([]byte, 8), Answer: 8}, Conns: 2, Threads: 2,
		Arrivals: load.Constant{PerSecond: 2000}, Warmup: 300 * time.Millisecond, Duration: 1500 * time.Millisecond,
		Targets: []string{"http://me:secret@host/", "none"},
	}
	doc, result := run(t, plan, d)
	if of := doc.Targets; len(of) != 2 || of[0].Name != "http://REDACTED@host/" || of[0].Done != doc.Totals.Done || of[1].Response != nil {
		t.Errorf("%+v", of)
	}
	if err := d.Finish(doc, result); err != nil {
		t.Fatal(err)
	}
	valid(t, doc)
	of := *doc
	of.Workers = []runfile.Worker{{Name: "host/1", State: "lost"}}
	valid(t, &of)

	var read runfile.Document
	if b, err := os.ReadFile(filepath.Join(path, runfile.RunFile)); err != nil || json.Unmarshal(b, &read) != nil {
		t.Fatal("run.json cannot be read", err)
	}
	if read.Totals.Done != result.Total.Done || read.Response.Count != result.Total.Response.Count() ||
		read.Plan.Model != "open" || *read.Plan.Arrivals != "2000/s" || len(read.Missing) != 0 || len(read.Host.Threads) != 2 {
		t.Errorf("run.json says %+v", read)
	}
	sumOfLog(t, filepath.Join(path, runfile.LogFile), result)
	sumOfSeconds(t, path, doc, result)
	lines(t, filepath.Join(path, runfile.ResponseFile), "#[Max     =")
	lines(t, filepath.Join(path, runfile.GoBenchmarksFile), "BenchmarkRun ")
}

// sumOfLog holds that the log's measured lines together are the result, to each count, as
// HdrHistogram reads them and as they are read here.
func sumOfLog(t *testing.T, name string, r *load.Result) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sum := hdr.New(1, int64(time.Hour), 3)
	for reader := hdr.NewHistogramLogReader(bytes.NewReader(b)); ; {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if h.Tag() == "response" || h.Tag() == "grace-response" {
			sum.Merge(h)
		}
	}
	ours, tags := histogram.New(), map[string]bool{}
	for l, err := range runfile.ReadLog(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		tags[l.Tag] = true
		if l.Tag == "response" || l.Tag == "grace-response" {
			ours.Add(l.Histogram)
		}
	}
	if want := r.Total.Response.AppendV2(nil); !bytes.Equal(ours.AppendV2(nil), want) {
		t.Error("the log's seconds are not the result")
	}
	if uint64(sum.TotalCount()) != r.Total.Response.Count() || !sum.ValuesAreEquivalent(sum.Max(), int64(r.Total.Response.Max())) {
		t.Errorf("HdrHistogram reads %d responses up to %d, of %d up to %d", sum.TotalCount(), sum.Max(), r.Total.Response.Count(), r.Total.Response.Max())
	}
	if !tags["warmup-response"] || !tags["lag"] || !tags["service"] {
		t.Errorf("tags %v", tags)
	}
}

func sumOfSeconds(t *testing.T, path string, doc *runfile.Document, r *load.Result) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path, runfile.SecondsFile))
	if err != nil {
		t.Fatal(err)
	}
	var sum runfile.Second
	n, cpu := 0, time.Duration(0)
	for line := range bytes.Lines(b) {
		var s runfile.Second
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		n++
		if s.Machine == nil || s.Machine.Service == nil { // this process is the service
			t.Errorf("the service's machine is missing: %s", line)
		} else if s.Phase == runfile.Measured {
			cpu += s.Machine.Service.CPU
		}
		if s.Phase != runfile.Warmup {
			sum.Sent, sum.Done, sum.Good = sum.Sent+s.Sent, sum.Done+s.Done, sum.Good+s.Good
		}
		if s.Phase == runfile.Measured && s.Length == int64(time.Second) && (s.Target == nil || math.Round(*s.Target) != 2000) {
			t.Errorf("the target is not 2000/s: %s", line)
		}
	}
	if sum.Sent != r.Total.Sent || sum.Done != r.Total.Done || sum.Good != r.Total.Failed[load.ClassOK] {
		t.Errorf("the seconds have %d sent and %d done, the result %d and %d", sum.Sent, sum.Done, r.Total.Sent, r.Total.Done)
	}
	if doc.Machine == nil || doc.Machine.Service == nil || doc.Machine.Service.CPU != cpu {
		t.Errorf("the service has used %v in the seconds; the document says %+v", cpu, doc.Machine)
	}
	csv := lines(t, filepath.Join(path, runfile.SecondsCSVFile), "measured,")
	for _, l := range csv {
		if strings.Count(l, ",") != strings.Count(csv[0], ",") {
			t.Errorf("a line of other columns: %q", l)
		}
	}
	if len(csv) != n+1 {
		t.Errorf("%d lines of CSV and %d of NDJSON", len(csv), n)
	}
}

// lines are a file's, of which one begins as given.
func lines(t *testing.T, name, one string) []string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if !slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, one) }) {
		t.Errorf("%s: no line begins with %q:\n%s", name, one, b)
	}
	return all
}

// A run of which nothing came has a document too, and no number in it that is none.
func TestNothingMeasured(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // takes connections, and hangs up
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	doc, _ := run(t, load.Plan{
		Address: l.Addr().String(), Codec: &load.Raw{Request: []byte("x"), Answer: 1},
		Duration: 50 * time.Millisecond, Grace: time.Millisecond, Engine: load.Portable,
	}, nil)
	valid(t, doc)
	if doc.Response != nil || doc.Little != nil || doc.Steady != nil || doc.Fairness != nil || doc.Verdict.Level != "red" || len(doc.Errors) == 0 {
		t.Errorf("%+v", doc)
	}
	var b bytes.Buffer
	if err := errors.Join(runfile.WriteGoBenchmark(&b, "x y", doc), runfile.WritePercentiles(&b, histogram.New())); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, "BenchmarkX_y 1 ") {
		t.Errorf("%s", s)
	}
}

// The document has every outcome of an objective, and null for a value that is no number.
func TestObjectives(t *testing.T) {
	list, err := slo.Parse("max<1s,rate>=0.5*target,err<1%,p99<1ms,connect.max<1s")
	if err != nil {
		t.Fatal(err)
	}
	doc, result := run(t, load.Plan{
		Address: echo(t), Codec: &load.Raw{Request: make([]byte, 8), Answer: 8}, Count: 400, Engine: load.Portable,
	}, nil)
	valid(t, doc)
	result.Unanswered.Count = 100 // as if, and in a closed run
	doc.Objectives = runfile.ObjectivesOf(slo.Check(list, result))
	valid(t, doc)
	var got []string
	for _, o := range doc.Objectives {
		got = append(got, fmt.Sprintf("%s: %s %s, %t %t %s", o.Objective, o.Measure, o.Outcome, o.Limit != nil, o.Measured != nil, o.Unit))
	}
	want := []string{
		"max<1s: max missed, true false ns",
		"rate>=0.5*target: rate unknown, false false per_second",
		"err<1%: err missed, true true share",
		"p99<1ms: p99 missed, true false ns",
		"connect.max<1s: connect.max met, true true ns",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The percentiles are equal to HdrHistogram's output, apart from the columns.
func TestPercentiles(t *testing.T) {
	ours, theirs := histogram.New(), hdr.New(1, int64(time.Hour), 3)
	for i := range int64(10_000) {
		v := histogram.RangeOf((i*i)%9_999*1000 + 500_000).High // HdrHistogram's maximum is a bucket's
		ours.Record(v)
		_ = theirs.RecordValue(v)
	}
	var b, c bytes.Buffer
	if err := runfile.WritePercentiles(&b, ours); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.PercentilesPrint(&c, 5, 1e6); err != nil {
		t.Fatal(err)
	}
	got, want := rows(b.String()), rows(c.String())
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d\n%s\n%s", len(got), len(want), b.String(), c.String())
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// rows are value and count of the table's lines.
func rows(text string) (all []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 3 && f[0][0] >= '0' && f[0][0] <= '9' {
			all = append(all, f[0]+" "+f[2])
		}
	}
	return all
}
