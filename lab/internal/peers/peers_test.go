package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/lab/perf"
	"paddock/lab/process"
)

// program returns the path of a program of a package. Without it the test is skipped, or fails if
// PADDOCK_REQUIRE_PEERS is 1.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := Find(name, nil)
	if err == nil {
		return path
	}
	if os.Getenv("PADDOCK_REQUIRE_PEERS") == "1" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// script returns the path of a program of the shell.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// stands fails the test if a service did not start. At its end the service must end, its processes
// and files with it.
func stands(t *testing.T, s *Stand, err error, processes int) *Stand {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	pids := s.Pids()
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		for _, pid := range pids {
			if _, err := process.CPU(pid); err == nil {
				t.Errorf("process %d is left", pid)
			}
		}
		if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
	})
	if len(pids) != processes || s.Pid() != pids[0] {
		t.Errorf("processes %v, want %d", pids, processes)
	}
	return s
}

// get returns the answer of a service for a path.
func get(t *testing.T, s *Stand, host, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = host, true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
	return string(body)
}

// A program is found by --peer or in PATH, and the error for a missing one says how to get it.
func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	here := stub(t, Goab)
	if path, err := Find(Goab, map[string]string{Goab: here}); err != nil || path != here {
		t.Errorf("%q, %v", path, err)
	}
	t.Setenv("PATH", filepath.Dir(here))
	if path, err := Find(Goab, nil); err != nil || path != here {
		t.Errorf("%q, %v", path, err)
	}
	for _, name := range []string{Gofast, Gofence, GoHTTP, Koding, Tunnel, Tunneld} {
		_, err := Find(name, map[string]string{Goab: here})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.HasSuffix(err.Error(), "--peer "+name+"=PATH") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Find(Goab, map[string]string{Goab: "/does/not/exist"}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "--peer goab=/does/not/exist") {
		t.Errorf("a wrong path: %v", err)
	}
	for _, err := range []error{
		Check(map[string]string{Ab: "x", "abc": "y"}),
		func() error { _, err := Find("abc", nil); return err }(),
	} {
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"abc"`) || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
			t.Errorf("an unknown name: %v", err)
		}
	}
	if err := Check(map[string]string{Ab: "x"}); err != nil {
		t.Error(err)
	}
}

// nginx serves the page, and ab reads it: each request is answered, or is an answer that is no
// success.
func TestAbAsksNginx(t *testing.T) {
	ab := program(t, Ab)
	s, err := StartNginx(t.Context(), program(t, Nginx), OriginalNginx)
	stands(t, s, err, 1)
	if page := get(t, s, "", "/"); len(page) != PageBytes {
		t.Errorf("a page of %d bytes", len(page))
	}
	for path, missing := range map[string]int64{"/": 0, "/missing": 300} {
		for _, keep := range []bool{false, true} {
			f, err := RunAb(t.Context(), ab, "http://"+s.Addr()+path, 300, 10, keep)
			if err != nil {
				t.Fatal(err)
			}
			if f.Requests != 300 || f.Failed != 0 || f.NonSuccess != missing || f.PerSecond <= 0 || f.Elapsed <= 0 || f.Latency.Mean <= 0 || len(f.Percentiles) != 9 || f.Percentiles[8].Percent != 100 {
				t.Errorf("%s, kept alive %v: %+v", path, keep, f)
			}
			if f.Percentiles[8].Latency != f.Latency.Max || missing == 0 && f.Bytes < 300*PageBytes {
				t.Errorf("%s, kept alive %v: %+v", path, keep, f)
			}
		}
	}
	if _, err := RunAb(t.Context(), ab, "http://127.0.0.1:1/", 10, 1, false); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("without a service: %v", err)
	}
}

// The other settings serve the files of a directory.
func TestNginxServesFiles(t *testing.T) {
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755) // the workers of root's nginx are another user's
	}
	if err := WriteStatic(root, "a.bin", 100_000); err != nil {
		t.Fatal(err)
	}
	s, err := StartNginx(t.Context(), program(t, Nginx), NginxSettings{Workers: "auto", HTTP: "access_log off;", Root: root})
	stands(t, s, err, 1)
	if file := get(t, s, "", "/a.bin"); len(file) != 100_000 || !strings.HasPrefix(file, "static, static") {
		t.Errorf("%d bytes: %.20q", len(file), file)
	}
	if s, err := StartNginx(t.Context(), program(t, Nginx), NginxSettings{Workers: "many"}); err == nil || !strings.Contains(err.Error(), `"worker_processes" directive invalid`) {
		t.Errorf("with wrong settings: %v, %v", s, err)
	}
}

// gofence gets its arguments as its document writes them. wrk posts the bodies in turns, and one
// request in a turn has none.
func TestWrkAsksGofence(t *testing.T) {
	wrk, gofence := program(t, Wrk), stub(t, Gofence)
	dir := t.TempDir()
	bodies := filepath.Join(dir, "bodies.jsonl")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "tracts.geojson"), []byte("{}"), 0o600), os.WriteFile(bodies, []byte("{}\n\n{}\n{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"brute": "brute 18 false ", "s2_z16": "s2 16 false ", "city_bbox": "city-bbox 18 true boroughs.json",
	} {
		o := GofenceSettings{Kind: kind, Dir: dir}
		if kind == "city_bbox" {
			o.Parents, o.Profile = "boroughs.json", true
		}
		s, err := StartGofence(t.Context(), gofence, o)
		stands(t, s, err, 1)
		if got := get(t, s, "", "/fence/tracts/search"); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		if kind != "brute" {
			continue
		}
		url := "http://" + s.Addr() + "/fence/tracts/search"
		f, err := RunWrk(t.Context(), wrk, url, bodies, 4, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if off := f.Requests - 4*f.NonSuccess; off < -16 || off > 16 { // some were under way at the end
			t.Errorf("%d of %d requests were refused, want one in 4", f.NonSuccess, f.Requests)
		}
		if f, err = RunWrk(t.Context(), wrk, url, "", 4, 0); err != nil {
			t.Fatal(err)
		}
		if f.NonSuccess != 0 || f.Failed != 0 || f.PerSecond <= 0 || f.Rate.Mean <= 0 || f.Elapsed < time.Second || f.Latency.Mean <= 0 || f.Latency.Max < f.Latency.Mean || f.Latency.Within <= 0 || len(f.Percentiles) != 4 || f.Bytes < 100*f.Requests {
			t.Errorf("%+v", f)
		}
	}
	if _, err := StartGofence(t.Context(), gofence, GofenceSettings{Kind: "brute", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no files in") {
		t.Errorf("without files: %v", err)
	}
}

func TestNATSServer(t *testing.T) {
	s, err := StartNATS(t.Context(), []string{program(t, NATSServer)}, nil)
	stands(t, s, err, 1)
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprint(nc, "CONNECT {\"verbose\":false}\r\nPING\r\n")
	var got []byte
	for b := make([]byte, 4096); !bytes.HasSuffix(got, []byte("PONG\r\n")); {
		n, err := nc.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, got)
		}
		got = append(got, b[:n]...)
	}
}

// gofast's server and client are given the flags of perf. The counts of the client give the number
// of operations.
func TestGofast(t *testing.T) {
	gofast := stub(t, Gofast)
	s, err := StartGofast(t.Context(), gofast)
	stands(t, s, err, 1)
	o := perf.DefaultOptions()
	o.Count, o.Routines, o.Conns, o.Batch, o.Payload, o.Stream = 100, 3, 2, 4, 64, 10
	for do, want := range map[perf.Do]int64{perf.Post: 200, perf.Request: 206, perf.StreamTx: 2200} {
		o.Do = do
		f, err := RunGofast(t.Context(), gofast, s.Addr(), o)
		if err != nil {
			t.Fatal(err)
		}
		if f.Requests != want || f.PerSecond != 83334 || f.Latency.Mean != 11474 || f.Latency.StdDev != 381057 || f.Elapsed <= 0 {
			t.Errorf("%s: %+v, want %d", do, f, want)
		}
	}
	o.Do = perf.StreamRx
	if _, err := RunGofast(t.Context(), gofast, s.Addr(), o); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a run that does not end: %v", err)
	}
	o.Do, o.Count, o.Stream = perf.Post, 1, 1
	if _, err := RunGofast(t.Context(), gofast, s.Addr(), o); err == nil || !strings.Contains(err.Error(), "longer duration") {
		t.Errorf("a run of less than a second: %v", err)
	}
}

// goab asks GoHTTP for the page.
func TestGoabAsksGoHTTP(t *testing.T) {
	s, err := StartGoHTTP(t.Context(), stub(t, GoHTTP))
	stands(t, s, err, 1)
	if page := get(t, s, "", "/"); len(page) != PageBytes {
		t.Errorf("a page of %d bytes", len(page))
	}
	f, err := RunGoab(t.Context(), stub(t, Goab), "http://"+s.Addr()+"/", 100, 5)
	if err != nil {
		t.Fatal(err)
	}
	if f.Requests != 100 || f.PerSecond != 9785.12 || f.Latency.Mean != 2040*time.Microsecond || f.Latency.Max != 24*time.Millisecond || f.Failed != 0 || f.Elapsed <= 0 {
		t.Errorf("%+v", f)
	}
}

// Both tunnels bring visitors of a host to the service behind them.
func TestTunnels(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "behind ", r.URL.Path) }))
	defer service.Close()
	b := Behind{Target: service.Listener.Addr().String(), Host: "bench.example"}
	for name, up := range map[string]func() (*Stand, error){
		"go-http-tunnel": func() (*Stand, error) { return StartTunnel(t.Context(), stub(t, Tunneld), stub(t, Tunnel), b) },
		"koding/tunnel":  func() (*Stand, error) { return StartKoding(t.Context(), stub(t, Koding), b) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := up()
			stands(t, s, err, 2)
			if got := get(t, s, b.Host, "/a"); got != "behind /a" {
				t.Errorf("%q", got)
			}
		})
	}
	if _, err := StartTunnel(t.Context(), stub(t, Tunneld), script(t, "echo no key >&2; exit 1"), b); err == nil || strings.Count(err.Error(), "no key") != 1 {
		t.Errorf("a client that ends: %v", err)
	}
}

// A service whose process ends at once gets another port, up to attempts times.
func TestServiceIsStartedAgain(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	again := script(t, `echo x >>`+starts+`; [ $(wc -l <`+starts+`) -ge 2 ] || { echo in use >&2; exit 1; }; exec `+stub(t, Gofast)+` "$@"`)
	s, err := StartGofast(t.Context(), again)
	stands(t, s, err, 1)
	never := script(t, `echo x >>`+starts+`; echo in use >&2; exit 1`)
	if _, err := StartNATS(t.Context(), []string{never}, nil); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(starts); len(text) != 2*(2+attempts) {
		t.Errorf("%d starts, want %d", len(text)/2, 2+attempts)
	}
}

// A wait ends when any of the processes does.
func TestReadinessSeesTheEndOfEach(t *testing.T) {
	s, err := newStand("pair")
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context) error { return errors.New("not yet") }
	err = errors.Join(s.Run(t.Context(), Process{Cmd: exec.Command(script(t, "echo gone >&2; exit 1"))}),
		s.Run(t.Context(), Process{Cmd: exec.Command("sleep", "1000"), Ready: never, Within: time.Hour}))
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
	if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "pair has ended by itself") {
		t.Errorf("its end: %v", err)
	}
}

// Reading stops at a bound, at an end that is none, and at the end of the context.
func TestClientsFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, run := range map[string]func() (*Figures, error){
		"of at most 1048576": func() (*Figures, error) {
			return RunGoab(t.Context(), script(t, "head -c 3000000 /dev/zero"), "http://x/", 1, 1)
		},
		"nil pointer": func() (*Figures, error) {
			return RunGoab(t.Context(), script(t, "echo nil pointer >&2; exit 2"), "http://x/", 1, 1)
		},
		"context canceled": func() (*Figures, error) { return RunGoab(ctx, script(t, "exec sleep 1000"), "http://x/", 1, 1) },
	} {
		if f, err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", f, err, want)
		}
	}
}
