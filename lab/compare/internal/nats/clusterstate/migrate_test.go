package clusterstate

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/deliver/webhook"
	"paddock/lab/compare/internal/nats/servers"
)

// receiver is a webhook's other side, which checks the signature of each request.
type receiver struct {
	*httptest.Server
	secret webhook.Secret // of secretText

	mu    sync.Mutex
	ids   map[string]int // how often each event came
	wrong []error
}

const secretText = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func receive(t *testing.T) *receiver {
	t.Helper()
	secret, err := webhook.ParseSecret(secretText)
	ok(t, err)
	r := &receiver{secret: secret, ids: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = webhook.Verify(req.Header, body, r.secret, time.Now())
	}
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
	for line := range strings.SplitSeq(string(body), `"id":"v`) { // of an event: "v3/17"
		if id, _, found := strings.Cut(line, `"`); found && strings.Contains(id, "/") {
			r.ids[id]++
		}
	}
}

// got waits until an event of each of n numbers has come, each once and with a right signature.
func (r *receiver) got(t *testing.T, n int) {
	t.Helper()
	servers.Eventually(t, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.ids) < n {
			return fmt.Errorf("the webhook has %d events, want %d", len(r.ids), n)
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, times := range r.ids {
		if times > 1 {
			t.Errorf("event %s came %d times", id, times)
		}
	}
	if len(r.ids) > n || len(r.wrong) > 0 {
		t.Errorf("%d events, want %d; %v", len(r.ids), n, r.wrong)
	}
}

// fill gives a platform a set, a rule, a key and a webhook.
func fill(n *node, r *receiver) {
	n.do(http.MethodPut, "v1/sets/s", square)
	n.do(http.MethodPut, "v1/rules/all", `{"set":"s","detect":["enter","exit"]}`)
	n.do(http.MethodPost, "v1/keys", `{"name":"reader","verbs":["events:read"]}`)
	n.do(http.MethodPut, "v1/webhooks/ops", fmt.Sprintf(`{"url":%q,"secrets":[%q]}`, r.URL, secretText))
}

// hasKeys reports a platform that lacks the keys of fill.
func hasKeys(t *testing.T, n *node) {
	t.Helper()
	keys := n.do(http.MethodGet, "v1/keys", "")
	for _, name := range []string{`"reader"`, `"administrator"`} {
		if strings.Count(keys, name) != 1 {
			t.Errorf("%s: keys %s", n.name, keys)
		}
	}
}

// behind returns the events behind a cursor.
func behind(t *testing.T, n *node, cursor string) string {
	t.Helper()
	return n.do(http.MethodGet, "v1/events?wait=0&limit=1000&cursor="+cursor, "")
}

// The state of a platform on its own moves into a cluster, and out of it again, with all that it
// has: events go on behind the same cursors, and a webhook gets each event once.
func TestMigrate(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	r := receive(t)
	single := newNode(t, "single", "").start()
	fill(single, r)
	single.move(0, 30)
	r.got(t, 30)
	before, cursor := same(t, single)
	into := func(dir string) []string { return []string{"migrate", "--data", dir, "--bus", c.URL()} }
	refuses(t, "paddock cluster init makes it", into(single.dir)...)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", "1")
	refuses(t, "in use by another process", into(single.dir)...)
	refuses(t, "no such file", into(filepath.Join(single.dir, "none"))...)
	single.stop()
	refuses(t, "a platform on its own already", "migrate", "--data", single.dir, "--out", filepath.Join(t.TempDir(), "x"))
	files := listing(t, single.dir)
	runs(t, into(single.dir)...)
	if now := listing(t, single.dir); now != files {
		t.Errorf("the directory has changed:\n%s\n%s", files, now)
	}
	refuses(t, "the cluster has a state", into(single.dir)...)

	a := newNode(t, "a", c.URL())
	wrong := newNode(t, "wrong", c.URL())
	wrong.dir = single.dir
	wrong.fails("a platform on its own: use an empty directory")
	a.start()
	b := newNode(t, "b", c.URL()).start()
	if moved, _ := same(t, a, b); moved != before {
		t.Errorf("the state differs in the cluster:\n%s\n%s", before, moved)
	}
	hasKeys(t, a)
	hasKeys(t, b)
	b.move(30, 50)
	r.got(t, 50)
	if more := behind(t, a, cursor); strings.Count(more, `"subject":"v`) != 20 || behind(t, b, cursor) != more {
		t.Errorf("the events behind the cursor %s: %s", cursor, more)
	}
	inside, cursor := same(t, a, b)
	a.stop()
	b.stop()

	alone := newNode(t, "alone", "")
	alone.dir = b.dir
	alone.fails("it is that of a node of a cluster")
	alone.dir = filepath.Join(t.TempDir(), "out")
	runs(t, "migrate", "--data", b.dir, "--out", alone.dir)
	refuses(t, "is there already", "migrate", "--data", b.dir, "--out", alone.dir)
	alone.start()
	// New events have other ids than those of the cluster, so there is another epoch.
	out, now := same(t, alone)
	if _, number, _ := strings.Cut(cursor, "-"); !strings.HasSuffix(now, "-"+number) || strings.Replace(out, now, cursor, 1) != inside {
		t.Errorf("the state differs outside of the cluster:\n%s\n%s", inside, out)
	}
	hasKeys(t, alone)
	alone.move(50, 60)
	r.got(t, 60)
	if more := behind(t, alone, cursor); strings.Count(more, `"subject":"v`) != 10 {
		t.Errorf("the events behind the cursor %s: %s", cursor, more)
	}
	other := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", other.URL(), "--replicas", "1")
	refuses(t, "it is that of a node of a cluster", "migrate", "--data", b.dir, "--bus", other.URL())
	foreign := newNode(t, "foreign", other.URL())
	foreign.dir = b.dir
	foreign.fails("a node of another cluster")
}

// A migration into a cluster of which a node is started meanwhile is refused, and leaves nothing.
func TestMigrateBesideANode(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", "1")
	single := newNode(t, "single", "").start()
	single.putNoise(4)
	single.stop()
	conn := c.Connect()
	l := openLog(t, conn)
	first := make(chan struct{})
	var once sync.Once
	sub, err := conn.Subscribe("pdk.paddock.snapshots.data.>", func(*nats.Msg) { once.Do(func() { close(first) }) })
	ok(t, err)
	defer func() { _ = sub.Unsubscribe() }() // the connection closes
	ok(t, conn.Flush())
	claimed := make(chan error, 1)
	var sequence uint64
	go func() {
		<-first
		var err error
		sequence, err = l.Claim(t.Context(), "early")
		claimed <- err
	}()
	into := []string{"migrate", "--data", single.dir, "--bus", c.URL()}
	out, failure := exec.CommandContext(t.Context(), program, into...).CombinedOutput()
	once.Do(func() { close(first) }) // it has failed before
	ok(t, <-claimed)
	if sequence != 1 {
		t.Skip("the migration had ended before the node began")
	}
	if failure == nil || !strings.Contains(string(out), "a node of the cluster was started meanwhile") {
		t.Errorf("%v: %s", failure, out)
	}
	if kept, err := l.Snapshots(t.Context()); len(kept) > 0 || err != nil {
		t.Errorf("%d snapshots are left, %v", len(kept), err)
	}
	refuses(t, "the cluster has a state", into...)
}

// listing returns the names and sizes of the files below a directory.
func listing(t *testing.T, dir string) (all string) {
	t.Helper()
	ok(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all += fmt.Sprintf("%s %d\n", path, info.Size())
		}
		return err
	}))
	return all
}

// After a loss of all nodes and servers, the backup of any node makes another cluster with the same
// state.
func TestTotalLoss(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", c.URL(), "--replicas", "1")
	r := receive(t)
	a, b := newNode(t, "a", c.URL()).start(), newNode(t, "b", c.URL()).start()
	fill(a, r)
	a.move(0, 30)
	r.got(t, 30)
	before, cursor := same(t, a, b)
	var files [2]string
	for i, n := range []*node{a, b} {
		files[i] = filepath.Join(t.TempDir(), "backup.tar")
		runs(t, "backup", "--with-secrets", "-o", files[i], "--server", n.url)
		n.kill()
	}
	c.Kill(0)

	other := servers.Start(t, 1)
	runs(t, "cluster", "init", "--bus", other.URL(), "--replicas", "1")
	for i, file := range files {
		dir := filepath.Join(t.TempDir(), "restored")
		runs(t, "restore", file, "--data", dir)
		if i == 0 {
			runs(t, "migrate", "--data", dir, "--bus", other.URL())
		}
		if i == 1 { // or of a platform on its own
			alone := newNode(t, "alone", "")
			alone.dir = dir
			alone.start()
			now, next := same(t, alone)
			if strings.TrimSuffix(now, next) != strings.TrimSuffix(before, cursor) {
				t.Errorf("the state of the backup differs:\n%s\n%s", before, now)
			}
			alone.kill()
		}
	}
	a, b = newNode(t, "a2", other.URL()).start(), newNode(t, "b2", other.URL()).start()
	now, next := same(t, a, b)
	if strings.TrimSuffix(now, next) != strings.TrimSuffix(before, cursor) || next == cursor {
		t.Errorf("the state differs, or goes on with the same cursors:\n%s\n%s", before, now)
	}
	b.move(30, 40)
	r.got(t, 40)
	if more := behind(t, a, cursor); strings.Count(more, `"subject":"v`) != 10 {
		t.Errorf("the events behind the cursor %s: %s", cursor, more)
	}
}
