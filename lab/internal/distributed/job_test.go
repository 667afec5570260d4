package distributed

import (
	"bytes"
	"compress/zlib"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/http1"
)

func newJob() *Job {
	return &Job{
		Plan: load.Plan{
			Network: "tcp", Address: "127.0.0.1:80", Conns: 8, MaxConns: 8, Depth: 1, Threads: 2, Duration: time.Second,
			Timeout: time.Second, Grace: time.Second, Tolerance: time.Millisecond, Seed: 7, Busy: load.BusyQueue,
		},
		Rate:     "poisson 100/s for 1s",
		Requests: []http1.Request{{URL: "http://127.0.0.1/{{seq}}", Body: []byte{}}},
	}
}

// A job arrives as it was, with the files that its placeholders name, and a worker reads no others.
func TestJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := newJob()
	j.Requests[0].URL = "http://127.0.0.1/{{line " + file + "}}"
	if _, err := j.Codec(j.ReadFile); err != nil {
		t.Fatal(err)
	}
	packed, err := j.pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := got.part(assignment{1, 1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := plan.Codec.(*http1.Codec).Requests.Thread(0, 1).Make(1)
	if err != nil || !strings.HasPrefix(string(m.Bytes), "POST /two HTTP/1.1\r\n") || plan.Part != (load.Part{First: 1, Of: 2}) ||
		plan.Arrivals != (load.Poisson{PerSecond: 100, For: time.Second, Seed: 7}) || plan.Timeout != time.Second {
		t.Errorf("%q, %v, %+v", m.Bytes, err, plan)
	}
	got.Files = nil
	if _, err := got.part(assignment{1, 1, 2}, nil); err == nil || !strings.Contains(err.Error(), "is not in the job") {
		t.Errorf("a worker read a file: %v", err)
	}
}

// Jobs beyond the bounds are refused, with the reason.
func TestJobBounds(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"the target 10.0.0.5:80 is not in --allow": func(j *Job) { j.Plan.Address = "10.0.0.5:80" },
		"workers connect over tcp":                 func(j *Job) { j.Plan.Network = "unix" },
		"more than a worker makes":                 func(j *Job) { j.Plan.Depth = maxFlight },
		"up to 70000, of 1":                        func(j *Job) { j.Plan.MaxConns = 70_000 },
		"a time of more than 24h":                  func(j *Job) { j.Plan.Duration = 25 * time.Hour },
		"a time is below 0":                        func(j *Job) { j.Plan.Think = -1 },
		"no requests":                              func(j *Job) { j.Requests = nil },
		"is no rate":                               func(j *Job) { j.Rate = "fast" },
		"no body":                                  func(j *Job) { j.Bodies = [][]byte{[]byte("x")}; j.Requests[0].URL = "no body" },
	} {
		j := newJob()
		change(j)
		if _, err := j.part(assignment{0, 1, 2}, []string{"10.0.0.6:80"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, a := range []assignment{{}, {0, 0, 2}, {1, 2, 2}, {0, 1, maxThreads + 1}, {-1, 1, 2}} {
		if _, err := newJob().part(a, nil); err == nil {
			t.Errorf("%+v is accepted", a)
		}
	}
	big := newJob()
	big.Bodies = [][]byte{make([]byte, maxJob)}
	if _, err := big.pack(); err == nil || !strings.Contains(err.Error(), "of 64 at most") {
		t.Error(err)
	}
	var bomb bytes.Buffer
	zip := zlib.NewWriter(&bomb)
	_, _ = zip.Write(make([]byte, maxJob+1))
	_ = zip.Close()
	for _, b := range [][]byte{bomb.Bytes(), nil, []byte("text"), bomb.Bytes()[:100]} {
		if _, err := unpack(b); err == nil || !strings.HasPrefix(err.Error(), "the job: ") {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// Targets on loopback are allowed, and others by the list alone.
func TestAllowed(t *testing.T) {
	allow := []string{"api.example:8080", "10.0.0.5:80", "[fd00::1]:80"}
	for target, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:80": true, "localhost:80": true, "LOCALHOST:80": true,
		"api.example:8080": true, "API.example:8080": true, "10.0.0.5:80": true, "[fd00::1]:80": true,
		"api.example:80": false, "10.0.0.5:81": false, "10.0.0.6:80": false, "0.0.0.0:80": false, "[::]:80": false,
		"localhost.example:80": false, "127.0.0.1.example:80": false, "10.0.0.5": false, "": false,
	} {
		if err := allowed(target, allow); (err == nil) != want {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// Beyond loopback a bus has to ask for credentials.
func TestTrusted(t *testing.T) {
	for _, c := range []struct {
		address string
		asks    bool
		want    bool
	}{
		{"127.0.0.1:4222", false, true},
		{"[::1]:4222", false, true},
		{"10.0.0.1:4222", false, false},
		{"10.0.0.1:4222", true, true},
		{"", false, false},
		{"[::ffff:127.0.0.1]:4222", false, true},
		{"[fe80::1%eth0]:4222", false, false},
	} {
		if err := trusted(c.address, c.asks); (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
