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
	"sync"
	"syscall"
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
	clock           string // see clockVariable; "": the system's

	unit  *unit     // nil: it does not run
	begun time.Time // when it was started last
}

func (n *node) url(path string) string { return "http://" + n.http + path }

// unit is a node's process. As the unit of systemd does, it starts again what has ended with code 1
// because the servers gave no answer.
type unit struct {
	ended chan struct{} // it has ended, and is not started again

	mu    sync.Mutex // guards the fields below
	cmd   *exec.Cmd
	asked bool // it was told to end
}

// signal sends a signal to the process.
func (u *unit) signal(s syscall.Signal, end bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = u.asked || end
	_ = u.cmd.Process.Signal(s)
}

// run starts a node that does not run.
func (s *site) run(n *node) {
	s.t.Helper()
	cmd, err := s.start(n)
	if err != nil {
		s.t.Fatal(err)
	}
	u := &unit{ended: make(chan struct{}), cmd: cmd}
	n.unit, n.begun = u, time.Now()
	s.watching.Go(func() {
		defer close(u.ended)
		for {
			err := cmd.Wait()
			again := cmd.ProcessState.ExitCode() == 1 && strings.Contains(n.tail(), "cluster.url")
			if again {
				<-time.After(time.Second) // RestartSec
			}
			u.mu.Lock()
			asked := u.asked
			if again && !asked {
				cmd, err = s.start(n)
				u.cmd = cmd
			}
			u.mu.Unlock()
			switch {
			case asked:
				return
			case !again || err != nil:
				s.t.Errorf("node %s has ended by itself: %v; its log ends with\n%s", n.name, err, n.tail())
				return
			}
		}
	})
}

// start starts the process of a node.
func (s *site) start(n *node) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(n.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- started at %s\n", time.Now().Format(time.StampMilli))
	program := s.program
	if n.clock != "" {
		program = s.falseProgram
	}
	cmd := exec.Command(program, n.args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, n.dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+n.dir, "GOTRACEBACK=all", clockVariable+"="+n.clock)
	return cmd, cmd.Start()
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
	if n.unit == nil {
		return
	}
	n.unit.signal(syscall.SIGKILL, true)
	<-n.unit.ended
	n.unit = nil
}

// end ends a node by SIGTERM, which it has to follow within its limit.
func (s *site) end(n *node) {
	s.t.Helper()
	u := n.unit
	if u == nil {
		return
	}
	u.signal(syscall.SIGTERM, true)
	select {
	case <-u.ended:
	case <-time.After(drainLimit):
		u.signal(syscall.SIGQUIT, true) // its log gets the goroutines
		<-u.ended
		s.t.Errorf("node %s did not end within %v; its log ends with\n%s", n.name, drainLimit, n.tail())
	}
	if code := u.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("node %s has ended with code %d; its log ends with\n%s", n.name, code, n.tail())
	}
	n.unit = nil
}

func (s *site) freeze(n *node) {
	n.unit.signal(syscall.SIGSTOP, false)
}

func (s *site) thaw(n *node) {
	n.unit.signal(syscall.SIGCONT, false)
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

// get makes a request that has to succeed in the end: a node that was the leader closes its doors
// until it follows another one.
func (s *site) get(n *node, path string) (header http.Header, body []byte) {
	s.t.Helper()
	s.await("GET "+path+" of node "+n.name, func() bool {
		bounded, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(bounded, http.MethodGet, n.url(path), http.NoBody)
		if err != nil {
			s.t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		header = res.Header
		body, err = io.ReadAll(res.Body)
		if res.StatusCode/100 == 4 {
			s.t.Fatalf("GET %s of node %s: %s: %s", path, n.name, res.Status, body)
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
	return header, body
}

// body returns the body of such a request's answer.
func (s *site) body(n *node, path string) []byte {
	s.t.Helper()
	_, body := s.get(n, path)
	return body
}
