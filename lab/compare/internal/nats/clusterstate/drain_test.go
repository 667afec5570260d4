package clusterstate

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock/lab/compare/internal/nats/servers"
)

// logged waits until the log of a node has a text so often.
func (n *node) logged(text string, count int) {
	n.t.Helper()
	servers.Eventually(n.t, func() error {
		if got := strings.Count(n.log.String(), text); got < count {
			return fmt.Errorf("%s: %q is %d times in the log, want %d", n.name, text, got, count)
		}
		return nil
	})
}

// led makes a cluster of two nodes, of which the first one leads.
func led(t *testing.T) (a, b *node) {
	t.Helper()
	c := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", "1")
	a = newNode(t, "a", c.URL()).start()
	a.logged("this node is the leader", 1)
	b = newNode(t, "b", c.URL()).start()
	b.logged(`"msg":"caught up`, 1)
	return a, b
}

// A node that starts again in its process goes on with what it has read of its file, and not with
// what the process began with.
func TestDrainKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	a, b := led(t)
	file := a.args[2]
	before, err := os.ReadFile(file)
	ok(t, err)
	key := func(name string) string { return fmt.Sprintf("{name: %s, sha256: %064x, verbs: [lookup]}", name, name) }
	archive := filepath.Join(t.TempDir(), "archive")
	read := func(keys string) {
		text := fmt.Sprintf("%saccess: {keys: [%s]}\nsinks: [{id: archive, file: {path: '%s'}}]\n", before, keys, archive)
		ok(t, os.WriteFile(file, []byte(text), 0o600))
		times := strings.Count(a.log.String(), "configuration file read again")
		a.signal(syscall.SIGHUP)
		a.logged("configuration file read again", times+1)
	}
	read(key("revoked"))
	read(key("present"))
	ok(t, os.WriteFile(file, []byte("a fault"), 0o600))
	a.do(http.MethodPost, "v1/cluster/drain", `{"node":"a"}`)
	a.logged(`"msg":"caught up`, 2)
	if keys := a.do(http.MethodGet, "v1/keys", ""); !strings.Contains(keys, `"present"`) || strings.Contains(keys, `"revoked"`) {
		t.Errorf("the keys are %s", keys)
	}
	b.stop() // a leads again
	a.logged("this node is the leader", 2)
	if sinks := a.do(http.MethodGet, "v1/sinks", ""); !strings.Contains(sinks, `"archive"`) {
		t.Errorf("the sinks are %s", sinks)
	}
	a.stop()
}

// SIGTERM while a node is drained, to start again in its process, ends the process in good order.
func TestSignalWhileDraining(t *testing.T) {
	t.Parallel()
	a, b := led(t)
	address := strings.Trim(strings.TrimPrefix(a.url, "http:"), "/")
	conn, err := net.Dial("tcp", address)
	ok(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/positions HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", address)
	ok(t, err)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	a.do(http.MethodPost, "v1/cluster/drain", "")
	b.logged("this node is the leader", 1) // a has left, and waits for the request
	a.signal(syscall.SIGTERM)
	a.logged("a second signal forces", 1)
	ok(t, conn.Close())
	a.ends()
	if text := a.log.String(); strings.Count(text, `"msg":"caught up`) != 1 {
		t.Errorf("it has started again: %s", text)
	}
}
