package perf

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sampleReports are the cases of testdata/report.
func sampleReports() map[string]*Report {
	post := &Report{
		Options: Options{Do: Post, Count: 1_000_000, Routines: 100, Conns: 8, Batch: 100, Payload: 64, Stream: 1_000_000, Sample: 1},
		Addr:    "127.0.0.1:7400", Elapsed: 1500 * time.Millisecond, Ops: 8_000_000, Unit: "post",
		Throughput: 8_000_000 / 1.5, Payloads: 8_000_000 * 64 / 1.5,
		Latency: Latency{
			Of: Options{Do: Post}.timed(), N: 8_000_000, Mean: 11474.4, Var: 145205163142, SD: 381057.9,
			P50: 9001, P90: 12_000, P99: 50_000, P999: 1_000_000, P9999: 2_000_000, Max: 381_000_001,
		},
		Client:   End{CPU: 2 * time.Second, Allocs: 80, CPUPerOp: 250, AllocsPerOp: 0.00001, BytesPerOp: 65.125, WritesPerOp: 0.0034},
		Server:   End{CPU: time.Second, CPUPerOp: 125, BytesPerOp: 0.0001},
		Stats:    map[string]int64{"n_txpost": 8_000_000, "n_dropped": 0, "n_rx": 15},
		Delivery: &Delivery{Sent: 8_000_000, Received: 7_999_999},
	}
	request := &Report{
		Options: Options{Do: Request, Count: 5, Routines: 1, Conns: 1, Batch: 1, Payload: 64, Stream: 1, Sample: 1},
		Addr:    "unix:/run/wire", Interrupted: true, Elapsed: time.Second, Ops: 3, Unit: "request", Throughput: 3, Payloads: 192,
		Latency: Latency{Of: Options{Do: Request}.timed(), N: 3, Mean: 20_000, P50: 20_000, P90: 20_000, P99: 20_000, P999: 20_000, P9999: 20_000, Max: 20_000},
		Floor: &Floor{
			Echo:  []FloorEcho{{64, 1000, 15 * time.Microsecond, 50 * time.Microsecond}, {64, 1000, 17 * time.Microsecond, 60 * time.Microsecond}},
			Bulk:  []FloorBulk{{2e9}, {3e9}},
			Write: 65536,
		},
	}
	verify := &Report{
		Options: Options{Do: Verify, Count: 100, Routines: 1, Conns: 1, Batch: 1, Payload: 64, Stream: 1, Sample: 1},
		Elapsed: time.Second, Ops: 98, Unit: "call", Throughput: 98,
		Verified: &Verified{
			Posts: Class{Done: 33, Missing: 1}, Acked: Class{Done: 33}, Requests: Class{Done: 31, Failed: 2, NotSent: 1}, Streams: Class{Done: 1},
			Reconnects: 1,
		},
		Lost:     []FailedCall{{"post", 0, 3, 17, "succeeded, but the server never had it", ""}},
		Failed:   2,
		Failures: []FailedCall{{"request", 0, 3, 7, "wire: sent but not answered", SentMaybe}, {"request", 0, 3, 8, "wire: not sent", SentNot}},
	}
	return map[string]*Report{"post": post, "request": request, "verify": verify}
}

func TestReportText(t *testing.T) {
	for name, r := range sampleReports() {
		want, err := os.ReadFile(filepath.Join("testdata", "report", name+".txt"))
		if err != nil {
			t.Error(err)
		}
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: printed\n%s", name, b.String())
		}
	}
}

// The list of lost calls is bounded; their number is not.
func TestReportLost(t *testing.T) {
	r := sampleReports()["verify"]
	r.Verified.Posts.Missing, r.Verified.Acked.Missing = 20_000, 5
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "\nlost: 20005 calls\n") || !strings.Contains(b.String(), "  and 20004 more\n") {
		t.Errorf("%v: printed\n%s", err, b.String())
	}
}

// A verifying run says nothing of payload, which it does not count.
func TestReportJSONVerify(t *testing.T) {
	b, err := json.Marshal(sampleReports()["verify"])
	if err != nil || strings.Contains(string(b), "payload_bytes_per_second") {
		t.Errorf("%v: %s", err, b)
	}
}

// Scripts read these names: they stay.
func TestReportJSON(t *testing.T) {
	b, err := json.MarshalIndent(sampleReports()["post"], "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "report", "post.json"))
	if err != nil {
		t.Error(err)
	}
	if string(b)+"\n" != string(want) {
		t.Errorf("printed\n%s", b)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil || back.Latency != sampleReports()["post"].Latency {
		t.Errorf("read back: %v, %+v", err, back.Latency)
	}
}

func TestReportErr(t *testing.T) {
	for _, tc := range []struct {
		r    Report
		want string
	}{
		{Report{}, ""},
		{*sampleReports()["post"], "the server had 7999999 of 8000000 posts"},
		{*sampleReports()["request"], "interrupted: 3 of 5 requests were done"},
		{*sampleReports()["verify"], ""}, // connections were made again
		{
			Report{Failed: 2, Failures: sampleReports()["verify"].Failures, Verified: &Verified{}},
			"2 calls failed, first request 7 of connection 0, routine 3: wire: sent but not answered",
		},
		{Report{Unsettled: "nobody answers", Verified: &Verified{Reconnects: 1}}, "nobody answers"},
		{Report{Verified: &Verified{Posts: Class{Missing: 1}}}, "verify: 1 posts did not arrive"},
		{Report{Verified: &Verified{Posts: Class{Missing: 1, Disorder: 1}, Reconnects: 1}}, ""},
		{Report{Verified: &Verified{Posts: Class{Disorder: 2}}}, "verify: 2 posts arrived out of order"},
		{Report{Verified: &Verified{Acked: Class{Missing: 1}, Restarted: true}}, "verify: 1 acknowledged posts did not arrive"},
		{Report{Verified: &Verified{Acked: Class{Duplicates: 3}, Restarted: true}}, "verify: 3 acknowledged posts arrived more than once"},
		{Report{Verified: &Verified{Streams: Class{Corrupt: 1}}}, "verify: 1 streams were not what was sent"},
	} {
		got := ""
		if err := tc.r.Err(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestReportListsTheFirstFailures(t *testing.T) {
	r := &Report{Failed: 30}
	for i := range 25 {
		r.Failures = append(r.Failures, FailedCall{Verb: "post", Seq: uint64(i + 1), Error: "no"})
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "of connection"); n != shownFailures || !strings.HasSuffix(b.String(), "  and 10 more\n") {
		t.Errorf("%d listed:\n%s", n, b.String())
	}
}

// The row of 11,474 ns of gofast's table: its count and its time give its figure.
func TestWriteOriginal(t *testing.T) {
	r := &Report{
		Options: Options{Do: Post, Count: 1_000_000, Conns: 1, Routines: 1},
		Ops:     1_000_000, Elapsed: 12_900 * time.Millisecond, Latency: Latency{N: 1_000_000, Mean: 11_474},
		Stats: map[string]int64{"n_txpost": 1_000_012},
	}
	var b strings.Builder
	if err := r.WriteOriginal(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Latency Average: 11.474µs\n", "Throughput: 83334 /second\n", `  "n_txpost":1000012` + "\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
	// Row 6: 1,000,101 requests in 14 seconds.
	r.Options, r.Elapsed = Options{Do: Request, Count: 1_000_000, Conns: 1, Routines: 100}, 14*time.Second
	b.Reset()
	if err := r.WriteOriginal(&b); err != nil || !strings.Contains(b.String(), "Throughput: 71435\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	r.Elapsed = 999 * time.Millisecond
	if err := r.WriteOriginal(&b); !errors.Is(err, ErrTooShort) {
		t.Errorf("a run of less than a second: %v", err)
	}
}
