package httpapi

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"paddock/fence"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
)

// follow gives the sets of the leader to a follower, as the log does.
func (tw *town) follow(leader *town) {
	tw.Helper()
	var change fence.Change
	for _, name := range tw.catalog.Names() {
		if _, ok := leader.catalog.Get(name); !ok {
			change.Remove = append(change.Remove, name)
		}
	}
	for made := range leader.catalog.All() {
		set, err := fence.NewSet(made.Name(), fence.Options{})
		must(tw.TB, err)
		snap, pages := made.Snapshot(), map[int][]byte{}
		for i, p := range snap.Pages() {
			pages[i] = p.Append(nil)
		}
		_, err = set.Restore(snap.AppendHead(nil), pages)
		must(tw.TB, err)
		change.Put = append(change.Put, set)
	}
	_, err := tw.catalog.Apply(change)
	must(tw.TB, err)
}

// A state has the same ETag at all nodes, so a change to what was read at a follower is made, and
// is refused only if the set has changed.
func TestConditionsOfWhatAFollowerHas(t *testing.T) {
	leader := newTown(t, options{config: func(c *Config) { c.Leader = func() (string, bool) { return "", true } }})
	follower := newTown(t, options{emptyCatalog: true, config: func(c *Config) { c.Leader = func() (string, bool) { return leader.url, false } }})
	seen := map[string]bool{}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "/v1/sets/squares/fences/a", 200},
		{"PUT", "/v1/sets/squares/fences/a", 200}, // with the same fence
		{"DELETE", "/v1/sets/squares/fences/b", 204},
		{"PUT", "/v1/sets/squares", 200},
		{"DELETE", "/v1/sets/squares", 204},
	} {
		follower.follow(leader)
		tag := follower.get("/v1/sets/squares").header.Get("ETag")
		if seen[tag] || tag != follower.get("/v1/sets/squares/fences").header.Get("ETag") {
			t.Errorf("%s %s: %s", c.method, c.path, tag)
		}
		seen[tag] = true
		for _, node := range []*town{leader, follower} {
			for _, path := range []string{"/v1/sets/squares", "/v1/sets/squares/tiles/0/0/0"} {
				if r := node.get(path, "If-None-Match", tag); r.status != http.StatusNotModified {
					t.Errorf("GET %s: %d", path, r.status)
				}
			}
		}
		change := request{method: c.method, path: c.path, body: triangle, headers: []string{"If-Match", tag}}
		if r := follower.send(change); r.status != c.status {
			t.Fatalf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
		if r := follower.send(change); r.status != http.StatusPreconditionFailed && r.status != http.StatusNotFound {
			t.Errorf("%s %s: it has changed: %d %s", c.method, c.path, r.status, r.body)
		}
	}
	// Another set with its name begins with the same generation.
	leader.expect(leader.post("/v1/sets/squares", triangle), 201, "")
	if tag := leader.get("/v1/sets/squares").header.Get("ETag"); seen[tag] {
		t.Errorf("%s again", tag)
	}
}

// A follower passes changes to the leader, with their bodies and conditions, and answers look-ups
// itself.
func TestChangesGoToTheLeader(t *testing.T) {
	leader := newTown(t, options{config: func(c *Config) { c.Leader = func() (string, bool) { return "", true } }})
	follower := newTown(t, options{config: func(c *Config) { c.Leader = func() (string, bool) { return leader.url, false } }})
	const fence = `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[50,50],[51,50],[51,51],[50,50]]]},"properties":{}}`
	made := follower.send(request{method: http.MethodPut, path: "/v1/sets/far/fences/d", body: fence, headers: []string{"If-None-Match", "*"}})
	if made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	if r := leader.get("/v1/sets/far/fences/d"); r.status != 200 {
		t.Errorf("at the leader: %d %s", r.status, r.body)
	}
	if r := follower.get("/v1/sets/far/fences/d"); r.status != 404 {
		t.Errorf("a follower gets changes by the log: %d", r.status)
	}
	if r := follower.send(request{method: http.MethodPut, path: "/v1/sets/far/fences/d", body: fence, headers: []string{"If-None-Match", "*"}}); r.status != http.StatusPreconditionFailed {
		t.Errorf("the second one: %d %s", r.status, r.body)
	}
	if r := follower.get("/v1/search?lon=1&lat=5"); r.status != 200 {
		t.Errorf("a look-up: %d %s", r.status, r.body)
	}
}

// The audit has the address of the client, whichever node it asked. A client cannot give another
// one, unless it knows the secret of the nodes.
func TestAuditOfAPassedChange(t *testing.T) {
	log, err := audit.Open(journal.NewMemory())
	must(t, err)
	secret := bytes.Repeat([]byte("s"), 32)
	leader := newTown(t, options{config: func(c *Config) {
		c.Leader, c.Audit, c.SessionSecret = func() (string, bool) { return "", true }, log, secret
	}})
	node := func(secret []byte) *town {
		return newTown(t, options{config: func(c *Config) {
			c.Leader, c.SessionSecret = func() (string, bool) { return leader.url, false }, secret
		}})
	}
	follower, stranger := node(secret), node(bytes.Repeat([]byte("x"), 32))
	var own string // address of the client
	for _, tw := range []*town{leader, follower, stranger} {
		tw.client.Transport = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				own = conn.LocalAddr().String()
			}
			return conn, err
		}}
	}
	const rule = "/v1/rules/r"
	for i, c := range []struct {
		at      *town
		headers []string
		own     bool
	}{
		{leader, nil, true},
		{follower, nil, true},
		{follower, []string{passedHeader, "", "X-Forwarded-For", "192.0.2.1"}, true},
		{leader, []string{passedHeader, "1", "X-Forwarded-For", "192.0.2.1"}, true},
		{leader, []string{passedHeader, "192.0.2.1:80 " + follower.api.passedBy(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: rule}}, "192.0.2.1:80")}, true},
		{leader, []string{passedHeader, "192.0.2.1:80 " + stranger.api.passedBy(&http.Request{Method: http.MethodPut, URL: &url.URL{Path: rule}}, "192.0.2.1:80")}, true},
		{stranger, nil, false},
	} {
		if r := c.at.put(rule, `{"set":"far"}`, c.headers...); r.status != 200 && r.status != 201 {
			t.Fatalf("%d: %d %s", i, r.status, r.body)
		}
		c.at.client.CloseIdleConnections()
		found, _, err := log.List(audit.Query{Limit: 1})
		must(t, err)
		if len(found) != 1 || (found[0].From == own) != c.own || strings.HasPrefix(found[0].From, "192") {
			t.Errorf("%d: from %+v, the client is %s", i, found, own)
		}
	}
}

// A change waits while there is no leader, or one that does not take connections any more, and is
// made once.
func TestAChangeWaitsForALeader(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, gone.Close())
	leader := newTown(t, options{config: func(c *Config) { c.Leader = func() (string, bool) { return "", true } }})
	var asked, here atomic.Int64
	follower := newTown(t, options{config: func(c *Config) {
		c.Leader = func() (string, bool) {
			if here.Load() > 0 {
				return "", true
			}
			return []string{"", "http://" + gone.Addr().String(), leader.url}[min(asked.Add(1)-1, 2)], false
		}
	}})
	if r := follower.send(request{method: http.MethodDelete, path: "/v1/sets/far"}); r.status != http.StatusNoContent || asked.Load() != 3 {
		t.Errorf("%d %s after %d looks for a leader", r.status, r.body, asked.Load())
	}
	if r := leader.get("/v1/sets/far"); r.status != 404 {
		t.Errorf("the set is at the leader: %d", r.status)
	}
	here.Store(1) // it has become the leader itself
	if r := follower.send(request{method: http.MethodDelete, path: "/v1/sets/far"}); r.status != http.StatusNoContent {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A request that another node has passed goes no further, so that two nodes that take each other
// for the leader do not pass it round.
func TestAPassedRequestGoesNoFurther(t *testing.T) {
	follower := newTown(t, options{config: func(c *Config) { c.Leader = func() (string, bool) { return "http://127.0.0.1:1", false } }})
	r := follower.send(request{method: http.MethodDelete, path: "/v1/sets/far", headers: []string{passedHeader, "1"}})
	follower.problem(r, http.StatusServiceUnavailable, "the cluster has no leader at present: try again")
	if r.header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After")
	}
}
