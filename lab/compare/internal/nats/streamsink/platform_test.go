package streamsink

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"paddock/lab/compare/internal/harness/programs"
)

// upPlatform is a `paddock up` that can be killed.
type upPlatform struct {
	t       *testing.T
	program string
	args    []string
	cmd     *exec.Cmd
	url     string
	client  *http.Client
}

// start starts it, and reads where it is.
func (p *upPlatform) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.program, p.args...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var ok bool
	if p.url, ok = strings.CutPrefix(strings.TrimSpace(line), "Dashboard: "); !ok {
		p.t.Fatalf("%q, %v", line, err)
	}
}

// kill ends it as kill -9 does.
func (p *upPlatform) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
}

// request makes a request that must succeed, and returns the answer.
func (p *upPlatform) request(method, path, body string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		p.t.Fatalf("%s %s: %s %s, %v", method, path, res.Status, answer, err)
	}
	return string(answer)
}

const square = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"f","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`

// The stream has each event of a platform once and in order, although the platform and the server
// are killed in turn.
func TestBothAreKilled(t *testing.T) {
	s := newSite(t)
	s.stream(jetstream.StreamConfig{})
	dir := t.TempDir()
	p := &upPlatform{t: t, program: filepath.Join(dir, "paddock"), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}}
	if err := programs.Build(p.program, "../../../../..", "./cmd/paddock"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "paddock.yaml")
	text := fmt.Sprintf("http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ntrack: {policy: raw, initial: enter}\n"+
		"sinks:\n  - {id: js, nats: {url: '%s', prefix: site., jetstream: true}}\n", s.url())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.args = []string{"up", "-c", file, "--data", filepath.Join(dir, "data")}
	p.start()
	defer func() { p.kill() }()
	p.request(http.MethodPut, "v1/sets/s", square)
	sent := 0
	move := func(n int) {
		t.Helper()
		for range n {
			sent++
			var positions []string
			for v := range 20 {
				positions = append(positions, fmt.Sprintf(`{"id":"v%d","lon":0.5,"lat":%d.5,"t":%d}`, v, sent%2, 1_700_000_000_000+sent))
			}
			p.request(http.MethodPost, "v1/positions", "["+strings.Join(positions, ",")+"]")
		}
	}
	for range 3 {
		move(30)
		p.kill()
		p.start()
		move(30)
		s.kill()
		move(10)
		s.startServer()
		s.stream(jetstream.StreamConfig{}) // once it answers
		p.request(http.MethodPost, "v1/sinks/js/retry", "")
	}
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		var list struct {
			Sinks []struct{ State struct{ Lag int } }
		}
		if err := json.Unmarshal([]byte(p.request(http.MethodGet, "v1/sinks", "")), &list); err != nil {
			t.Fatal(err)
		}
		if list.Sinks[0].State.Lag == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(p.request(http.MethodGet, "v1/sinks", ""))
		}
	}
	var want []string
	for line := range strings.Lines(p.request(http.MethodGet, "v1/events?wait=0", "")) {
		var e struct{ ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e.ID)
	}
	if got := s.stored(); len(want) < 1000 || !slices.Equal(got, want) {
		t.Errorf("%d events in the stream, %d in the log", len(got), len(want))
	}
}
