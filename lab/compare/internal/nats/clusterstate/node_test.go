// Package clusterstate tests how nodes of a cluster get their state with nats-server, which is no
// dependency of the product: new nodes, nodes that are behind, and states that move into a cluster
// and out of it.
package clusterstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/servers"
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 { // a server has no arguments
		dir, err := os.MkdirTemp("", "clusterstate")
		if err == nil {
			program = filepath.Join(dir, "paddock")
			err = programs.Build(program, "../../../../..", "./cmd/paddock")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	servers.Main(m)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runs runs a command of the binary, which must succeed, and returns what it prints.
func runs(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("paddock %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// refuses runs a command that must fail with a text.
func refuses(t *testing.T, text string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), text) {
		t.Errorf("paddock %s: %v, want %q: %s", strings.Join(args, " "), err, text, out)
	}
}

// lines is the output of a process.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// node is a `paddock up`: a node of a cluster, or a platform on its own.
type node struct {
	t    *testing.T
	name string
	dir  string // of its data
	args []string
	url  string // of its HTTP interface
	cmd  *exec.Cmd
	log  *lines
}

// newNode returns a platform that does not run yet. With servers it is a node of a cluster, which
// writes snapshots as often as it can.
func newNode(t *testing.T, name, bus string) *node {
	t.Helper()
	port, err := programs.FreePort()
	ok(t, err)
	n := &node{t: t, name: name, dir: filepath.Join(t.TempDir(), name), url: "http://127.0.0.1:" + port + "/"}
	file := filepath.Join(t.TempDir(), "paddock.yaml")
	text := fmt.Sprintf("http: {listen: '127.0.0.1:%s'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\n"+
		"track: {policy: raw, initial: enter}\nwebhooks: {allow: [127.0.0.1]}\n", port)
	if bus != "" {
		text += fmt.Sprintf("cluster: {url: '%s', node: %s, snapshot: 1s}\n", bus, name)
	}
	ok(t, os.WriteFile(file, []byte(text), 0o600))
	n.args = []string{"up", "-c", file, "--data"}
	t.Cleanup(n.kill)
	return n
}

// start starts it.
func (n *node) start() *node {
	n.t.Helper()
	n.log = &lines{}
	n.cmd = exec.Command(program, append(n.args[:len(n.args):len(n.args)], n.dir)...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	ok(n.t, n.cmd.Start())
	return n
}

// signal sends a signal to it.
func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	ok(n.t, n.cmd.Process.Signal(s))
}

// kill ends it as kill -9 does.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait() // it was killed
	if n.t.Failed() {
		n.t.Logf("log of %s:\n%s", n.name, n.log)
	}
	n.cmd = nil
}

// stop ends it with a signal, and waits.
func (n *node) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	n.ends()
}

// ends waits until it has ended in good order.
func (n *node) ends() {
	n.t.Helper()
	if err := n.wait(); err != nil {
		n.t.Errorf("%s: %v: %s", n.name, err, n.log)
	}
}

// wait waits until it has ended, and returns how.
func (n *node) wait() (err error) {
	ended := make(chan error, 1)
	go func() { ended <- n.cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(servers.Patience):
		_ = n.cmd.Process.Kill()
		<-ended
		err = errors.New("it does not end")
	}
	n.cmd = nil
	return err
}

// fails starts it, and waits until it ends with a text in its log, as it must.
func (n *node) fails(text string) {
	n.t.Helper()
	n.start()
	err := n.wait()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(n.log.String(), text) {
		n.t.Errorf("%s: %v, want %q: %s", n.name, err, text, n.log)
	}
}

// try makes a request.
func (n *node) try(method, path, body string) (status int, answer, cursor string, err error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), servers.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), res.Header.Get("Paddock-Cursor"), err
}

// do makes a request until it succeeds, as there may be no leader at present.
func (n *node) do(method, path, body string) (answer string) {
	n.t.Helper()
	servers.Eventually(n.t, func() error {
		status, text, _, err := n.try(method, path, body)
		if answer = text; err == nil && status/100 != 2 {
			err = fmt.Errorf("%s: %s %s: %d %s", n.name, method, path, status, text)
		}
		return err
	})
	return answer
}

const square = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"f","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`

// move moves vehicles into the square and out of it, which makes an event of each.
func (n *node) move(from, to int) {
	n.t.Helper()
	for i := from; i < to; i++ {
		n.do(http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":"v%d","lon":0.5,"lat":%d.5,"t":%d}`, i%7, i/7%2, 1_700_000_000_000+i))
	}
}

// state returns what a node answers about everything that all nodes have, and the cursor at the end
// of its events.
func (n *node) state() (text, cursor string, err error) {
	for _, path := range []string{"v1/objects?limit=10000", "v1/sets/s", "v1/rules", "v1/visits?set=s", "v1/events?wait=0&limit=10000"} {
		status, answer, at, err := n.try(http.MethodGet, path, "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: %s: %d %s", n.name, path, status, answer)
		}
		if err != nil {
			return "", "", err
		}
		text += path + "\n" + answer + "\n"
		cursor = at
	}
	return text + cursor, cursor, nil
}

// same waits until all nodes have the same state, and returns it.
func same(t *testing.T, nodes ...*node) (text, cursor string) {
	t.Helper()
	servers.Eventually(t, func() (err error) {
		if text, cursor, err = nodes[0].state(); err != nil {
			return err
		}
		for _, n := range nodes[1:] {
			other, _, err := n.state()
			if err == nil && other != text {
				err = fmt.Errorf("%s and %s differ:\n%s\n%s", nodes[0].name, n.name, text, other)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return text, cursor
}

// openLog opens the log of the cluster.
func openLog(t *testing.T, conn *nats.Conn) *streamlog.Log {
	t.Helper()
	l, err := streamlog.Open(t.Context(), conn, streamlog.Config{
		Stream: "PADDOCK_PADDOCK", Subject: "pdk.paddock.log", Copies: "pdk.paddock.copies", Snapshots: "pdk.paddock.snapshots",
	})
	ok(t, err)
	return l
}

// trimmed waits until the log begins behind a sequence, and moves vehicles meanwhile, from a number
// on. It returns the next number.
func trimmed(t *testing.T, l *streamlog.Log, behind uint64, n *node, from int) int {
	t.Helper()
	servers.Eventually(t, func() error {
		n.move(from, from+5)
		from += 5
		b, err := l.Bounds(t.Context())
		if err == nil && b.First <= behind {
			err = fmt.Errorf("the log begins with %d, want more than %d", b.First, behind)
		}
		return err
	})
	return from
}
