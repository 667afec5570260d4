package platform_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/process/config"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// loopbackHooks allows endpoints of tests.
func loopbackHooks() *hooks.Settings {
	return &hooks.Settings{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// quick repeats at once what is repeated after seconds in use.
func quick() *deliver.Schedule {
	s := deliver.Default()
	s.Waits = []time.Duration{time.Millisecond}
	return s
}

// inbox is an endpoint that writes down the events that it takes.
type inbox struct {
	*httptest.Server
	t      *testing.T
	answer func(n int, w http.ResponseWriter) bool // of the nth request; false: it has not taken the events. nil: it takes all
	mu     sync.Mutex
	n      int      // requests
	ids    []string // of taken events
	again  []string // of replays
	grown  chan struct{}
}

func newInbox(t *testing.T, answer func(n int, w http.ResponseWriter) bool) *inbox {
	b := &inbox{t: t, answer: answer, grown: make(chan struct{}, 1)}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

// ServeHTTP implements [http.Handler]. Requests have to be signed.
func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	secret, _ := webhook.ParseSecret(hookSecret)
	if err := webhook.Verify(r.Header, body, secret, time.Now()); err != nil {
		b.t.Errorf("a request of the platform: %v", err)
	}
	b.mu.Lock()
	b.n++
	n := b.n
	b.mu.Unlock()
	if b.answer != nil && !b.answer(n, w) {
		return
	}
	type event struct{ ID string }
	var all []event
	if body[0] != '[' {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	if err := json.Unmarshal(body, &all); err != nil {
		b.t.Errorf("%v: %s", err, body)
	}
	b.mu.Lock()
	for _, e := range all {
		if r.Header.Get("Paddock-Replay") == "1" {
			b.again = append(b.again, e.ID)
		} else {
			b.ids = append(b.ids, e.ID)
		}
	}
	b.mu.Unlock()
	select {
	case b.grown <- struct{}{}:
	default:
	}
}

// await waits until the endpoint has taken what is wanted.
func (b *inbox) await(what string, done func() bool) {
	b.t.Helper()
	deadline := time.After(patience)
	for {
		b.mu.Lock()
		ok := done()
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-b.grown:
		case <-deadline:
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("%s: the endpoint has %q, again %q, after %d requests", what, b.ids, b.again, b.n)
		}
	}
}

func (b *inbox) awaitIDs(want ...string) {
	b.t.Helper()
	b.await(strings.Join(want, " "), func() bool { return slices.Equal(b.ids, want) })
}

// hook adds a webhook for an endpoint, with further members.
func (r *running) hook(id string, b *inbox, members string) {
	r.t.Helper()
	r.put("v1/webhooks/"+id, `{"url":"`+b.URL+`/","secrets":["`+hookSecret+`"]`+members+`}`)
}

// hookState returns the state of a webhook once a condition holds.
func (r *running) hookState(id string, until func(s hooks.State) bool) hooks.State {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var shown hooks.Shown
		r.ask(&shown, http.MethodGet, "v1/webhooks/"+id, "", nil)
		if until(shown.State) {
			return shown.State
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the webhook %s: %+v, %+v", id, shown.State, shown.State.Last)
		}
		nextMillisecond()
	}
}

// do makes a POST that must have this status.
func (r *running) do(path, body string, want int) string {
	r.t.Helper()
	status, answer, err := r.call(http.MethodPost, path, "application/json", []byte(body))
	if err != nil || status != want {
		r.t.Fatalf("POST %s: %d %s, %v; want %d", path, status, answer, err, want)
	}
	return string(answer)
}

// pairs makes an object enter and leave the square n times: events with the ids 1 to 2n of it.
func (r *running) pairs(id string, n int) {
	r.t.Helper()
	for range n {
		for _, lon := range []int{1, 20} {
			nextMillisecond()
			r.take(1, "v1/positions", "application/json", fmt.Appendf(nil, `{"id":%q,"lon":%d,"lat":1}`, id, lon))
		}
	}
}

func ids(object string, from, to int) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("%s/%d", object, n))
	}
	return all
}

// startHooks starts a platform with a square, that keeps its state in a directory, "" for none.
func startHooks(t *testing.T, data string, change func(o *platform.Options)) *running {
	t.Helper()
	cfg := keeping(data)
	if data == "" {
		cfg.Data.Dir = ""
	}
	o := platform.Options{Config: cfg, Webhooks: loopbackHooks()}
	o.Deliver(quick())
	if change != nil {
		change(&o)
	}
	r := startWith(t, o)
	status, _, err := r.call(http.MethodGet, "v1/sets/yard", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if status == http.StatusNotFound {
		r.put("v1/sets/yard", `{"type":"FeatureCollection","features":[`+squareOf("f", 1)+`]}`)
	}
	return r
}

// A webhook gets each event once and in order, whatever goes wrong on the way: failures, a pause
// that it asks for, redirects, connections that break.
func TestWebhookGetsEventsInOrder(t *testing.T) {
	r := startHooks(t, t.TempDir(), nil)
	b := newInbox(t, func(n int, w http.ResponseWriter) bool {
		switch n {
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
		case 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 4:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
		case 6:
			panic(http.ErrAbortHandler) // the connection breaks
		case 7, 8: // less than three times
			w.WriteHeader(http.StatusBadRequest)
		default:
			return true
		}
		return false
	})
	r.hook("ops", b, "")
	r.pairs("v", 10)
	b.awaitIDs(ids("v", 1, 20)...)
	s := r.hookState("ops", func(s hooks.State) bool { return s.Lag == 0 })
	if s.Sent != 20 || s.Letters != 0 || s.Missed != 0 || s.State != "active" || s.Last.Status != 200 {
		t.Errorf("%+v", s)
	}
	metrics := r.text("metrics")
	for _, want := range []string{"paddock_webhooks 1", `paddock_webhook_lag_events{webhook="ops"} 0`, `paddock_webhook_attempts_total{outcome="refused"} 2`, `paddock_webhook_attempts_total{outcome="delivered"} 20`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("%s is not in the metrics", want)
		}
	}
}

// An endpoint that hangs delays no other one.
func TestSlowWebhookDelaysItself(t *testing.T) {
	r := startHooks(t, t.TempDir(), nil)
	release := make(chan struct{})
	slow := newInbox(t, func(int, http.ResponseWriter) bool { <-release; return true })
	fast := newInbox(t, nil)
	r.hook("a-slow", slow, "")
	r.hook("fast", fast, `,"format":"cloudevents-batch"`)
	r.pairs("v", 50)
	fast.awaitIDs(ids("v", 1, 100)...)
	if s := r.hookState("a-slow", func(hooks.State) bool { return true }); s.Lag != 100 || s.Sent != 0 {
		t.Errorf("%+v", s)
	}
	close(release)
	slow.awaitIDs(ids("v", 1, 100)...)
}

// An endpoint that answers 410 is disabled, and goes on where it was once it is enabled. One that
// refuses an event three times gets the next one, and the refused one is a dead letter.
func TestWebhookOperations(t *testing.T) {
	r := startHooks(t, t.TempDir(), nil)
	gone, refuse := true, false
	var mu sync.Mutex
	set := func(g, f bool) { mu.Lock(); gone, refuse = g, f; mu.Unlock() }
	b := newInbox(t, func(_ int, w http.ResponseWriter) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case gone:
			w.WriteHeader(http.StatusGone)
		case refuse:
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		return !gone && !refuse
	})
	nc := r.dial(func() {})
	notices, err := nc.SubscribeSync("$SYS.PADDOCK.WEBHOOK.DISABLED.*")
	if err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	r.hook("ops", b, "")
	r.pairs("v", 1)
	s := r.hookState("ops", func(s hooks.State) bool { return s.State == "disabled" })
	if m, err := notices.NextMsg(patience); err != nil || m.Subject != "$SYS.PADDOCK.WEBHOOK.DISABLED.ops" || !strings.Contains(string(m.Data), `"data":{"reason":"410 Gone","webhook":"ops"}`) {
		t.Errorf("the notice: %+v, %v", m, err)
	}
	if s.Reason != "410 Gone" || s.Lag != 2 || s.At.IsZero() {
		t.Errorf("%+v", s)
	}
	set(false, false)
	r.do("v1/webhooks/ops/enable", "", http.StatusOK)
	b.awaitIDs(ids("v", 1, 2)...)

	set(false, true)
	r.pairs("v", 1)
	r.hookState("ops", func(s hooks.State) bool { return s.Letters == 2 && s.Lag == 0 })
	set(false, false)
	r.pairs("v", 1)
	b.awaitIDs("v/1", "v/2", "v/5", "v/6")
	var letters hooks.Letters
	r.ask(&letters, http.MethodGet, "v1/webhooks/ops/deadletters", "", nil)
	if len(letters.Letters) != 2 || letters.Letters[0].Event != "v/3" || letters.Letters[0].Status != 422 || letters.Letters[0].Tries != 3 {
		t.Errorf("%+v", letters)
	}
	r.do("v1/webhooks/ops/deadletters/"+letters.Letters[1].Cursor+"/replay", "", http.StatusOK)
	b.await("the dead letter", func() bool { return slices.Equal(b.again, []string{"v/4"}) })
	r.hookState("ops", func(s hooks.State) bool { return s.Letters == 1 })
	r.do("v1/webhooks/ops/deadletters/"+letters.Letters[1].Cursor+"/replay", "", http.StatusNotFound)

	r.do("v1/webhooks/ops/replay", `{"from":"2020-01-01T00:00:00Z"}`, http.StatusOK)
	b.await("the replay", func() bool { return slices.Equal(b.again, append([]string{"v/4"}, ids("v", 1, 6)...)) })
	r.do("v1/webhooks/ops/disable", "", http.StatusOK)
	r.pairs("v", 1)
	if s := r.hookState("ops", func(s hooks.State) bool { return s.State == "disabled" }); s.Lag != 2 || s.Reason != "by request" {
		t.Errorf("%+v", s)
	}
}

// Webhooks, their state and their secrets survive the process. The secrets are in a file of their
// own, and nowhere else: not in answers, not in a backup.
func TestWebhooksAreKept(t *testing.T) {
	data := t.TempDir()
	r := startHooks(t, data, nil)
	b := newInbox(t, nil)
	r.hook("ops", b, `,"headers":{"X-Key":"hunter2"}`)
	r.pairs("v", 1)
	b.awaitIDs(ids("v", 1, 2)...)
	r.hookState("ops", func(s hooks.State) bool { return s.Lag == 0 }) // the cursor is stored behind the answer
	backup, complete := r.backup(""), r.backup("?secrets=1")
	for what, text := range map[string]string{"the list": r.text("v1/webhooks"), "the answer": r.text("v1/webhooks/ops"), "the backup": backup} {
		for _, secret := range []string{"hunter2", hookSecret, strings.TrimPrefix(hookSecret, "whsec_")} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has the secret", what)
			}
		}
	}
	file := filepath.Join(data, "secrets", "webhooks.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	r.stop()

	r = startHooks(t, data, nil)
	r.pairs("v", 1)
	b.awaitIDs(ids("v", 1, 4)...) // signed with the same secret
	r.stop()

	// A backup with the secrets is as good as the directory.
	restored := t.TempDir()
	if err := platform.Restore(strings.NewReader(complete), restored); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(restored, "secrets", "webhooks.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r = startHooks(t, restored, nil)
	if s := r.hookState("ops", func(hooks.State) bool { return true }); s.State != "active" {
		t.Errorf("%+v", s)
	}
	r.stop()
	if err := os.RemoveAll(filepath.Join(restored, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := platform.Restore(strings.NewReader(complete), restored); err == nil || !strings.Contains(err.Error(), "webhooks.json is there already") {
		t.Error(err)
	}

	// Without its secrets, as after a restore, it delivers nothing, and says why. Once it has one,
	// it goes on where it was.
	restored = t.TempDir()
	if err := platform.Restore(strings.NewReader(backup), restored); err != nil {
		t.Fatal(err)
	}
	r = startHooks(t, restored, nil)
	if s := r.hookState("ops", func(hooks.State) bool { return true }); s.State != "disabled" || !strings.Contains(s.Reason, "secrets are not here") {
		t.Errorf("%+v", s)
	}
	r.do("v1/webhooks/ops/enable", "", http.StatusConflict)
	r.pairs("w", 1)
	r.hook("ops", b, "")
	b.awaitIDs(append(ids("v", 1, 4), ids("w", 1, 2)...)...)
	status, _, err := r.call(http.MethodDelete, "v1/webhooks/ops", "", nil)
	if err != nil || status != http.StatusNoContent {
		t.Error(status, err)
	}
	r.stop()
	r = startHooks(t, restored, nil)
	if got := r.text("v1/webhooks"); got != `{"webhooks":[]}`+"\n" {
		t.Error(got)
	}
	if text, err := os.ReadFile(filepath.Join(restored, "secrets", "webhooks.json")); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}

// backup returns a backup of the platform.
func (r *running) backup(query string) string {
	r.t.Helper()
	status, answer, err := r.call(http.MethodPost, "v1/backup"+query, "", nil)
	if err != nil || status != http.StatusOK {
		r.t.Fatal(status, err)
	}
	return string(answer)
}

// The webhooks of the file come and go with it, and are changed there alone. They have their place
// in the events as the others have.
func TestWebhooksOfTheFile(t *testing.T) {
	data, b := t.TempDir(), newInbox(t, nil)
	filed := func(o *platform.Options) {
		o.Webhooks.File = "paddock.yaml"
		o.Webhooks.Endpoints = []*webhook.Endpoint{{ID: "ops", URL: b.URL, Format: webhook.CloudEvents, Secrets: []config.Secret{hookSecret}, Enabled: true}}
	}
	r := startHooks(t, data, filed)
	r.pairs("v", 1)
	b.awaitIDs(ids("v", 1, 2)...)
	for _, c := range [][2]string{{http.MethodPut, `{"url":"http://a.example"}`}, {http.MethodPatch, `{}`}, {http.MethodDelete, ""}} {
		status, answer, err := r.call(c[0], "v1/webhooks/ops", "application/json", []byte(c[1]))
		if err != nil || status != http.StatusConflict || !strings.Contains(string(answer), "the webhook ops is in paddock.yaml: change it there") {
			t.Errorf("%s: %d %s, %v", c[0], status, answer, err)
		}
	}
	r.do("v1/webhooks/ops/disable", "", http.StatusOK) // an operation is no change
	r.stop()
	r = startHooks(t, data, filed)
	r.pairs("v", 1)
	r.do("v1/webhooks/ops/enable", "", http.StatusOK)
	b.awaitIDs(ids("v", 1, 4)...)
	r.stop()
	r = startHooks(t, data, nil)
	if got := r.text("v1/webhooks"); got != `{"webhooks":[]}`+"\n" {
		t.Error(got)
	}
}

// Without a data directory a drain delivers the events that are left.
func TestVolatileWebhooksAreDrained(t *testing.T) {
	r := startHooks(t, "", nil)
	entered, release := make(chan struct{}), make(chan struct{})
	b := newInbox(t, func(n int, _ http.ResponseWriter) bool {
		if n == 1 {
			close(entered)
			<-release
		}
		return true
	})
	r.hook("ops", b, "")
	r.pairs("v", 5)
	<-entered
	r.signal()
	close(release)
	r.awaitEnd()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ids) != 10 {
		t.Errorf("%q", b.ids)
	}
}

// An address that is not of the public internet is refused: at once if it stands in the URL, else
// when it is dialled.
func TestWebhookAddresses(t *testing.T) {
	data := t.TempDir()
	r := startHooks(t, data, func(o *platform.Options) { o.Webhooks = nil })
	status, answer, err := r.call(http.MethodPut, "v1/webhooks/ops", "application/json", []byte(`{"url":"http://169.254.169.254/latest"}`))
	if err != nil || status != http.StatusBadRequest || !strings.Contains(string(answer), "body: url: the address 169.254.169.254 is not of the public internet") {
		t.Errorf("%d %s, %v", status, answer, err)
	}
	b := newInbox(t, nil)
	port := b.URL[strings.LastIndex(b.URL, ":"):]
	r.put("v1/webhooks/ops", `{"url":"http://localhost`+port+`/","secrets":["`+hookSecret+`"]}`)
	r.pairs("v", 1)
	s := r.hookState("ops", func(s hooks.State) bool { return s.Fails > 1 })
	if !strings.Contains(s.Last.Reason, "is not of the public internet") || b.n != 0 {
		t.Errorf("%+v, %d requests", s.Last, b.n)
	}
	r.stop()
	r = startHooks(t, data, nil) // it is allowed now
	b.awaitIDs(ids("v", 1, 2)...)
	r.stop()
}

// Secrets are not logged, whatever an endpoint does.
func TestWebhookSecretsAreNotLogged(t *testing.T) {
	var log logText
	r := startHooks(t, t.TempDir(), func(o *platform.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r.put("v1/webhooks/chat", `{"url":"http://127.0.0.1:1/services/hunter2","format":"slack","headers":{"A":"hunter2"}}`)
	r.pairs("v", 1)
	r.hookState("chat", func(s hooks.State) bool { return s.Fails > 2 })
	if got := r.text("v1/webhooks/chat"); strings.Contains(got, "hunter2") || !strings.Contains(got, `"url":"http://127.0.0.1:1/[hidden]"`) {
		t.Error(got)
	}
	r.stop()
	if strings.Contains(log.String(), "hunter2") {
		t.Error(log.String())
	}
}

// logText is a log in memory.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
