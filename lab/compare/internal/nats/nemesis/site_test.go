package nemesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/cluster"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/servers"
)

// site is three nats-servers, some nodes, and the links between them.
type site struct {
	t       testing.TB
	dir     string
	program string // paddock
	// falseProgram is paddock with a clock that can be wrong; "": it was not built.
	falseProgram string
	servers      *servers.Cluster
	nodes        []*node
	links        []*link
	admin        *nats.Conn // to the servers, past the links
	watching     sync.WaitGroup
	random       *rand.Rand // of the test's goroutine
	hook         *receiver
	small        bool // the directory of fullServer is a small file system

	mu    sync.Mutex
	beats map[string]heard // by node
}

// heard is the last beat of a node.
type heard struct {
	cluster.Beat
	at time.Time
}

const stream = "PADDOCK_PADDOCK"

// newSite starts the servers and the nodes. All of it ends with the test.
func newSite(t testing.TB, seed uint64, nodes int) *site {
	t.Helper()
	s := &site{t: t, dir: *kept, random: rand.New(rand.NewPCG(seed, 0)), beats: map[string]heard{}}
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	s.program = filepath.Join(s.dir, "paddock")
	if err := programs.Build(s.program, "../../../../..", "./cmd/paddock"); err != nil {
		t.Fatal(err)
	}
	s.mountSmall(s.serverDir(fullServer))
	s.servers = servers.StartWith(t, 3, servers.Options{
		Dir: s.serverDir,
		Route: func(from, to int, address string) string {
			return s.link(serverName(from), serverName(to), address)
		},
	})
	s.admin = s.servers.Connect()
	create := exec.Command(s.program, "cluster", "init", "--bus", s.servers.URL())
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sub, err := s.admin.Subscribe("pdk.paddock.beat", s.hear)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() }) // the connection may be gone
	s.hook = newReceiver(t)
	t.Cleanup(s.watching.Wait)
	for range nodes {
		s.run(s.addNode())
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.logServers()
		}
		for _, n := range s.nodes {
			if t.Failed() {
				t.Logf("the log of node %s ends with\n%s", n.name, n.tail())
			}
			s.kill(n)
		}
	})
	return s
}

// logServers logs what each server tells of the stream, and the newest message that it has.
func (s *site) logServers() {
	for i, server := range s.servers.Servers {
		nc, err := nats.Connect("nats://" + server.Address())
		if err != nil {
			s.t.Logf("server %s: %v", serverName(i), err)
			continue
		}
		ask := func(subject, request string) string {
			msg, err := nc.Request(subject, []byte(request), 2*time.Second)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(msg.Header, " ", string(msg.Data[:min(len(msg.Data), 1500)]))
		}
		s.t.Logf("server %s\n  of the stream: %s\n  its newest message: %s\n  the newest one: %s", serverName(i), ask("$JS.API.STREAM.INFO."+stream, ""),
			ask("$JS.API.DIRECT.GET."+stream, `{"last_by_subj":"pdk.paddock.log"}`), ask("$JS.API.STREAM.MSG.GET."+stream, `{"last_by_subj":"pdk.paddock.log"}`))
		nc.Close()
	}
}

func serverName(i int) string { return fmt.Sprintf("s%d", i+1) }

// serverDir returns the directory of a server.
func (s *site) serverDir(i int) string { return filepath.Join(s.dir, serverName(i)) }

// link adds a link, and returns its address.
func (s *site) link(from, to, target string) string {
	l := newLink(s.t, from, to, target)
	s.links = append(s.links, l)
	return l.address()
}

// addNode returns one node more, which does not run yet.
func (s *site) addNode() *node {
	s.t.Helper()
	n := &node{name: fmt.Sprintf("p%d", len(s.nodes)+1)}
	n.dir = filepath.Join(s.dir, n.name)
	ports, err := programs.KeptPorts(3)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(n.dir, "paddock.yaml")
	settings := "webhooks:\n  allow: [127.0.0.1]\n"
	if *objects == 0 { // there are snapshots all the time
		settings += "cluster:\n  snapshot: 20s\n  snapshot_bytes: 1MiB\n"
	}
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		s.t.Fatal(err)
	}
	local := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	n.http, n.bus, n.wire = local(ports[0]), local(ports[1]), local(ports[2])
	var urls []string
	for i, server := range s.servers.Servers {
		urls = append(urls, "nats://"+s.link(n.name, serverName(i), server.Address()))
	}
	n.args = []string{
		"up", "-c", file, "--bus", strings.Join(urls, ","), "--node", n.name, "--data", filepath.Join(n.dir, "data"),
		"--listen", n.http, "--bus-listen", n.bus, "--wire-listen", n.wire, "--policy", "raw", "--initial", "enter",
	}
	s.nodes = append(s.nodes, n)
	return n
}

// populate gives the nodes objects that are far from every fence.
func (s *site) populate(count int) {
	s.t.Helper()
	s.await("all nodes", s.allAlive)
	const most = 50_000
	var body bytes.Buffer
	for i := range count {
		fmt.Fprintf(&body, `{"id":"far-%d","lon":%.4f,"lat":60}`+"\n", i, float64(i%100_000)/1000)
		if i%most != most-1 && i != count-1 {
			continue
		}
		status, answer, err := request(s.t.Context(), time.Minute, http.MethodPost, s.nodes[0].url("/v1/positions"), body.String())
		if err != nil || status/100 != 2 {
			s.t.Fatalf("positions of objects: %d %s, %v", status, answer, err)
		}
		body.Reset()
	}
}

// hear takes a beat of a node. The term of a process never goes back.
func (s *site) hear(msg *nats.Msg) {
	var b cluster.Beat
	if err := json.Unmarshal(msg.Data, &b); err != nil {
		s.t.Errorf("a beat: %v: %s", err, msg.Data)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.beats[b.Node]; before.ID == b.ID && (before.Term > b.Term || before.Applied > b.Applied) {
		s.t.Errorf("a beat goes back: %+v after %+v", b, before.Beat)
	}
	s.beats[b.Node] = heard{b, time.Now()}
}

// leader returns the node that leads and runs, or nil.
func (s *site) leader() (leader *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	term := uint64(0)
	for _, n := range s.nodes {
		b := s.beats[n.name]
		if n.unit != nil && b.Role == cluster.Leader && b.Term > term && time.Since(b.at) < 2*time.Second {
			leader, term = n, b.Term
		}
	}
	return leader
}

// isAlive reports whether a node has told a moment ago that it leads or follows.
func (s *site) isAlive(n *node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.beats[n.name]
	return n.unit != nil && b.at.After(n.begun) && time.Since(b.at) < time.Second && (b.Role == cluster.Leader || b.Role == cluster.Follower)
}

// allAlive reports that of all nodes.
func (s *site) allAlive() bool {
	return !slices.ContainsFunc(s.nodes, func(n *node) bool { return !s.isAlive(n) })
}

// await waits until a condition holds.
func (s *site) await(what string, condition func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(servers.Patience); !condition(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// awaitLeader waits for a leader, and returns it.
func (s *site) awaitLeader() (leader *node) {
	s.t.Helper()
	s.await("a leader", func() bool { leader = s.leader(); return leader != nil })
	return leader
}

// follower waits for a node that follows, and returns it.
func (s *site) follower() *node {
	s.t.Helper()
	var others []*node
	s.await("a follower", func() bool {
		leader := s.leader()
		others = slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return n == leader || !s.isAlive(n) })
		return leader != nil && len(others) > 0
	})
	return others[s.random.IntN(len(others))]
}

// streamLeader returns the server that leads the stream.
func (s *site) streamLeader() (i int) {
	s.t.Helper()
	s.await("a leader of the stream", func() bool { i = s.servers.LeaderOf(s.admin, stream); return i >= 0 })
	return i
}

// linksOf returns the links of a server or a node: with the other servers, with nodes, or both.
func (s *site) linksOf(name string, match func(other string) bool) (found []*link) {
	for _, l := range s.links {
		if l.from == name && match(l.to) || l.to == name && match(l.from) {
			found = append(found, l)
		}
	}
	return found
}

func isServer(name string) bool { return name[0] == 's' }
