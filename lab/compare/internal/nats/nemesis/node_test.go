package nemesis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// drainLimit bounds the end of a node after SIGTERM: its own limit, and some for a slow machine.
const drainLimit = 25*time.Second + 20*time.Second

// node is a `paddock up` of the cluster.
type node struct {
	name            string
	dir             string // of its data, configuration and log
	http, bus, wire string // addresses
	args            []string

	cmd    *exec.Cmd     // nil: it does not run
	asked  *atomic.Bool  // it was told to end
	ended  chan struct{} // it has ended
	frozen bool
}

func (n *node) url(path string) string { return "http://" + n.http + path }

// run starts a node that does not run.
func (s *site) run(n *node) {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(n.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- started at %s\n", time.Now().Format(time.StampMilli))
	n.cmd = exec.Command(s.program, n.args...)
	n.cmd.Stdout, n.cmd.Stderr, n.cmd.Dir = log, log, n.dir
	n.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+n.dir, "GOTRACEBACK=all")
	if err := n.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	n.asked, n.ended = new(atomic.Bool), make(chan struct{})
	cmd, asked, ended := n.cmd, n.asked, n.ended
	s.watching.Go(func() {
		err := cmd.Wait()
		if !asked.Load() {
			s.t.Errorf("node %s has ended by itself: %v; its log ends with\n%s", n.name, err, n.tail())
		}
		close(ended)
	})
}

// tail returns the end of a node's log.
func (n *node) tail() string {
	b, err := os.ReadFile(filepath.Join(n.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-40):], []byte("\n")))
}

// kill ends a node as kill -9 does.
func (s *site) kill(n *node) {
	if n.cmd == nil {
		return
	}
	n.asked.Store(true)
	_ = n.cmd.Process.Kill()
	<-n.ended
	n.cmd, n.frozen = nil, false
}

// end ends a node by SIGTERM, which it has to follow within its limit.
func (s *site) end(n *node) {
	s.t.Helper()
	if n.cmd == nil {
		return
	}
	n.asked.Store(true)
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(drainLimit):
		_ = n.cmd.Process.Signal(syscall.SIGQUIT) // its log gets the goroutines
		<-n.ended
		s.t.Errorf("node %s did not end within %v; its log ends with\n%s", n.name, drainLimit, n.tail())
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("node %s has ended with code %d; its log ends with\n%s", n.name, code, n.tail())
	}
	n.cmd = nil
}

func (s *site) freeze(n *node) {
	_ = n.cmd.Process.Signal(syscall.SIGSTOP)
	n.frozen = true
}

func (s *site) thaw(n *node) {
	_ = n.cmd.Process.Signal(syscall.SIGCONT)
	n.frozen = false
}

// client makes the requests of the test. Its connections are not kept, as a node may be stopped.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// request makes a request within a time, and returns status and body.
func request(ctx context.Context, within time.Duration, method, url, body string) (status int, answer []byte, err error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// get makes a request that has to succeed.
func get(t testing.TB, url string) []byte {
	t.Helper()
	status, answer, err := request(t.Context(), time.Minute, http.MethodGet, url, "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %s, %v", url, status, answer, err)
	}
	return answer
}
