package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"paddock/internal/platform/rulebook"
	"paddock/internal/process/keyring"
)

func (tw *town) put(path, body string, headers ...string) reply {
	tw.Helper()
	return tw.send(request{method: http.MethodPut, path: path, body: body, headers: headers})
}

func (tw *town) patch(path, body string, headers ...string) reply {
	tw.Helper()
	return tw.send(request{method: http.MethodPatch, path: path, body: body, headers: headers})
}

func (tw *town) remove(path string, headers ...string) reply {
	tw.Helper()
	return tw.send(request{method: http.MethodDelete, path: path, headers: headers})
}

// A rule is added, read, changed and deleted, under the conditions of the request.
func TestRules(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.get("/v1/rules"), 200, `{"rules":[]}`)
	made := tw.put("/v1/rules/a", `{"set":"squares","objects":"bus-*"}`)
	tw.expect(made, 201, `{"rule":{"id":"a","set":"squares","objects":"bus-*"}}`)
	tag := made.header.Get("ETag")
	got := tw.get("/v1/rules/a")
	tw.expect(got, 200, `{"id":"a","set":"squares","objects":"bus-*"}`)
	if got.header.Get("ETag") != tag || tag == "" {
		t.Errorf("ETag %q, then %q", tag, got.header.Get("ETag"))
	}
	tw.expect(tw.get("/v1/rules/a", "If-None-Match", tag), 304, "")
	tw.problem(tw.put("/v1/rules/a", `{"set":"far"}`, "If-None-Match", "*"), 412, "If-None-Match: it exists: leave the header out to replace it")
	tw.problem(tw.patch("/v1/rules/a", `{}`, "If-Match", `"x"`), 412, "If-Match: it has changed, and its ETag is now "+tag+": read it again")
	tw.expect(tw.patch("/v1/rules/a", `{"objects":null,"detect":["dwell"],"dwell":{"after":"5m"}}`, "If-Match", tag), 200,
		`{"rule":{"id":"a","set":"squares","detect":["dwell"],"dwell":{"after":"5m"}}}`)
	tw.expect(tw.put("/v1/rules/b", `{"id":"b","set":"nowhere"}`), 201, `{"rule":{"id":"b","set":"nowhere"},"warnings":["there is no set \"nowhere\" yet"]}`)
	tw.expect(tw.put("/v1/rules/c", `{"set":"far","fences":["c","d"]}`), 201,
		`{"rule":{"id":"c","set":"far","fences":["c","d"]},"warnings":["the set \"far\" has no fence \"d\" yet"]}`)
	tw.expect(tw.get("/v1/rules?limit=1&after=a"), 200, `{"rules":[{"id":"b","set":"nowhere"}],"next":"b"}`)
	tw.expect(tw.get("/v1/rules?set=far"), 200, `{"rules":[{"id":"c","set":"far","fences":["c","d"]}]}`)

	tw.problem(tw.remove("/v1/rules/a", "If-Match", tag), 412, "If-Match: it has changed, and its ETag is now "+tw.get("/v1/rules/a").header.Get("ETag")+": read it again")
	tw.expect(tw.remove("/v1/rules/a"), 204, "")
	tw.problem(tw.get("/v1/rules/a"), 404, `no rule "a"; GET /v1/rules lists them`)
	tw.problem(tw.remove("/v1/rules/a"), 404, `rule "a": not found`)
	tw.problem(tw.patch("/v1/rules/a", `{}`), 404, `rule "a": not found`)

	tw.problem(tw.put("/v1/rules/x", `{"id":"y","set":"far"}`), 400, `body: id: "y" is not the id of the request, "x"`)
	tw.problem(tw.patch("/v1/rules/b", `{"id":"y"}`), 400, `body: id: a patch does not change the id "b": put a new rule and delete this one`)
	for body, want := range map[string]string{
		`{`: "", `[]`: "", `{"set":"far","object":"x"}`: "objects", `{"set":"far","when":"speed >"}`: "column", `{}`: "set",
		`{"set":"far","active":{"zone":"Mars"}}`: "Mars", `{"set":"far","count":{"at_least":-2}}`: "at_least",
	} {
		r := tw.put("/v1/rules/x", body)
		if p := decode[Problem](tw, r); r.status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %s", body, r.status, p.Detail)
		}
	}
	tw.problem(tw.get("/v1/rules?limit=0"), 400, `query: limit "0" is not a number from 1 to 10000`)
}

// The answer to a change of a rule comes when it holds for positions.
func TestRulesHold(t *testing.T) {
	tw := newTown(t, options{})
	tw.move("truck", 0, 7, 5)
	tw.move("bus-1", 0, 7, 5)
	tw.expect(tw.put("/v1/rules/buses", `{"set":"squares","fences":["a"],"objects":"bus-*","detect":["exit"]}`), 201, "")
	tw.move("truck", 1, 50, 50)
	tw.move("bus-1", 1, 50, 50)
	var told []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(tw.get("/v1/events?wait=0").body)), "\n") {
		e := decode[struct {
			Type, Subject string
			Data          struct {
				Fence  struct{ ID string }
				Reason string
			}
		}](tw, reply{body: []byte(line)})
		told = append(told, fmt.Sprint(e.Subject, " ", strings.TrimPrefix(e.Type, "paddock.fence."), " ", e.Data.Fence.ID, " ", e.Data.Reason))
	}
	if got := strings.Join(told, ", "); !strings.HasSuffix(got, "bus-1 exit a move") || strings.Contains(got, "truck exit a move") || strings.Contains(got, "exit b move") {
		t.Error(got)
	}
}

func TestPolicies(t *testing.T) {
	tw := newTown(t, options{})
	first := tw.get("/v1/sets/squares/policy")
	tw.expect(first, 200, "")
	if !strings.Contains(string(first.body), `"fixes":1,"metres":0`) || !strings.Contains(string(first.body), `"own":false`) {
		t.Errorf("%s", first.body)
	}
	kept := tw.put("/v1/sets/squares/policy", `{"preset":"steady","metres":15}`)
	if tw.expect(kept, 200, ""); !strings.Contains(string(kept.body), `"fixes":3,"metres":15`) || !strings.Contains(string(kept.body), `"own":true`) {
		t.Errorf("%s", kept.body)
	}
	tw.move("v", 0, 50, 50)
	for n := 1; n <= 3; n++ { // the third position confirms, as each is near the boundary
		tw.move("v", n, 0.0003, 5)
		events := string(tw.get("/v1/events?wait=0&set=squares&object=v").body)
		if told := strings.Contains(events, "fence.enter"); told != (n == 3) {
			t.Errorf("after %d positions: %s", n, events)
		}
		state := string(tw.get("/v1/objects/v").body)
		if waits := strings.Contains(state, `"pending":[{"set":"squares","fence":"a","event":"enter","at":`); waits != (n < 3) {
			t.Errorf("after %d positions: %s", n, state)
		}
	}
	tw.expect(tw.put("/v1/sets/squares/policy", `"raw"`), 200, "")
	tw.expect(tw.remove("/v1/sets/squares/policy"), 204, "")
	tw.problem(tw.remove("/v1/sets/squares/policy"), 404, `a policy of the set "squares": not found`)
	tw.problem(tw.get("/v1/sets/none/policy"), 404, `no set "none"; GET /v1/sets lists them`)
	r := tw.put("/v1/sets/squares/policy", `{"fixes":0}`)
	tw.problem(r, 400, `body: fixes: "0" is not a whole number from 1 to 100`)
	tw.expect(tw.put("/v1/sets/far/policy", `"accuracy"`), 200, "")
	tw.expect(tw.remove("/v1/sets/far"), 204, "")
	tw.expect(tw.put("/v1/sets/far", `{"type":"FeatureCollection","features":[]}`), 201, "")
	if got := tw.get("/v1/sets/far/policy"); !strings.Contains(string(got.body), `"own":false`) {
		t.Errorf("the policy of a deleted set is that of the next one: %s", got.body)
	}
}

// A policy whose body comes after its set has gone is refused: it would be that of the next set of
// this name.
func TestPolicyOfASetThatGoes(t *testing.T) {
	tw := newTown(t, options{})
	body, text := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, tw.url+"/v1/sets/far/policy", body)
	must(t, err)
	r.Header.Set("Expect", "100-continue") // the body is asked for once the set has been found
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: patience}}
	defer client.CloseIdleConnections()
	status := make(chan int, 1)
	go func() {
		resp, err := client.Do(r)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	if _, err := io.WriteString(text, `"ra`); err != nil {
		t.Fatal(err)
	}
	tw.expect(tw.remove("/v1/sets/far"), 204, "")
	if _, err := io.WriteString(text, `w"`); err != nil {
		t.Fatal(err)
	}
	text.Close()
	if got := <-status; got != http.StatusNotFound {
		t.Errorf("status %d", got)
	}
	tw.expect(tw.put("/v1/sets/far", `{"type":"FeatureCollection","features":[]}`), 201, "")
	if got := tw.get("/v1/sets/far/policy"); !strings.Contains(string(got.body), `"own":false`) {
		t.Errorf("the next set has it: %s", got.body)
	}
}

// A dry run tells what would happen, and leaves nothing.
func TestDryRun(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.put("/v1/rules/other", `{"set":"far"}`), 201, "")
	body := `{"rules":[{"id":"r","set":"squares","fences":["a"],"detect":["enter","dwell"],"dwell":{"after":"60s"}}],"policy":{"initial":"enter"},"positions":[
		{"id":"v","lon":50,"lat":50,"t":1000000000000},{"id":"v","lon":5,"lat":5,"t":1000000010000},
		{"id":"v","lon":5,"lat":5,"t":1000000009000},{"id":"v","lon":5,"lat":5.1,"t":1000000100000},{"id":"v","lon":500,"lat":5}]}`
	r := tw.post("/v1/rules/dry-run", body)
	got := decode[dryRunResult](tw, r)
	if r.status != 200 || got.Positions != 5 || got.Accepted != 3 || got.Late != 1 || len(got.Rejected) != 1 || len(got.Events.Events) != 2 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if !strings.Contains(string(got.Events.Events[0]), `"type":"paddock.fence.enter"`) || !strings.Contains(string(got.Events.Events[1]), `"type":"paddock.fence.dwell"`) ||
		!strings.Contains(string(got.Events.Events[1]), `"rule":"r"`) {
		t.Errorf("%s", got.Events.Events)
	}
	r = tw.post("/v1/rules/dry-run", `{"rules":[{"id":"c","set":"squares","fences":["a"],"count":{"at_least":2}},{"id":"n","near":{"metres":9000}}],"policy":"raw","positions":[
		{"id":"v","lon":5,"lat":5,"t":1000000000000},{"id":"w","lon":5.01,"lat":5,"t":1000000010000},{"id":"w","lon":50,"lat":50,"t":1000000020000}]}`)
	var kinds []string
	for _, e := range decode[struct{ Events []struct{ ID, Type string } }](tw, r).Events {
		kinds = append(kinds, strings.TrimPrefix(e.Type, "paddock.fence.")+" "+e.ID)
	}
	if got, want := strings.Join(kinds, ", "), "count_begin count/c/a/4, near_begin near/n/v/w/4, count_end count/c/a/6, near_end near/n/v/w/6"; got != want {
		t.Errorf("%s, want %s: %s", got, want, r.body)
	}
	tw.expect(tw.get("/v1/events?wait=0"), 200, "")
	tw.problem(tw.get("/v1/objects/v"), 404, decode[Problem](tw, tw.get("/v1/objects/v")).Detail)
	for body, want := range map[string]string{
		`{`: "body", `{"rule":[]}`: "unknown field", `{}`: "give one of", `{"rules":[{"id":"x"}],"positions":[]}`: "set",
		`{"rules":[{"id":"x","set":"far","count":{"at_least":0}}],"positions":[]}`: "at_least", `{"rules":[null],"positions":[]}`: "rules[0]",
		`{"positions":[{"id":"v","lon":1,"lat":1,"t":"1980-01-06T00:00:00Z"},{"id":"v","lon":1,"lat":1,"t":"2026-01-01T00:00:00Z"}]}`: "400 days",
	} {
		r := tw.post("/v1/rules/dry-run", body)
		if p := decode[Problem](tw, r); r.status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %s", body, r.status, p.Detail)
		}
	}
	tw.expect(tw.post("/v1/rules/dry-run", `{"history":{"object":"v","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}}`), 404, "")
	tw.expect(tw.get("/v1/rules/dry-run"), 404, "")
}

// The number of rules about objects near each other has a bound, also for a rule that becomes one.
func TestRulesAreBounded(t *testing.T) {
	tw := newTown(t, options{})
	for i := range rulebook.MaxNear {
		tw.expect(tw.put(fmt.Sprint("/v1/rules/near-", i), `{"near":{"metres":5}}`), 201, "")
	}
	const detail = "too many rules with near: at most 100 are kept; delete one first"
	tw.problem(tw.put("/v1/rules/more", `{"near":{"metres":5}}`), 507, detail)
	tw.expect(tw.put("/v1/rules/more", `{"set":"far"}`), 201, "")
	tw.problem(tw.patch("/v1/rules/more", `{"set":null,"near":{"metres":5}}`), 507, detail)
}

// Positions of a dry run without a fleet are in the only one of the key, as in POST /v1/positions.
func TestDryRunOfAKey(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	must(t, ring.Add(keyring.Key{Name: "one", SHA256: keyring.DigestOf("secret"), Verbs: []string{"rules:write"}, Fleets: []string{"taxis"}}))
	tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired = ring, true }})
	r := tw.post("/v1/rules/dry-run", `{"policy":{"initial":"enter"},"positions":[{"id":"v","lon":1,"lat":1,"t":1000000000000}]}`, "Authorization", "Bearer secret")
	if r.status != 200 || !strings.Contains(string(r.body), `"fleet":"taxis"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	tw.problem(tw.post("/v1/rules/dry-run", `{"positions":[{"id":"v","fleet":"buses","lon":1,"lat":1,"t":1000000000000}]}`, "Authorization", "Bearer secret"),
		403, `the key "one" is not for the fleet "buses"`)
}
