package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// upTestTimeout ends a test whose process hangs.
const upTestTimeout = 60 * time.Second

// upProcess is a running platform: `paddock up` or `paddock demo`.
type upProcess struct {
	*exec.Cmd
	stdout *bufio.Reader
	log    logText      // complete when the process has ended
	url    string       // of the dashboard, with a slash at its end
	bus    string       // nats://host:port
	wire   string       // host:port
	sent   atomic.Int64 // positions of load
}

// logText is the log of a running process.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startUp starts a platform on free ports and reads where it is. If that fails,
// the process has ended.
func startUp(t *testing.T, args ...string) *upProcess {
	t.Helper()
	return startUpAs(t, daemon(t, args...))
}

// startUpAs is startUp for a command of another kind.
func startUpAs(t *testing.T, cmd *exec.Cmd) *upProcess {
	t.Helper()
	p := &upProcess{Cmd: cmd}
	p.Env = append(os.Environ(), "PADDOCK_LOG_FORMAT=text")
	p.Stderr = &p.log
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, p.Cmd)
	p.stdout = bufio.NewReader(stdout)
	for _, line := range []struct {
		prefix string
		to     *string
	}{{"Dashboard: ", &p.url}, {"Bus:       ", &p.bus}, {"Wire:      ", &p.wire}} {
		text, err := p.stdout.ReadString('\n')
		var ok bool
		if *line.to, ok = strings.CutPrefix(strings.TrimSpace(text), line.prefix); !ok {
			_ = p.Wait()
			t.Fatalf("%q, %v, where %q should be; the log:\n%s", text, err, line.prefix, &p.log)
		}
	}
	return p
}

// terminate sends SIGTERM and waits for a good end.
func (p *upProcess) terminate(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(p.stdout)
	if line, after, _ := bytes.Cut(rest, []byte{'\n'}); bytes.HasPrefix(line, []byte("Key:       pdk_")) { // of a new data directory
		rest = after
	}
	if err != nil || len(rest) > 0 {
		t.Errorf("more on stdout: %q, %v", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v; the log:\n%s", err, &p.log)
	}
}

// events opens the stream of events, as NDJSON.
func (p *upProcess) events(t *testing.T) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"v1/events?format=ndjson", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return bufio.NewReader(res.Body)
}

const upSquare = `{"type":"Feature","id":"dock","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`

// TestUpProcess runs `paddock up` as its users do: a set from a directory,
// settings from a file, a position, its event, and SIGTERM.
func TestUpProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sets"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeSet(t, filepath.Join(dir, "sets"), "docks.json", upSquare)
	file := filepath.Join(dir, "paddock.yaml")
	settings := "http: { listen: '127.0.0.1:0' }\nbus: { listen: '127.0.0.1:0' }\nwire: { listen: '127.0.0.1:0' }\ntrack: { initial: inside }\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	p := startUp(t, "up", "-c", file, "--sets", filepath.Join(dir, "sets"), "--snapshots", kept, "--policy", "raw", "--initial", "enter")
	stream := p.events(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: upTestTimeout}
	res, err := client.Post(p.url+"v1/positions", "application/json", strings.NewReader(`{"id":"v1","lon":0.5,"lat":0.5}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || string(answer) != `{"accepted":1,"late":0,"rejected":[]}`+"\n" {
		t.Errorf("%v, %s", err, answer)
	}
	p.terminate(t)
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Errorf("the stream of events ended with: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("--snapshots: %v", err)
	}
	var event struct {
		Type string
		Data struct{ Set, Reason string }
	}
	if err := json.Unmarshal(text, &event); err != nil || event.Type != "paddock.fence.enter" || event.Data.Set != "docks" || event.Data.Reason != "initial" {
		t.Errorf("%v: %s", err, text)
	}
}

// TestDemoProcess waits for events of the simulated city's traffic, by each way that its positions
// can take. With the race detector the city takes seconds to make, so one of them has it.
func TestDemoProcess(t *testing.T) {
	t.Parallel()
	for via, of := range map[string]func(*testing.T, ...string) *exec.Cmd{"http": daemon, "wire": program} {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			awaitTraffic(t, startUpAs(t, of(t, "demo", "--vehicles", "400", "--every", "200ms", "--policy", "raw", "--initial", "enter", "--via", via,
				"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")))
		})
	}
}

// awaitTraffic waits for events of two kinds, and ends the demo.
func awaitTraffic(t *testing.T, p *upProcess) {
	stream := p.events(t)
	kinds := map[string]bool{}
	for len(kinds) < 2 { // an enter and an exit
		line, err := stream.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%v after %v", err, kinds)
		}
		var event struct{ Type string }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[event.Type] = true
	}
	p.terminate(t)
}

// A platform without fences logs how to add some.
func TestUpWithoutSets(t *testing.T) {
	t.Parallel()
	p := startUp(t, "up", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")
	p.terminate(t)
	if want := "curl -T FILE " + p.url + "v1/sets/NAME"; !strings.Contains(p.log.String(), want) {
		t.Errorf("%q is not in the log:\n%s", want, &p.log)
	}
}

// An address that is in use is a failure, not a mistake: it may be free the next
// time. The error names the key and the address.
func TestUpWithPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for key, flags := range map[string][]string{
		"http.listen": {"--listen", l.Addr().String(), "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"},
		"bus.listen":  {"--listen", "127.0.0.1:0", "--bus-listen", l.Addr().String(), "--wire-listen", "127.0.0.1:0"},
		"wire.listen": {"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", l.Addr().String()},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), upTestTimeout)
		defer cancel()
		var stderr strings.Builder
		cmd := exec.CommandContext(ctx, "paddock", append([]string{"up"}, flags...)...)
		cmd.Stderr = &stderr
		_ = cmd.Run() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != exitFailure {
			t.Errorf("%s: exit code %d", key, code)
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "command line: "+key+": ") || !strings.Contains(last, l.Addr().String()) ||
			!strings.Contains(last, "address already in use: another program listens there; --") {
			t.Errorf("%s: %s", key, last)
		}
	}
}
