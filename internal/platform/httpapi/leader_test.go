package httpapi

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

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
