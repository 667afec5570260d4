package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// upKeeping starts a platform that keeps its state in a directory.
func upKeeping(t *testing.T, data string, flags ...string) *upProcess {
	t.Helper()
	return startUp(t, append([]string{
		"up", "--data", data, "--policy", "raw", "--initial", "enter",
		"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0",
	}, flags...)...)
}

// send makes a request with a body, and returns status and answer.
func (p *upProcess) send(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	status, answer, err := p.try(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

func (p *upProcess) try(ctx context.Context, method, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, string(answer), err
}

// until waits for an answer with a status.
func (p *upProcess) until(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	for end := time.Now().Add(upTestTimeout); ; {
		status, answer := p.send(t, method, path, body)
		if status == want {
			return answer
		}
		if time.Now().After(end) {
			t.Fatalf("%s %s: still %d %s, want %d", method, path, status, answer, want)
		}
		<-time.After(50 * time.Millisecond)
	}
}

const squareFeature = `{"type":"Feature","id":"f","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`

// loadsBegin is the time of the first position of every load.
var loadsBegin = time.Now().UnixMilli() - 1_000_000

// load posts positions until the context ends, and notes what was acknowledged.
func (p *upProcess) load(ctx context.Context, clients int) (wait func() (acknowledged map[string]int64)) {
	var mu sync.Mutex
	newest := map[string]int64{}
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				id, at := fmt.Sprint("c", c), loadsBegin+p.sent.Add(1)
				status, answer, err := p.try(ctx, http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":%q,"lon":%d,"lat":1,"t":%d}`, id, n%20, at))
				var r struct{ Accepted int }
				if err != nil { // the platform may be gone
					select {
					case <-ctx.Done():
					case <-time.After(5 * time.Millisecond):
					}
				}
				if err == nil && status == http.StatusOK && json.Unmarshal([]byte(answer), &r) == nil && r.Accepted == 1 {
					mu.Lock()
					newest[id] = at
					mu.Unlock()
				}
			}
		})
	}
	return func() map[string]int64 { all.Wait(); return newest }
}

// hasSent is nil once n positions of load are on their way.
func (p *upProcess) hasSent(n int64) error {
	if now := p.sent.Load(); now < n {
		return fmt.Errorf("%d of %d", now, n)
	}
	return nil
}

// knows checks that the platform has every acknowledged position.
func (p *upProcess) knows(t *testing.T, acknowledged map[string]int64) {
	t.Helper()
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
	for id, at := range acknowledged {
		var o struct{ T time.Time }
		status, answer := p.send(t, http.MethodGet, "v1/objects/"+id, "")
		if err := json.Unmarshal([]byte(answer), &o); err != nil || status != http.StatusOK || o.T.UnixMilli() < at {
			t.Errorf("%s was acknowledged at %d: %d %s", id, at, status, answer)
		}
	}
}

// A platform that is stopped under load, or does not run for a while, loses nothing that it has
// acknowledged.
func TestStopsUnderLoad(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := upKeeping(t, data)
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	ctx, stop := context.WithCancel(t.Context())
	wait := p.load(ctx, 4)
	for range 3 {
		<-time.After(100 * time.Millisecond)
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(200 * time.Millisecond)
		if err := p.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	p.terminate(t)
	stop()
	acknowledged := wait()
	p = upKeeping(t, data)
	p.knows(t, acknowledged)
	p.terminate(t)
}

// A journal that cannot be used ends the start with a reason, a way out, and a code of its own.
func TestAnUnusableJournal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := upKeeping(t, data)
	if status, answer := p.send(t, http.MethodPut, "v1/sets/s", squareFeature); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	for n := range 100 { // damage of the last 32 KiB of a log cannot be told from a write that was cut off
		body := fmt.Sprintf(`{"id":"v%d","lon":1,"lat":1,"props":{"text":%q}}`, n, strings.Repeat("x", 1000))
		if status, answer := p.send(t, http.MethodPost, "v1/positions", body); status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	again := func(code int, want ...string) {
		t.Helper()
		got, _, log := outcomeOf(t, "up", "--data", data, "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")
		for _, w := range want {
			if got != code || !strings.Contains(log, w) {
				t.Errorf("code %d, want %d and %q:\n%s", got, code, w, log)
			}
		}
	}
	again(1, fmt.Sprintf("in use by another process: %s by process %d", filepath.Join(data, "journal"), p.Process.Pid), "stop it, or use another directory")
	_ = p.Process.Kill()
	_ = p.Wait() // it was killed

	logs, err := filepath.Glob(filepath.Join(data, "journal", "*.log"))
	if err != nil || len(logs) < 2 {
		t.Fatal(logs, err) // the newest one holds the last positions
	}
	whole, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(logs[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damaged := bytes.Clone(whole)
	damaged[5000] ^= 0x10
	write(damaged)
	again(5, "damaged", filepath.Join(data, "journal"), "restore the newest backup, or start with --accept-loss")
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	p = upKeeping(t, kept, "--accept-loss")
	if status, answer := p.send(t, http.MethodPost, "v1/positions", `{"id":"new","lon":1,"lat":1}`); status != http.StatusOK {
		t.Error(status, answer)
	}
	if _, answer := p.send(t, http.MethodGet, "v1/events?wait=0", ""); !strings.Contains(answer, `"paddock.gap"`) || !strings.Contains(answer, "the loss was accepted") {
		t.Error(answer)
	}
	p.terminate(t)
	if log := p.log.String(); !strings.Contains(log, filepath.Base(logs[0])+" at ") || !strings.Contains(log, "a loss was accepted") {
		t.Error(log)
	}
	if code, stdout, stderr := outcomeOf(t, "check", "--replay", "--data", kept); code != 0 || !strings.Contains(stdout, "events are lost in 1 places, which was accepted") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	write(whole)
	upKeeping(t, data, "--accept-loss").terminate(t)
	if left, err := os.ReadDir(data); err != nil || len(left) != 2 { // journal and secrets
		t.Error(left, err)
	}
}
