package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookTown is a town with webhooks, which deliver to nothing: their addresses are refused.
func hookTown(t *testing.T, changed func(c hooks.Change)) *town {
	var all *hooks.Hooks
	tw := newTown(t, options{config: func(cfg *Config) {
		var err error
		all, err = hooks.Open(hooks.Options{
			Log: cfg.Log, Store: &deliver.Volatile{}, Keeps: true, Logger: slog.New(slog.DiscardHandler),
			Changed: func(_ context.Context, c hooks.Change) {
				if changed != nil {
					changed(c)
				}
			},
		})
		must(t, err)
		cfg.Hooks = all
	}})
	t.Cleanup(func() { must(t, all.Drain(context.Background())) })
	return tw
}

// Webhooks are changed as rules are: by documents with ETags and conditions. Secrets never come
// back, and stand for themselves where they are hidden.
func TestWebhookDocuments(t *testing.T) {
	var told []string
	tw := hookTown(t, func(c hooks.Change) { told = append(told, c.Action+" "+c.ID) })
	put := func(id, body string, headers ...string) reply {
		return tw.send(request{method: "PUT", path: "/v1/webhooks/" + id, body: body, headers: headers})
	}
	tw.expect(tw.get("/v1/webhooks"), 200, `{"webhooks":[]}`)
	r := put("ops", `{"url":"https://ops.example/hook","secrets":["`+hookSecret+`"],"sets":["squares"]}`)
	const document = `{"webhook":{"id":"ops","url":"https://ops.example/hook","sets":["squares"],"format":"cloudevents","secrets":["[hidden]"],"enabled":true},"state":{"state":"active",`
	if tag := r.header.Get("ETag"); r.status != 201 || tag == "" || !strings.HasPrefix(string(r.body), document) {
		t.Errorf("%d, %s: %s", r.status, tag, r.body)
	}
	got := tw.get("/v1/webhooks/ops")
	if got.header.Get("ETag") != r.header.Get("ETag") || string(got.body) != string(r.body) {
		t.Errorf("%s: %s", got.header.Get("ETag"), got.body)
	}
	first := r.header.Get("ETag")

	// What a client has read can be put again.
	r = put("ops", `{"id":"ops","url":"https://ops.example/hook","sets":["squares"],"format":"cloudevents","secrets":["[hidden]"],"enabled":true}`, "If-Match", first)
	tw.expect(r, 200, "")
	tw.problem(put("ops", `{"url":"https://a.example"}`, "If-Match", first), 412, "If-Match: it has changed, and its ETag is now "+r.header.Get("ETag")+": read it again")
	tw.problem(put("ops", `{"url":"https://a.example"}`, "If-None-Match", "*"), 412, "If-None-Match: it exists: leave the header out to replace it")
	tw.problem(put("new", `{"url":"https://a.example","secrets":["[hidden]"]}`), 400, "body: secrets[0]: [hidden] stands for what is there, and nothing is: give it")
	tw.problem(put("new", `{"url":"https://a.example","sets":"squares","colour":1}`), 400, "body: colour: there is no such field; there are enabled, events, fences, fleets, format, headers, id, max_batch, objects, rules, secrets, sets, url; sets: want a list of texts")
	tw.problem(put("new", `{"url":"http://10.0.0.1/"}`), 400, "body: url: the address 10.0.0.1 is not of the public internet: webhooks.allow in the configuration can allow it")
	tw.problem(put("-", `{"url":"https://a.example"}`), 400, `body: id: "-": an id has letters A to Z, digits and . - _, and begins with a letter or digit`)

	patch := func(id, body string) reply {
		return tw.send(request{method: "PATCH", path: "/v1/webhooks/" + id, body: body})
	}
	r = patch("ops", `{"enabled":false,"sets":null,"rules":["none"],"url":"http://ops.example"}`)
	if r.status != 200 || !strings.Contains(string(r.body), `"state":"disabled","reason":"enabled is false"`) ||
		!strings.Contains(string(r.body), `"warnings":["url: http is not encrypted"]`) {
		t.Errorf("%d: %s", r.status, r.body)
	}
	tw.problem(patch("ops", `{"format":"xml"}`), 400, `body: format: "xml" is no format; there are cloudevents, cloudevents-batch, tile38, slack`)
	tw.problem(patch("none", `{}`), 404, `no webhook "none"; GET /v1/webhooks lists them`)

	put("zoo", `{"url":"https://a.example"}`)
	if list := tw.get("/v1/webhooks?limit=1"); !strings.HasSuffix(strings.TrimSpace(string(list.body)), `"next":"ops"}`) {
		t.Errorf("%s", list.body)
	}
	if list := tw.get("/v1/webhooks?after=ops"); strings.Contains(string(list.body), `"ops"`) || !strings.Contains(string(list.body), `"zoo"`) {
		t.Errorf("%s", list.body)
	}
	tw.problem(tw.get("/v1/webhooks?limit=0"), 400, `query: limit "0" is not a number from 1 to 1000`)
	tw.expect(tw.send(request{method: "DELETE", path: "/v1/webhooks/zoo"}), 204, "")
	tw.problem(tw.send(request{method: "DELETE", path: "/v1/webhooks/zoo"}), 404, `no webhook "zoo"; GET /v1/webhooks lists them`)
	if got := strings.Join(told, ", "); got != "put ops, put ops, put ops, put zoo, delete zoo" {
		t.Error(got)
	}
}

// Operations have their answers, and refusals say what to do.
func TestWebhookRequests(t *testing.T) {
	tw := hookTown(t, nil)
	post := func(path, body string) reply { return tw.post("/v1/webhooks/"+path, body) }
	tw.send(request{method: "PUT", path: "/v1/webhooks/ops", body: `{"url":"https://localhost/hook"}`})
	tw.move("v1", 0, 50, 50)
	tw.move("v1", 1, 3, 3)
	for _, c := range []struct {
		path, body string
		status     int
		detail     string
	}{
		{"none/retry", "", 404, `no webhook "none"; GET /v1/webhooks lists them`},
		{"ops/replay", "", 400, `body: want {"from":TIME} as "2026-03-12T11:16:40Z", or {"cursor":CURSOR}`},
		{"ops/replay", `{"from":"yesterday"}`, 400, `body: want {"from":TIME} as "2026-03-12T11:16:40Z", or {"cursor":CURSOR}`},
		{"ops/replay", `{"cursor":"x"}`, 400, `cursor: "x": not a cursor`},
		{"ops/replay", `{"cursor":"other-1"}`, 410, `cursor: "other-1": cursor is of an earlier run`},
		{"ops/replay", `{"cursor":"run1-0"}`, 409, "nothing was delivered there: the events behind that cursor or time are still to come"},
		{"ops/deadletters/run1-1/replay", "", 404, `the webhook ops has no dead letter "run1-1"`},
		{"ops/deadletters/x/replay", "", 404, `the webhook ops has no dead letter "x"`},
	} {
		tw.problem(post(c.path, c.body), c.status, c.detail)
	}
	tw.expect(post("ops/retry", ""), 200, "")
	tw.expect(post("ops/disable", ""), 200, "")
	if got := tw.get("/v1/webhooks/ops"); !strings.Contains(string(got.body), `"state":"disabled","reason":"by request","disabled_at":"`) {
		t.Errorf("%s", got.body)
	}
	tw.expect(post("ops/enable", ""), 200, "")
	tw.send(request{method: "PATCH", path: "/v1/webhooks/ops", body: `{"enabled":false}`})
	tw.problem(post("ops/enable", ""), 409, `the webhook ops has "enabled":false: change it by PATCH`)
	tw.expect(tw.get("/v1/webhooks/ops/deadletters"), 200, `{"dead_letters":[]}`)
	tw.problem(tw.get("/v1/webhooks/ops/deadletters?after=x"), 400, `query: after: "x": not a cursor`)
	tw.problem(tw.get("/v1/webhooks/none/deadletters"), 404, `no webhook "none"; GET /v1/webhooks lists them`)
}

// unwritable is a store of the audit that takes nothing.
type unwritable struct{ *journal.Memory }

func (unwritable) Put(...journal.Value) error { return errors.New("the disk is full") }

// An operation whose entry in the audit is not stored is answered once, and not as one that was
// done.
func TestWebhookWithoutAudit(t *testing.T) {
	tw := hookTown(t, nil)
	tw.expect(tw.put("/v1/webhooks/ops", `{"url":"https://ops.example/hook"}`), 201, "")
	log, err := audit.Open(unwritable{journal.NewMemory()})
	must(t, err)
	tw.api.cfg.Audit = log
	r := tw.post("/v1/webhooks/ops/retry", "")
	var problem struct{ Detail string }
	if err := json.Unmarshal(r.body, &problem); r.status != 503 || err != nil {
		t.Errorf("%d, %v: %s", r.status, err, r.body)
	}
}
