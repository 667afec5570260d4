package growcheck

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/harness/programs"
)

// built returns the programs of the composition's images.
func built(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"paddock": filepath.Join(dir, "paddock"), "nats": filepath.Join(dir, "nats-server")}
	ok(t, programs.Build(all["paddock"], "../../../../..", "./cmd/paddock"))
	ok(t, programs.Build(all["nats"], "../../..", "github.com/nats-io/nats-server/v2"))
	return all
}

const yard = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"yard","properties":{},
 "geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`

var firstKey = regexp.MustCompile(`Key: +(\S+)`)

// walk is the composition with a client.
type walk struct {
	*testing.T
	*composition
	client
}

func (w *walk) url(node string) string { return "http://" + w.at[node+":8080"] }

// status asks a node for the state of the cluster.
func (w *walk) status(node string) (s cluster.Status) {
	status, answer, err := w.ask(w.T.Context(), w.url(node), http.MethodGet, "/v1/cluster", "")
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(answer), &s) != nil {
		return cluster.Status{}
	}
	return s
}

// ready waits until a node has caught up, and knows a leader.
func (w *walk) ready(node string) {
	w.Helper()
	await(w.T, node+" is not ready", func() bool {
		if p := w.running[node]; p != nil {
			select {
			case <-p.ended:
				w.Fatalf("%s has ended: %v\n%s", node, p.err, p.text())
			default:
			}
		}
		status, _, err := w.ask(w.T.Context(), w.url(node), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK && w.status(node).Leader != ""
	})
}

// whole waits until all servers keep the log, as a node tells.
func (w *walk) whole(node string) {
	w.Helper()
	await(w.T, "the log is not on three servers", func() bool {
		s := w.status(node)
		return s.Log != nil && s.Log.Count(streamlog.ReplicaLeader) == 1 && s.Log.Count(streamlog.ReplicaCurrent) == 2
	})
}

// leader returns the node that leads, as others tell.
func (w *walk) leader(asked string) (name string) {
	w.Helper()
	await(w.T, "there is no leader", func() bool {
		name = w.status(asked).Leader
		return name != "" && w.running[name] != nil
	})
	return name
}

// TestGrowing walks the way of an operator, by the commands of the composition: three servers and
// two nodes; a node is killed, and another one added; then all servers and nodes are started again
// one after the other. Meanwhile clients that list all nodes send positions. They meet the failures
// that the guide names, and no other one. What was acknowledged is there at the end, once, at all
// nodes alike.
func TestGrowing(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for elections")
	}
	c := composed(t, built(t), map[string]string{"NATS_PASSWORD": "pFor1Test", "NATS_SYSTEM_PASSWORD": "pOfSystem"}, "paddock-3")
	w := &walk{T: t, composition: c, client: asker(t)}
	servers := []string{"nats-1", "nats-2", "nats-3"}
	for _, name := range servers {
		c.start(name)
	}
	p := c.start("init")
	<-p.ended
	delete(c.running, "init")
	if p.err != nil || !strings.Contains(p.text(), "is ready, on 3 servers") {
		t.Fatalf("init: %v: %s", p.err, p.text())
	}
	for _, name := range []string{"paddock-1", "paddock-2"} {
		c.start(name)
		w.nodes = append(w.nodes, w.url(name))
	}
	await(t, "no node has printed a key", func() bool {
		for _, name := range []string{"paddock-1", "paddock-2"} {
			if m := firstKey.FindStringSubmatch(c.running[name].text()); m != nil {
				w.key = m[1]
			}
		}
		return w.key != ""
	})
	w.ready("paddock-1")
	w.ready("paddock-2")
	w.whole("paddock-1")
	w.check(servers)
	w.put("paddock-2", "/v1/sets/yard", yard)
	w.put("paddock-1", "/v1/sets/yard/policy", `{"preset":"raw"}`)

	w.nodes = append(w.nodes, w.url("paddock-3"))
	load := begin(t, &w.client)
	defer load.end()
	load.moves()

	// A node is lost, and another one takes its place.
	lost := w.leader("paddock-1")
	left := "paddock-1"
	if lost == left {
		left = "paddock-2"
	}
	c.kill(lost)
	load.moves()
	if now := w.leader(left); now != left {
		t.Errorf("%s leads, and %s is left", now, left)
	}
	c.start("paddock-3")
	w.ready("paddock-3")
	c.start(lost)
	w.ready(lost)
	load.moves()

	// All servers are started again, and then all nodes, one after the other.
	lookUp(t, &w.client, func() {
		for _, name := range servers {
			c.stop(name)
			load.moves()
			c.start(name)
			w.whole(left)
		}
	})
	for _, name := range []string{"paddock-1", "paddock-2", "paddock-3"} {
		c.stop(name)
		load.moves()
		c.start(name)
		w.ready(name)
	}
	w.drain(load)
	load.moves()
	load.end()
	t.Logf("%d requests were sent again", load.retried.Load())
	w.compare(load)
}

// drain has the leader give its role away, and holds that its process goes on and follows.
func (w *walk) drain(load *load) {
	w.Helper()
	before := w.leader("paddock-1")
	cmd := exec.Command(w.programs["paddock"], "cluster", "drain", before, "--server", w.url("paddock-2"))
	cmd.Env = append(os.Environ(), "PADDOCK_HTTP_TOKEN="+w.key)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " leads in term ") {
		w.Fatalf("drain: %v: %s", err, out)
	}
	load.moves()
	w.ready(before)
	if now := w.status(before); now.Leader == before {
		w.Errorf("%s still leads", before)
	}
	cmd = exec.Command(w.programs["paddock"], "keys", "audit", "--server", w.url("paddock-2"))
	cmd.Env = append(os.Environ(), "PADDOCK_HTTP_TOKEN="+w.key)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "cluster.drain") {
		w.Errorf("the audit: %v: %s", err, out)
	}
}

// check examines the servers as a node's file names them.
func (w *walk) check(servers []string) {
	w.Helper()
	file := filepath.Join(w.dir, "node.yaml")
	env := w.services["paddock-1"].Environment
	text := fmt.Sprintf("data: {dir: %s}\nhttp: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ncluster: {url: '%s', user: %s, password: %s}\n",
		filepath.Join(w.dir, "checked"), w.local(env["PADDOCK_CLUSTER_URL"]), env["PADDOCK_CLUSTER_USER"], env["PADDOCK_CLUSTER_PASSWORD"])
	ok(w.T, os.WriteFile(file, []byte(text), 0o600))
	monitors := make([]string, len(servers))
	for i, name := range servers {
		monitors[i] = "http://" + w.at[name+":8222"]
	}
	for _, c := range []struct{ monitor, password, want string }{
		{strings.Join(monitors, ","), "", "PADDOCK_PADDOCK on 3 servers"},
		{"", "", "cannot be seen"},
		{"", "pWrong", "Authorization Violation"},
	} {
		cmd := exec.Command(w.programs["paddock"], "check", "-c", file)
		if c.monitor != "" {
			cmd.Args = append(cmd.Args, "--monitor", c.monitor)
		}
		if cmd.Env = os.Environ(); c.password != "" {
			cmd.Env = append(cmd.Env, "PADDOCK_CLUSTER_PASSWORD="+c.password)
		}
		out, err := cmd.CombinedOutput()
		warned := strings.Contains(string(out), "warning: cluster")
		if !strings.Contains(string(out), c.want) || (err == nil) != (c.password == "") || warned != (c.want == "cannot be seen") {
			w.Errorf("check %+v: %v\n%s", c, err, out)
		}
	}
}

func (w *walk) put(node, path, body string) {
	w.Helper()
	if status, answer, err := w.ask(w.T.Context(), w.url(node), http.MethodPut, path, body); err != nil || status/100 != 2 {
		w.Fatalf("PUT %s: %d %s, %v", path, status, answer, err)
	}
}

// events returns the events that a node has.
func (w *walk) events(node string) []string {
	w.Helper()
	status, answer, err := w.ask(w.T.Context(), w.url(node), http.MethodGet, "/v1/events?wait=0", "")
	if err != nil || status != http.StatusOK {
		w.Fatalf("%s: events: %d %.500s, %v", node, status, answer, err)
	}
	return strings.Split(strings.TrimSpace(answer), "\n")
}

// compare holds that all nodes have the same events with the same cursors, and that these are those
// of the acknowledged positions: at each one the object has entered the yard, or left it.
func (w *walk) compare(l *load) {
	w.Helper()
	names := []string{"paddock-1", "paddock-2", "paddock-3"}
	var head uint64
	for _, n := range w.status("paddock-1").Nodes {
		head = max(head, n.Applied)
	}
	for _, name := range names {
		await(w.T, name+" is behind", func() bool { s := w.status(name); return s.Self() != nil && s.Self().Applied >= head })
	}
	first := w.events(names[0])
	for _, name := range names[1:] {
		if got := w.events(name); !slices.Equal(got, first) {
			w.Errorf("%s has %d events, and %s %d others", name, len(got), names[0], len(first))
		}
	}
	last := map[string]int{}
	for _, line := range first {
		var e struct {
			Type, Subject string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.Fatalf("%.300s: %v", line, err)
		}
		id, want := e.Subject, "paddock.fence.enter"
		if last[id]%2 == 1 {
			want = "paddock.fence.exit"
		}
		if e.Type != want {
			w.Fatalf("change %d of %s is %q, want %q: %s", last[id]+1, id, e.Type, want, line)
		}
		last[id]++
	}
	for i := range l.acked {
		id, acked := fmt.Sprintf("v%d", i), int(l.acked[i].Load())-1 // the first one is outside
		if n := last[id]; n != acked && n != acked+1 {               // the last one may have no answer yet
			w.Errorf("%s has %d changes, and %d positions were acknowledged", id, n, acked)
		}
	}
}
