package httpapi

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

const noFences = `{"type":"FeatureCollection","features":[]}`

func TestPostMakesASetOnly(t *testing.T) {
	tw := newTown(t, options{})
	r := tw.post("/v1/sets/new", triangle)
	tw.expect(steady(r), 201, "")
	if g := r.header.Get("Paddock-Generation"); g != "1" || decode[setJSON](tw, r).ETag != tw.get("/v1/sets/new").header.Get("ETag") {
		t.Errorf("generation %s, %s", g, r.body)
	}
	tw.problem(tw.post("/v1/sets/new", noFences), 409, `set "new" exists: PUT replaces it`)
	tw.problem(tw.post("/v1/sets/other", triangle, "If-Match", "*"), 412, "If-Match: it does not exist: leave the header out to create it")
	tw.expect(tw.get("/v1/sets/other"), 404, "")
}

// A conditional change is made only in the state that it names.
func TestConditions(t *testing.T) {
	const set, a, none = "/v1/sets/squares", "/v1/sets/squares/fences/a", "/v1/sets/squares/fences/none"
	for _, c := range []struct {
		method, path  string
		header, value string // in the value, NOW is the ETag of the set
		status        int
		detail        string // of a refusal; NOW as above
	}{
		{"PUT", a, "If-Match", "NOW", 200, ""},
		{"PUT", a, "If-Match", `"x", NOW`, 200, ""},
		{"PUT", a, "If-Match", "*", 200, ""},
		{"PUT", a, "If-Match", `"x"`, 412, "If-Match: it has changed, and its ETag is now NOW: read it again"},
		{"PUT", a, "If-Match", "W/NOW", 412, "If-Match: it has changed, and its ETag is now NOW: read it again"},
		{"PUT", none, "If-Match", "NOW", 412, "If-Match: it does not exist: leave the header out to create it"},
		{"PUT", none, "If-None-Match", "*", 201, ""},
		{"PUT", a, "If-None-Match", "*", 412, "If-None-Match: it exists: leave the header out to replace it"},
		{"PUT", a, "If-None-Match", "NOW", 412, "If-None-Match: it is in this state, NOW"},
		{"PUT", a, "If-None-Match", `"x"`, 200, ""},
		{"DELETE", a, "If-Match", "NOW", 204, ""},
		{"DELETE", a, "If-Match", `"x"`, 412, "If-Match: it has changed, and its ETag is now NOW: read it again"},
		{"DELETE", none, "If-Match", "NOW", 404, `no fence "none" in set "squares"`},
		{"PUT", set, "If-Match", "NOW", 200, ""},
		{"PUT", set, "If-Match", `"x"`, 412, "If-Match: it has changed, and its ETag is now NOW: read it again"},
		{"PUT", set, "If-None-Match", "*", 412, "If-None-Match: it exists: leave the header out to replace it"},
		{"PUT", "/v1/sets/new", "If-None-Match", "*", 201, ""},
		{"PUT", "/v1/sets/new", "If-Match", "*", 412, "If-Match: it does not exist: leave the header out to create it"},
		{"DELETE", set, "If-Match", "NOW", 204, ""},
		{"DELETE", set, "If-Match", `"x"`, 412, "If-Match: it has changed, and its ETag is now NOW: read it again"},
		{"DELETE", "/v1/sets/new", "If-Match", "*", 404, `no set "new"; GET /v1/sets lists them`},
	} {
		t.Run(strings.Join([]string{c.method, c.path, c.header, c.value}, " "), func(t *testing.T) {
			tw := newTown(t, options{})
			now := tw.get(set).header.Get("ETag")
			filled := func(s string) string { return strings.ReplaceAll(s, "NOW", now) }
			r := tw.send(request{method: c.method, path: c.path, body: triangle, headers: []string{c.header, filled(c.value)}})
			if c.status >= 400 {
				tw.problem(r, c.status, filled(c.detail))
				if then := tw.get(set).header.Get("ETag"); then != now {
					t.Errorf("changed from %s to %s", now, then)
				}
				return
			}
			tw.expect(r, c.status, "")
			if r.header.Get("Paddock-Generation") == "" {
				t.Error("it does not say the generation")
			}
		})
	}
}

// The state in an answer is valid for the next change.
func TestChangesFollowOneAnother(t *testing.T) {
	tw := newTown(t, options{})
	const path = "/v1/sets/squares/fences/"
	tag := tw.get("/v1/sets/squares").header.Get("ETag")
	for range 3 {
		r := tw.send(request{method: http.MethodPut, path: path + "a", body: triangle, headers: []string{"If-Match", tag}})
		tw.expect(r, 200, "")
		tag = decode[edit](tw, r).ETag
	}
	r := tw.send(request{method: http.MethodDelete, path: path + "a", headers: []string{"If-Match", tag}})
	tw.expect(r, 204, "")
	r = tw.send(request{method: http.MethodDelete, path: path + "b", headers: []string{"If-Match", r.header.Get("ETag")}})
	tw.expect(r, 204, "")
	if g := r.header.Get("Paddock-Generation"); g != "6" {
		t.Errorf("generation %s", g)
	}
}

// Of concurrent changes to one state, exactly one is made.
func TestOneOfManyWins(t *testing.T) {
	tw := newTown(t, options{})
	tag := tw.get("/v1/sets/squares").header.Get("ETag")
	var group sync.WaitGroup
	statuses := make(chan int, 8)
	for range cap(statuses) {
		group.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, tw.url+"/v1/sets/squares", strings.NewReader(noFences))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("If-Match", tag)
			resp, err := tw.client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		})
	}
	group.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if count[200] != 1 || count[412] != cap(statuses)-1 {
		t.Errorf("statuses %v", count)
	}
}
