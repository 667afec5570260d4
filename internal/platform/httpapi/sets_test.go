package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
)

const triangle = `{"type":"Feature","id":"ignored","properties":{"k":[1]},"geometry":{"type":"Polygon","coordinates":[[[20,20],[22,20],[20,22],[20,20]]]}}`

var unsteady = regexp.MustCompile(`,"index":\{"kind":"cellmap","bytes":[0-9]+,"bytes_per_edge":[0-9.]+,"building":false\}|,"etag":"\\\"[0-9a-z]+-[0-9a-z]+-[0-9]+\\\""`)

// steady returns an answer without the values that differ between builds and runs: the memory of an
// index, and ETags.
func steady(r reply) reply {
	r.body = unsteady.ReplaceAll(r.body, nil)
	return r
}

func TestSets(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(steady(tw.get("/v1/sets")), 200, `{"sets":[`+
		`{"name":"far","generation":1,"fences":1,"parts":1,"edges":4,"kind":"cellmap","bbox":[100,40,110,50],"findings":0},`+
		`{"name":"squares","generation":1,"fences":2,"parts":2,"edges":8,"kind":"cellmap","bbox":[0,0,15,10],"findings":0}]}`)
	r := tw.get("/v1/sets/far")
	if r.header.Get("Content-Type") != "application/geo+json" {
		t.Errorf("Content-Type %q", r.header.Get("Content-Type"))
	}
	doc := decode[struct {
		Features []struct {
			ID         string
			Properties struct{ Name string }
		}
	}](tw, r)
	if len(doc.Features) != 1 || doc.Features[0].ID != "c" || doc.Features[0].Properties.Name != "c" {
		t.Errorf("got %s", r.body)
	}
	tw.expect(steady(tw.get("/v1/sets/far?findings=1")), 200, `{"name":"far","generation":1,"fences":1,"parts":1,"edges":4,"kind":"cellmap","bbox":[100,40,110,50],"findings":0,"reasons":[]}`)
	tw.problem(tw.get("/v1/sets/near"), 404, `no set "near"; GET /v1/sets lists them`)
	tw.problem(tw.get("/v1/sets/far?findings=maybe"), 400, `query: findings "maybe": use 0 or 1`)
	empty := newTown(t, options{emptyCatalog: true})
	empty.expect(empty.get("/v1/sets"), 200, `{"sets":[]}`)
}

// Fences that the log of a cluster does not take are refused before they are in use.
func TestSetsThatAreTooLargeToBeStored(t *testing.T) {
	const most = 2 << 20
	tw := newTown(t, options{config: func(c *Config) { c.MaxPage = most }})
	feature := func(id, points int) string {
		ring := make([]string, 0, points+1)
		for n := range points {
			ring = append(ring, fmt.Sprintf("[%g,%d]", float64(n)/1e4, n*n%7))
		}
		return fmt.Sprintf(`{"type":"Feature","id":%d,"properties":{},"geometry":{"type":"Polygon","coordinates":[[%s,%s]]}}`, id, strings.Join(ring, ","), ring[0])
	}
	fences := func(number, points int) string {
		var all []string
		for n := range number {
			all = append(all, feature(n, points))
		}
		return `{"type":"FeatureCollection","features":[` + strings.Join(all, ",") + `]}`
	}
	const refused = "fences that follow each other have 2 MiB, and a cluster stores at most 2 MiB together: simplify them, or put them into several sets"
	before := tw.get("/v1/sets")
	tw.problem(tw.put("/v1/sets/large", fences(1, most/16)), 413, refused)
	tw.problem(tw.put("/v1/sets/squares", fences(256, 448)), 413, refused)
	tw.problem(tw.put("/v1/sets/squares/fences/large", feature(0, most/16)), 413, refused)
	if after := tw.get("/v1/sets"); string(after.body) != string(before.body) {
		t.Errorf("the sets are %s, were %s", after.body, before.body)
	}
	if r := tw.put("/v1/sets/many", fences(1500, 100)); r.status != 201 {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}

// A set that a file adds while a request makes one of the same name is replaced.
func TestPutBesideAFile(t *testing.T) {
	tw := newTown(t, options{})
	for n := range 200 {
		name := fmt.Sprint("s", n)
		s, err := fence.NewSet(name, fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var added sync.WaitGroup
		added.Go(func() { _ = tw.catalog.Add(s) }) // unless the request was faster
		r := tw.send(request{method: http.MethodPut, path: "/v1/sets/" + name, body: `{"type":"FeatureCollection","features":[` + triangle + `]}`})
		if added.Wait(); r.status != http.StatusOK && r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

func TestPutAndDeleteSet(t *testing.T) {
	tw := newTown(t, options{})
	collection := `{"type":"FeatureCollection","features":[` + triangle + `,{"type":"Feature","id":"p","properties":null,"geometry":{"type":"Point","coordinates":[1,2]}}]}`
	put := func(path, body string) reply {
		tw.Helper()
		return tw.send(request{method: http.MethodPut, path: path, body: body})
	}
	r := put("/v1/sets/new-1", collection)
	tw.expect(r, 201, "")
	got := decode[setJSON](tw, r)
	if got.Fences != 1 || got.Findings != 1 || len(got.Reasons) != 1 || got.Reasons[0].Feature != 1 || got.Reasons[0].Code != "not-polygon" {
		t.Errorf("got %s", r.body)
	}
	tw.expect(steady(put("/v1/sets/new-1", `{"type":"FeatureCollection","features":[]}`)), 200,
		`{"name":"new-1","generation":2,"fences":0,"parts":0,"edges":0,"kind":"cellmap","bbox":null,"findings":0,"reasons":[]}`)
	for _, c := range []struct{ path, body, detail string }{
		{"/v1/sets/New", collection, `set "New": a name is at most 128 lower-case letters, digits and single dashes`},
		{"/v1/sets/a--b", collection, `set "a--b": a name is at most 128 lower-case letters, digits and single dashes`},
		{"/v1/sets/" + strings.Repeat("x", 129), collection, `set "` + strings.Repeat("x", 64) + `": a name is at most 128 lower-case letters, digits and single dashes`},
		{"/v1/sets/x", `{"type":"FeatureCollection","features":[`, "x:1:41: unexpected end of JSON"},
		{"/v1/sets/x", `{"type":"Topology"}`, ""},
		{"/v1/sets/x", ``, ""},
	} {
		r := put(c.path, c.body)
		if c.detail == "" {
			c.detail = decode[Problem](tw, r).Detail
		}
		if c.detail = strings.TrimSpace(c.detail); strings.Contains(c.detail, "unexpected end") {
			c.detail = decode[Problem](tw, r).Detail // package fence has the text
			if !strings.HasPrefix(c.detail, "x:1:") {
				t.Errorf("no place in %q", c.detail)
			}
		}
		tw.problem(r, 400, c.detail)
	}
	if _, ok := tw.catalog.Get("x"); ok {
		t.Error("a bad document made a set")
	}
	tw.expect(tw.send(request{method: http.MethodDelete, path: "/v1/sets/new-1"}), 204, "")
	tw.problem(tw.send(request{method: http.MethodDelete, path: "/v1/sets/new-1"}), 404, `no set "new-1"; GET /v1/sets lists them`)
}

func TestFences(t *testing.T) {
	tw := newTown(t, options{})
	const path = "/v1/sets/squares/fences/"
	put := func(id, body string) reply {
		tw.Helper()
		return tw.send(request{method: http.MethodPut, path: path + id, body: body})
	}
	tw.expect(steady(put("t%20%2F%C3%A9", triangle)), 201, `{"set":"squares","id":"t /é","generation":2}`)
	tw.expect(steady(put("t%20%2F%C3%A9", triangle)), 200, `{"set":"squares","id":"t /é","generation":3}`)
	tw.expect(tw.get(path+"t%20%2F%C3%A9"), 200,
		`{"type":"Feature","id":"t /é","properties":{"k":[1]},"geometry":{"type":"Polygon","coordinates":[[[20,20],[22,20],[20,22],[20,20]]]}}`)
	tw.expect(tw.send(request{method: http.MethodDelete, path: path + "t%20%2F%C3%A9"}), 204, "")
	tw.problem(tw.get(path+"t%20%2F%C3%A9"), 404, `no fence "t /é" in set "squares"`)
	tw.problem(tw.send(request{method: http.MethodDelete, path: path + "zz"}), 404, `no fence "zz" in set "squares"`)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		tw.problem(tw.send(request{method: method, path: "/v1/sets/none/fences/a", body: ""}), 404, `no set "none"; GET /v1/sets lists them`)
	}
	tw.problem(put(strings.Repeat("x", 257), triangle), 400, "id: 1 to 256 bytes")
	for name, body := range map[string]string{
		"a point":       `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`,
		"no area":       `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]}}`,
		"out of range":  `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,99],[0,0]]]}}`,
		"half":          `{"type":"Feature"`,
		"no feature":    `[]`,
		"empty":         ``,
		"a huge number": `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1e999,1],[0,0]]]}}`,
	} {
		r := put("bad", body)
		detail := decode[Problem](tw, r).Detail
		if detail == "" || strings.Contains(detail, "Go ") {
			t.Errorf("%s: detail %q", name, detail)
		}
		tw.problem(r, 400, detail)
	}
	if set, _ := tw.catalog.Get("squares"); set.Snapshot().Len() != 2 {
		t.Errorf("%d fences", set.Snapshot().Len())
	}
}

func TestETags(t *testing.T) {
	tw := newTown(t, options{})
	for _, path := range []string{"/v1/sets/squares", "/v1/sets/squares/fences/a"} {
		tag := tw.get(path).header.Get("ETag")
		for known, want := range map[string]int{
			tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, strings.Trim(tag, `"`): 200, "": 200,
		} {
			r := tw.get(path, "If-None-Match", known)
			if r.status != want || r.header.Get("ETag") != tag || (want == 304) != (len(r.body) == 0) {
				t.Errorf("%s, If-None-Match %s: %d, ETag %s", path, known, r.status, r.header.Get("ETag"))
			}
		}
		tw.expect(tw.send(request{method: http.MethodPut, path: "/v1/sets/squares/fences/a", body: triangle}), 200, "")
		if r := tw.get(path, "If-None-Match", tag); r.status != 200 {
			t.Errorf("%s has changed: %d", path, r.status)
		}
	}
}

// A set that is deleted and created again restarts its generations. None of its ETags equals one of
// the earlier set, or one of another process.
func TestETagsAreNotUsedAgain(t *testing.T) {
	tw, other := newTown(t, options{}), newTown(t, options{})
	seen := map[string]bool{other.get("/v1/sets/squares").header.Get("ETag"): true}
	for range 5 {
		tag := tw.get("/v1/sets/squares").header.Get("ETag")
		if seen[tag] {
			t.Errorf("%s again", tag)
		}
		seen[tag] = true
		tw.expect(tw.send(request{method: http.MethodDelete, path: "/v1/sets/squares"}), 204, "")
		tw.expect(tw.send(request{method: http.MethodPut, path: "/v1/sets/squares", body: triangle}), 201, "")
	}
}

// The events show the effect of an edit of fences on an object, each in the described form.
func TestEditsCauseEvents(t *testing.T) {
	tw := newTown(t, options{track: track.Options{Initial: track.InitialEnter}})
	tw.move("v", 0, 7, 5) // in a and b
	put := func(path, body string, status int) {
		tw.Helper()
		tw.expect(tw.send(request{method: http.MethodPut, path: path, body: body}), status, "")
		tw.settle()
	}
	around := `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[6,4],[8,4],[8,6],[6,6],[6,4]]]}}`
	tw.settle()
	put("/v1/sets/squares/fences/d", around, 201)
	put("/v1/sets/squares/fences/a", triangle, 200)
	tw.expect(tw.send(request{method: http.MethodDelete, path: "/v1/sets/squares/fences/b"}), 204, "")
	tw.settle()
	put("/v1/sets/extra", around, 201)
	tw.expect(tw.send(request{method: http.MethodDelete, path: "/v1/sets/extra"}), 204, "")
	tw.settle()
	put("/v1/sets/squares", `{"type":"FeatureCollection","features":[]}`, 200)

	var got []string
	for _, e := range tw.past("") {
		got = append(got, fmt.Sprintf("%s %s/%s %s", strings.TrimPrefix(e.Type, "paddock.fence."), e.Data.Set, e.Data.Fence.ID, e.Data.Reason))
	}
	want := []string{
		"enter squares/a initial", "enter squares/b initial", "enter squares/d fence_added", "exit squares/a fence_changed",
		"exit squares/b fence_removed", "enter extra/0 fence_added", "exit extra/0 fence_removed", "exit squares/d fence_removed",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
