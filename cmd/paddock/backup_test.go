package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A backup is taken while positions come in. A platform that is restored from it elsewhere knows
// every position that was acknowledged before, and its records are whole.
func TestBackup(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	ctx, stop := context.WithCancel(t.Context())
	for range 3 {
		round, end := context.WithCancel(ctx)
		enough := p.sent.Load() + 20
		before := p.load(round, 2)
		until(round, t, "few positions are sent", func() error { return p.hasSent(enough) })
		end()
		acknowledged := before()

		after := p.load(ctx, 2)
		file := filepath.Join(t.TempDir(), "backup.tar")
		code, stdout, stderr := outcomeOf(t, "backup", "-o", file, "--server", p.url)
		if code != 0 || !strings.Contains(stdout, file) {
			t.Fatalf("code %d: %s%s", code, stdout, stderr)
		}
		stop()
		after()
		ctx, stop = context.WithCancel(t.Context())

		data := filepath.Join(t.TempDir(), "data")
		if code, stdout, stderr = outcomeOf(t, "restore", file, "--data", data); code != 0 || !strings.Contains(stdout, "paddock up --data "+data) {
			t.Fatalf("code %d: %s%s", code, stdout, stderr)
		}
		if code, _, stderr = outcomeOf(t, "restore", file, "--data", data); code != 1 || !strings.Contains(stderr, "is there already: move it away") {
			t.Errorf("again: code %d: %s", code, stderr)
		}
		if code, stdout, stderr = outcomeOf(t, "check", "--replay", "--data", data); code != 0 {
			t.Errorf("check: code %d: %s%s", code, stdout, stderr)
		}
		other := upKeeping(t, data)
		other.knows(t, acknowledged)
		if _, sets := other.send(t, http.MethodGet, "v1/sets", ""); !strings.Contains(sets, `"name":"s"`) {
			t.Error(sets)
		}
		other.terminate(t)

		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"half": whole[:len(whole)/2], "empty": nil, "text": []byte("no tar file")} {
			at := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(at, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			empty := filepath.Join(t.TempDir(), "data")
			if code, _, stderr := outcomeOf(t, "restore", at, "--data", empty); code != 1 || !strings.Contains(stderr, "not a whole backup") {
				t.Errorf("%s: code %d: %s", name, code, stderr)
			}
			if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
				t.Errorf("%s: left %v, %v", name, left, err)
			}
		}
	}
	stop()
	p.terminate(t)
	code, _, stderr := outcomeOf(t, "backup", "-o", "x", "--server", p.url)
	if code != 1 || !strings.Contains(stderr, "is the platform running there?") {
		t.Errorf("code %d: %s", code, stderr)
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a file was made")
	}
}

// A platform that keeps nothing has no backup.
func TestNoBackup(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, "off")
	code, _, stderr := outcomeOf(t, "backup", "-o", filepath.Join(t.TempDir(), "x"), "--server", p.url)
	if code != 1 || !strings.Contains(stderr, "keeps nothing") {
		t.Errorf("code %d: %s", code, stderr)
	}
	p.terminate(t)
}

// A backup and a bug report that are interrupted leave neither a file nor a part of one.
func TestInterruptedFileLeavesNoPart(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{}")
		if r.URL.Path != "/v1/doctor" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	for _, command := range []string{"backup", "bugreport"} {
		dir := t.TempDir()
		cmd := program(t, command, "-o", filepath.Join(dir, "file"), "--server", s.URL)
		startOf(t, cmd)
		until(t.Context(), t, "a file of "+command, func() error {
			_, err := os.Stat(filepath.Join(dir, "file.partial"))
			return err
		})
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: no error", command)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Error(command, left, err)
		}
	}
}
