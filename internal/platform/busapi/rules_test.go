package busapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/ruleapi"
)

// rulesTest is a door for rules on a bus, and NATS clients.
type rulesTest struct {
	*testing.T
	server *bus.Server
	door   *Rules
	rules  *ruleapi.Rules
	nc     *nats.Conn
	closed bool
}

func (k *rulesTest) close(ctx context.Context) error {
	k.closed = true
	return k.door.Close(ctx)
}

func newRulesTest(t *testing.T, maxPayload int, users ...bus.User) *rulesTest {
	t.Helper()
	return openRulesTest(t, maxPayload, func() string { return "" }, func() error { return nil }, nil, users...)
}

func openRulesTest(t *testing.T, maxPayload int, refusing func() string, settle func() error, leader Asker, users ...bus.User) *rulesTest {
	t.Helper()
	server, err := bus.New(bus.Config{Host: "127.0.0.1", Port: -1, MaxPayload: maxPayload, Users: users})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.WithoutCancel(t.Context())) })
	k := &rulesTest{T: t, server: server, rules: &ruleapi.Rules{
		Book: rulebook.New(track.Policy{}), Catalog: catalog(t),
		Refusing: refusing, Settle: settle,
	}}
	if k.door, err = OpenRules(server.Local("rules"), k.rules, nil, maxPayload, leader); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !k.closed {
			_ = k.close(context.WithoutCancel(t.Context()))
		}
	})
	if len(users) == 0 {
		k.nc = k.connect()
	}
	return k
}

func (k *rulesTest) connect(o ...nats.Option) *nats.Conn {
	k.Helper()
	nc, err := nats.Connect("nats://"+k.server.Addr().String(), o...)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(nc.Close)
	return nc
}

// ask sends a request with headers, in pairs.
func (k *rulesTest) ask(subject, body string, headers ...string) *nats.Msg {
	k.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Add(headers[i], headers[i+1])
	}
	answer, err := k.nc.RequestMsgWithContext(k.Context(), m)
	if err != nil {
		k.Fatalf("%s: %v", subject, err)
	}
	return answer
}

// expect sends a request, and compares the answer, or the status and the reason of a refusal.
func (k *rulesTest) expect(want, subject, body string, headers ...string) *nats.Msg {
	k.Helper()
	m := k.ask(subject, body, headers...)
	got := string(m.Data)
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		got = code + " " + m.Header.Get("Nats-Service-Error")
	}
	if got != want {
		k.Errorf("%s %s:\ngot  %s\nwant %s", subject, body, got, want)
	}
	return m
}

// A rule is added, read, changed and deleted, as over HTTP.
func TestRules(t *testing.T) {
	k := newRulesTest(t, 1<<20)
	k.expect(`{"rules":[]}`, "paddock.rules.list", "")
	made := k.expect(`{"rule":{"id":"a","set":"one","objects":"bus-*"}}`, "paddock.rules.put.a", `{"set":"one","objects":"bus-*"}`)
	tag := made.Header.Get("ETag")
	if got := k.expect(`{"id":"a","set":"one","objects":"bus-*"}`, "paddock.rules.get.a", ""); got.Header.Get("ETag") != tag || tag == "" {
		t.Errorf("ETag %q, then %q", tag, got.Header.Get("ETag"))
	}
	k.expect(`{"rule":{"id":"b.c","set":"gone"},"warnings":["there is no set \"gone\" yet"]}`, "paddock.rules.put.b%2Ec", `{"id":"b.c","set":"gone"}`)
	k.expect(`{"rules":[{"id":"a","set":"one","objects":"bus-*"}],"next":"a"}`, "paddock.rules.list", `{"limit":1}`)
	k.expect(`{"rules":[{"id":"b.c","set":"gone"}]}`, "paddock.rules.list", `{"after":"a"}`)
	k.expect(`{"rules":[{"id":"b.c","set":"gone"}]}`, "paddock.rules.list", `{"set":"gone"}`)
	changed := "412 If-Match: it has changed, and its ETag is now " + tag + ": read it again"
	k.expect(changed, "paddock.rules.patch.a", `{}`, "If-Match", `"x"`)
	k.expect(changed, "paddock.rules.delete.a", "", "If-Match", `"x"`)
	k.expect("412 If-None-Match: it exists: leave the header out to replace it", "paddock.rules.put.a", `{"set":"one"}`, "If-None-Match", "*")
	k.expect(`{"rule":{"id":"a","set":"one"}}`, "paddock.rules.patch.a", `{"objects":null}`, "If-Match", `"x"`, "If-Match", tag)
	k.expect(`{}`, "paddock.rules.delete.a", "")

	if _, err := k.rules.Book.SetFiles(rulebook.Files{RulesFile: "rules.yaml", Rules: []*rule.Rule{parsed(t, `{"id":"f","set":"one"}`)}}); err != nil {
		t.Fatal(err)
	}
	const held = `409 the rule "f" is of the file rules.yaml: change it there`
	k.expect(held, "paddock.rules.put.f", `{"set":"one"}`)
	k.expect(held, "paddock.rules.delete.f", "")
	k.expect(`{"rules":[{"id":"b.c","set":"gone"},{"id":"f","set":"one"}],"files":{"f":"rules.yaml"}}`, "paddock.rules.list", "{}")

	const use = `use paddock.rules.list, or get, put, patch or delete with a rule, as paddock.rules.get.ID`
	for subject, want := range map[string]string{
		"paddock.rules.get.a":    `404 no rule "a"; GET /v1/rules lists them`,
		"paddock.rules.delete.a": `404 rule "a": not found`,
		"paddock.rules.patch.a":  `404 rule "a": not found`,
		"paddock.rules.drop.a":   `404 subject "paddock.rules.drop.a": ` + use,
		"paddock.rules.list.a":   `404 subject "paddock.rules.list.a": ` + use,
		"paddock.rules.get":      `400 subject "paddock.rules.get": its last token is the id of a rule; write bytes outside A-Z a-z 0-9 _ - as %XX`,
		"paddock.rules.get.b.c":  `400 subject "paddock.rules.get.b.c": its last token is the id of a rule; write bytes outside A-Z a-z 0-9 _ - as %XX`,
	} {
		k.expect(want, subject, `{}`)
	}
	k.expect(`400 body: id: "y" is not the id of the request, "x"`, "paddock.rules.put.x", `{"id":"y","set":"one"}`)
	k.expect(`400 body: json: unknown field "limits": use set, after and limit`, "paddock.rules.list", `{"limits":1}`)
	k.expect(`400 body: something follows the JSON: use set, after and limit`, "paddock.rules.list", `{"limit":1}{"limit":2}`)
	k.expect(`400 body: limit 0 is not a number from 1 to 10000`, "paddock.rules.list", `{"limit":0}`)
	if m := k.ask("paddock.rules.put.x", `{"set":"one","object":"x"}`); m.Header.Get("Nats-Service-Error-Code") != "400" || !strings.Contains(string(m.Data), "objects") {
		t.Errorf("%v %s", m.Header, m.Data)
	}

	// A change without an answer is not made.
	for _, reply := range []string{"", "paddock.rules.list", "pos.a.b"} {
		if err := k.nc.PublishMsg(&nats.Msg{Subject: "paddock.rules.put.silent", Reply: reply, Data: []byte(`{"set":"one"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	k.expect(`404 no rule "silent"; GET /v1/rules lists them`, "paddock.rules.get.silent", "")
	if all, refused := k.door.Requests(); all != 31 || refused != 18 {
		t.Errorf("%d requests, %d refused", all, refused)
	}
	if err := k.close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := k.nc.RequestWithContext(t.Context(), "paddock.rules.list", nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Error(err)
	}
}

func parsed(t *testing.T, text string) *rule.Rule {
	t.Helper()
	r, err := rule.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A list ends before it is larger than a message, and goes on after its last rule.
func TestListsOfRulesFitIntoAMessage(t *testing.T) {
	k := newRulesTest(t, 4096)
	for n := range 100 {
		if _, _, err := k.rules.Book.Put(parsed(t, fmt.Sprintf(`{"id":"rule-%02d","set":"one","objects":"%s"}`, n, strings.Repeat("x", 100))), func(*rule.Rule) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	seen, after := 0, ""
	for first := true; first || after != ""; first = false {
		m := k.ask("paddock.rules.list", fmt.Sprintf(`{"after":%q}`, after))
		list := decodeList(t, m.Data)
		if len(m.Data) > 4096 || len(list.Rules) == 0 {
			t.Fatalf("%d bytes, %d rules", len(m.Data), len(list.Rules))
		}
		seen, after = seen+len(list.Rules), list.Next
	}
	if seen != 100 {
		t.Errorf("%d rules", seen)
	}
}

// A change that cannot be stored is refused, and so are more requests than may wait, and the ones
// that wait at the end.
func TestRulesRefuse(t *testing.T) {
	var full atomic.Bool
	release, settling := make(chan struct{}), make(chan struct{})
	k := openRulesTest(t, 1<<20, func() string {
		if full.Load() {
			return "the disk is full"
		}
		return ""
	}, func() error {
		close(settling)
		<-release
		return errors.New("no disk")
	}, nil)
	full.Store(true)
	k.expect("503 the disk is full", "paddock.rules.put.a", `{"set":"one"}`)
	k.expect("503 the disk is full", "paddock.rules.delete.a", "")
	full.Store(false)
	inbox, err := k.nc.SubscribeSync("answers")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.nc.PublishRequest("paddock.rules.put.a", "answers", []byte(`{"set":"one"}`)); err != nil {
		t.Fatal(err)
	}
	<-settling
	for range maxWaitingRules + 1 {
		if err := k.nc.PublishRequest("paddock.rules.list", "answers", nil); err != nil {
			t.Fatal(err)
		}
	}
	next := func() string {
		t.Helper()
		m, err := inbox.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.Header.Get("Nats-Service-Error")
	}
	if got := next(); got != "too many requests about rules wait for their answers" {
		t.Error(got)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := k.close(soon); !errors.Is(err, context.DeadlineExceeded) { // the present one has no answer yet
		t.Error(err)
	}
	close(release)
	if got := next(); got != "the change is in use, but not stored: no disk" {
		t.Error(got)
	}
	for range maxWaitingRules {
		if got := next(); got != "the server stops" {
			t.Error(got)
		}
	}
}

// The permissions of a user decide which requests it may send.
func TestPermissionsForRules(t *testing.T) {
	k := newRulesTest(t, 1<<20,
		bus.User{Name: "reader", Password: "p", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"paddock.rules.get.>", "paddock.rules.list"}}}})
	k.nc = k.connect(nats.UserInfo("reader", "p"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	k.expect(`{"rules":[]}`, "paddock.rules.list", "")
	if err := k.nc.PublishRequest("paddock.rules.put.a", "answers", []byte(`{"set":"one"}`)); err != nil {
		t.Fatal(err)
	}
	k.expect(`404 no rule "a"; GET /v1/rules lists them`, "paddock.rules.get.a", "")
}

func decodeList(t *testing.T, text []byte) (l ruleapi.List) {
	t.Helper()
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return l
}

// A node that does not make changes passes requests to the one that does, with their conditions and
// answers, and answers itself once it is that one.
func TestRulesOfAnotherNode(t *testing.T) {
	leader := newRulesTest(t, 1<<20)
	var leads, gone atomic.Bool
	k := openRulesTest(t, 1<<20, func() string { return "" }, func() error { return nil }, func(ctx context.Context, request []byte) (answer []byte, elsewhere bool, err error) {
		if leads.Load() {
			return nil, false, nil
		}
		if gone.Load() {
			return nil, true, errors.New("no leader")
		}
		answers := make(chan []byte, 1)
		leader.door.Answer(request, func(answer []byte) { answers <- answer })
		select {
		case answer = <-answers:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return answer, true, err
	})
	made := k.expect(`{"rule":{"id":"a","set":"one"}}`, "paddock.rules.put.a", `{"set":"one"}`)
	got := leader.expect(`{"id":"a","set":"one"}`, "paddock.rules.get.a", "")
	if tag := made.Header.Get("ETag"); tag == "" || got.Header.Get("ETag") != tag {
		t.Errorf("ETag %q, and %q at the other node", tag, got.Header.Get("ETag"))
	}
	k.expect("412 If-None-Match: it exists: leave the header out to replace it", "paddock.rules.put.a", `{"set":"one"}`, "If-None-Match", "*")
	gone.Store(true)
	k.expect("503 no leader", "paddock.rules.get.a", "")
	leads.Store(true)
	k.expect(`404 no rule "a"; GET /v1/rules lists them`, "paddock.rules.get.a", "")
	leader.door.Answer([]byte{9}, func([]byte) { t.Error("half a request was answered") })
}
