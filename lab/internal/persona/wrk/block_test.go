package wrk

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the files that are compared with")

// Rows of the gofence benchmark, as wrk 4.0.0 has printed them.
func TestRow(t *testing.T) {
	for _, want := range []string{
		"    Latency     5.62ms    5.80ms  63.95ms   90.98%",
		"    Latency    36.12ms   13.08ms 193.37ms   75.62%",
		"    Req/Sec    10.93k     3.49k   18.83k    63.83%",
		"    Req/Sec     1.40k   317.10     1.82k    78.62%",
		"    Req/Sec     3.28k     0.87k    4.88k    59.57%",
		"    Latency     1.50s     2.00s    0.85m   100.00%",
		" Latency(wrk)   5.62ms    5.80ms  63.95ms   90.98%",
	} {
		f := strings.Fields(want)
		name := want[:strings.Index(want, f[0])+len(f[0])]
		if got := row(name, f[1], f[2], f[3], strings.TrimSuffix(f[4], "%")); got != want+"\n" {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v\n%s", path, err, got)
	}
}

func TestBlock(t *testing.T) {
	latency, rates := &Stats{}, &Stats{}
	for i := range int64(1000) {
		latency.Record(5000+7*i, 1)
	}
	latency.Record(63_950, 3)
	for _, n := range []int64{800, 1000, 1200} {
		rates.Record(n, 1)
	}
	corrected := latency.Clone()
	corrected.Correct(4591)
	full := &Block{
		Latency: latency, Corrected: corrected, PerSecond: rates, Distribution: true,
		Requests: 1003, Bytes: 98_010_000, Runtime: 10_010 * time.Millisecond,
		Errors: Errors{Connect: 1, Read: 2, Write: 3, Timeout: 4, Status: 11},
	}
	// The columns are the figures of the text, in ns and shares.
	columns := full.Columns()
	for name, want := range map[string]float64{
		"requests": 1003, "per_second": 100.2, "non_2xx": 11, "read_bytes": 98_010_000, "req_sec_max": 1200, "req_sec_within": 1,
		"latency_max_ns": 63_950_000, "latency_p50_ns": 8_507_000, "latency_mean_ns": latency.Mean() * 1000, "wrk_latency_mean_ns": corrected.Mean() * 1000,
	} {
		if got := columns[name]; math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	empty := &Block{Latency: &Stats{}, PerSecond: &Stats{}, Runtime: 1030 * time.Millisecond, Errors: Errors{Read: 1, Write: 42_911}}
	for name, b := range map[string]*Block{"full.txt": full, "nothing.txt": empty} {
		var text bytes.Buffer
		if err := (&Options{Duration: 10, Threads: 3, Conns: 50}).WriteStart(&text, "http://127.0.0.1:8080/"); err != nil {
			t.Fatal(err)
		}
		if err := b.Write(&text); err != nil {
			t.Fatal(err)
		}
		golden(t, name, text.Bytes())
	}
}
