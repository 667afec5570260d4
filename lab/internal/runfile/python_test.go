package runfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// HdrHistogram for Python, which shares no code with this encoder nor with hdrhistogram-go, reads
// every count of a log, and finds the same quantiles.
func TestPythonReadsTheLog(t *testing.T) {
	python := python(t)
	path := t.TempDir()
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(load.Plan{Codec: &load.Raw{}, Address: "x", Duration: time.Minute}, d)
	rng := rand.New(rand.NewPCG(6, 6))
	want := histogram.New()
	const seconds = 5
	for i := range seconds {
		v := interval(i, 0)
		v.Response.Reset()
		for range 2_000 {
			v.Response.Record(rng.Int64N(1 << (1 + rng.IntN(41))))
		}
		if i == 2 {
			v.Response.Reset() // a second of nothing
		}
		want.Add(v.Response)
		r.Interval(v)
	}
	if err := d.Finish(r.Document(nil, resultOf(interval(0, 1))), resultOf(interval(0, 1))); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "testdata/readlog.py", filepath.Join(path, LogFile))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var read map[string]struct {
		Intervals int
		Counts    [][2]int64
		Quantiles []int64
	}
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := read["response"]
	if got.Intervals != seconds || read["lag"].Intervals != seconds || read["service"].Intervals != seconds {
		t.Errorf("%d intervals", got.Intervals)
	}
	sum := histogram.New()
	for _, c := range got.Counts {
		sum.RecordN(c[0], uint64(c[1]))
	}
	if !bytes.Equal(sum.AppendV2(nil), want.AppendV2(nil)) {
		t.Error("Python counts otherwise")
	}
	for i, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		if w := histogram.RangeOf(int64(want.Quantile(q))).High; got.Quantiles[i] != w {
			t.Errorf("quantile %v: %d, want %d", q, got.Quantiles[i], w)
		}
	}
}

// python is an interpreter that has HdrHistogram: the one that PADDOCK_PYTHON names, else
// python3. Without one the test is skipped, or fails if PADDOCK_REQUIRE_PY is 1.
func python(t *testing.T) string {
	t.Helper()
	name := cmp.Or(os.Getenv("PADDOCK_PYTHON"), "python3")
	if out, err := exec.CommandContext(t.Context(), name, "-c", "import hdrh").CombinedOutput(); err != nil {
		absent := t.Skipf
		if os.Getenv("PADDOCK_REQUIRE_PY") == "1" {
			absent = t.Fatalf
		}
		absent("no Python with hdrhistogram (%s): %v %s", name, err, out)
	}
	return name
}
