package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/platform/events"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/journal"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// site is what webhooks are kept in.
type site struct {
	*Hooks
	t       *testing.T
	store   *refusing
	log     *events.Log
	secrets FileSecrets
	filed   []*webhook.Endpoint
}

// refusing is a store that refuses documents while it is told to.
type refusing struct {
	*journal.Memory
	documents bool
}

func (r *refusing) Put(values ...journal.Value) error {
	if r.documents && strings.HasSuffix(values[0].Name, documentName) {
		return errors.New("no leader")
	}
	return r.Memory.Put(values...)
}

func newSite(t *testing.T) *site {
	s := &site{t: t, store: &refusing{Memory: journal.NewMemory()}, log: events.NewLog(10, 1<<20, "e"), secrets: FileSecrets(filepath.Join(t.TempDir(), "secrets"))}
	s.open()
	t.Cleanup(func() { s.close() })
	return s
}

func (s *site) open() {
	s.t.Helper()
	var err error
	s.Hooks, err = Open(Options{
		Settings: &Settings{Endpoints: s.filed, File: "paddock.yaml"}, Log: s.log, Store: s.store, Keeps: true, Secrets: s.secrets, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) close() {
	if err := s.Drain(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func (s *site) again() { s.close(); s.open() }

// put adds a webhook that must be accepted.
func (s *site) put(id, body string) *Shown {
	s.t.Helper()
	shown, err := s.Put(s.t.Context(), id, []byte(body), etag.Condition{})
	if err != nil {
		s.t.Fatal(err)
	}
	return shown
}

func status(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// Webhooks are the same after a restart, also one with dead letters: these are stored before the
// document by name.
func TestRestart(t *testing.T) {
	s := newSite(t)
	first := s.put("ops", `{"url":"https://ops.example","secrets":["`+secret+`"],"headers":{"X":"1"}}`)
	s.put("chat", `{"url":"https://slack.example/T/B/x","format":"slack"}`)
	if err := s.store.Put(journal.Value{Name: "webhook/ops/dead/0000000000000001", Bytes: []byte(`{}`)}, journal.Value{Name: "webhook/old/state", Bytes: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	s.log.Append([]events.Record{{JSON: events.Plain([]byte("{}"))}})
	s.again()
	got, err := s.Get("ops")
	if err != nil || string(got.Webhook) != string(first.Webhook) || got.Tag != first.Tag || got.State.Letters != 1 {
		t.Errorf("%s, %+v, %v", got.Webhook, got.State, err)
	}
	if e := s.entries["ops"].e; string(e.Secrets[0]) != secret || e.Headers["X"] != "1" {
		t.Errorf("%q, %q", e.Secrets, e.Headers)
	}
	if e := s.entries["chat"].e; e.URL != "https://slack.example/T/B/x" {
		t.Error(e.URL)
	}
	if names, _ := s.store.Names("webhook/old"); len(names) != 0 {
		t.Errorf("the state of no webhook is kept: %q", names)
	}
	if err := s.Delete(t.Context(), "ops", etag.Condition{}); err != nil {
		t.Error(err)
	}
	if names, _ := s.store.Names("webhook/ops"); len(names) != 0 {
		t.Errorf("%q", names)
	}
	s.again()
	if _, err := s.Get("ops"); status(err) != 404 {
		t.Error(err)
	}
}

// A webhook whose secrets are missing is disabled until they are there again, such as after their
// file was put back. One that was disabled by request stays so.
func TestSecretsComeBack(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"ops", "off"} {
		s.put(id, `{"url":"https://ops.example","secrets":["`+secret+`"]}`)
	}
	if _, err := s.Disable(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	states := func(want string) {
		t.Helper()
		s.again()
		var all []string
		for _, id := range []string{"ops", "off"} {
			shown, err := s.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, shown.State.State, shown.State.Reason)
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	file := filepath.Join(string(s.secrets), SecretsFile)
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	states("disabled " + lostReason + " disabled by request")
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	states("active  disabled by request")
}

// A change whose secrets are stored and whose document is not, as after a crash between the two,
// leaves the webhook as it was: its address gets no secret of another one.
func TestChangeIsWholeOrNone(t *testing.T) {
	for _, c := range []struct{ before, change string }{
		{`{"url":"https://a.example","secrets":["` + secret + `"],"headers":{"X":"1"}}`, `{"url":"https://b.example","secrets":[],"headers":{"X":"2"}}`},
		{`{"url":"https://a.example","headers":{"X":"1","Y":"2"}}`, `{"headers":null}`},
		{`{"url":"https://a.example/T/B/x","format":"slack"}`, `{"url":"https://a.example/T/B/y"}`},
		{`{"url":"https://a.example"}`, `{"secrets":["` + secret + `"]}`},
	} {
		s := newSite(t)
		s.put("ops", c.before)
		s.put("ops", c.before) // its document is another one
		patch := func(body string) error {
			_, err := s.Patch(t.Context(), "ops", []byte(body), etag.Condition{})
			return err
		}
		if err := patch(`{"sets":["depots"]}`); err != nil { // no secret is another one
			t.Fatal(err)
		}
		want := s.entries["ops"]
		same := func(when string) {
			t.Helper()
			s.again()
			got := s.entries["ops"]
			if string(got.e.JSON()) != string(want.e.JSON()) || !keptOf(got).equal(keptOf(want)) || got.lost {
				t.Errorf("%s: got %s with %+v, want %s with %+v", when, got.e.JSON(), keptOf(got), want.e.JSON(), keptOf(want))
			}
		}
		s.store.documents = true
		for range 2 {
			if err := patch(c.change); status(err) != 503 {
				t.Errorf("%s: %v", c.change, err)
			}
		}
		same("after " + c.change)
		s.store.documents = false
		if err := patch(c.change); err != nil {
			t.Fatal(err)
		}
		want = s.entries["ops"]
		if text, err := s.secrets.Load(); err != nil || strings.Contains(string(text), `"before"`) {
			t.Errorf("former secrets are kept: %s, %v", text, err)
		}
		same("with " + c.change)
	}
}

// Webhooks that cannot begin are none: figures, lists and the drain go on without them.
func TestFailedBegin(t *testing.T) {
	for name, value := range map[string]string{"webhook/other/document": "{", "webhook/ops/state": "{"} {
		store := journal.NewMemory()
		if err := store.Put(journal.Value{Name: name, Bytes: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		filed := &Settings{File: "paddock.yaml"}
		for _, id := range []string{"a", "ops", "z"} {
			filed.Endpoints = append(filed.Endpoints, &webhook.Endpoint{ID: id, URL: "https://ops.example", Format: webhook.CloudEvents, Enabled: true})
		}
		h, err := Open(Options{Settings: filed, Log: events.NewLog(10, 1<<20, "e"), Store: store, Keeps: true, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Errorf("%s is damaged, and they begin", name)
		}
		if s, list := h.Stats(), h.List("", 10); s.Webhooks != 0 || len(list.Webhooks) != 0 {
			t.Errorf("%+v, %+v", s, list)
		}
		if _, err := h.Put(t.Context(), "new", []byte(`{"url":"https://ops.example"}`), etag.Condition{}); !errors.Is(err, errNotBegun) {
			t.Errorf("a webhook is added: %v", err)
		}
		if err := h.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// No stored value has a secret.
func TestStoredValuesHideSecrets(t *testing.T) {
	s := newSite(t)
	s.put("ops", `{"url":"https://ops.example","secrets":["`+secret+`"],"headers":{"X":"hunter2"}}`)
	s.put("chat", `{"url":"https://slack.example/hunter2","format":"slack"}`)
	err := s.store.Values("webhook/", "", func(v journal.Value) error {
		if text := string(v.Bytes); strings.Contains(text, "hunter2") || strings.Contains(text, secret[6:]) {
			t.Errorf("%s: %s", v.Name, text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Webhooks of the file replace others of their ids, and go with the file.
func TestFile(t *testing.T) {
	s := newSite(t)
	s.put("ops", `{"url":"https://old.example","secrets":["`+secret+`"]}`)
	s.filed = []*webhook.Endpoint{{ID: "ops", URL: "https://new.example", Format: webhook.CloudEvents, Enabled: true, Secrets: []config.Secret{secret}}}
	s.again()
	got, err := s.Get("ops")
	if err != nil || got.File != "paddock.yaml" || !strings.Contains(string(got.Webhook), "new.example") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Put(t.Context(), "ops", []byte(`{"url":"https://a.example"}`), etag.Condition{}); status(err) != 409 {
		t.Error(err)
	}
	s.filed = nil
	s.again()
	if _, err := s.Get("ops"); status(err) != 404 {
		t.Error(err)
	}
}

// A bound of webhooks holds for new ones.
func TestBound(t *testing.T) {
	s := newSite(t)
	for i := range webhook.MaxEndpoints {
		s.put(fmt.Sprintf("w%d", i), `{"url":"https://a.example"}`)
	}
	if _, err := s.Put(t.Context(), "more", []byte(`{"url":"https://a.example"}`), etag.Condition{}); status(err) != 507 {
		t.Error(err)
	}
	s.put("w7", `{"url":"https://b.example"}`)
}

// A file of secrets that cannot be read ends the start; one that cannot be written refuses the
// change.
func TestSecretsFile(t *testing.T) {
	s := newSite(t)
	if err := os.MkdirAll(filepath.Join(string(s.secrets), SecretsFile), 0o700); err != nil { // a directory in its place
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "ops", []byte(`{"url":"https://a.example","secrets":["`+secret+`"]}`), etag.Condition{}); err == nil {
		t.Error("the webhook was added without its secret")
	}
	if _, err := s.Get("ops"); status(err) != 404 {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(s.secrets), "*.new-*")); len(left) != 0 {
		t.Errorf("%q", left)
	}
	if _, err := openSecrets(s.secrets); err == nil {
		t.Error("a directory was read")
	}
	if err := os.Remove(filepath.Join(string(s.secrets), SecretsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(s.secrets), SecretsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSecrets(s.secrets); err == nil || !strings.Contains(err.Error(), SecretsFile) {
		t.Error(err)
	}
}

// The section of the file has its faults with their places.
func TestRead(t *testing.T) {
	read := func(text string) (*Settings, error) {
		file, root := strictyaml.Parse("p.yaml", []byte(text))
		return Read(root), file.Err()
	}
	s, err := read("allow: [10.1.2.3/8, 127.0.0.1, '::1']\nroot_ca: ca.pem\nendpoints:\n  - {id: a, url: 'https://a.example'}\n  - {id: b, url: 'https://b.example', enabled: false}\n")
	if err != nil || fmt.Sprint(s.Allow) != "[10.0.0.0/8 127.0.0.1/32 ::1/128]" || len(s.Endpoints) != 2 || s.Endpoints[1].Enabled {
		t.Errorf("%+v, %v", s, err)
	}
	s.Locate("/etc/paddock")
	if s.RootCA != "/etc/paddock/ca.pem" {
		t.Error(s.RootCA)
	}
	_, err = read("allow: [10.0.0.0/33]\nroots: x\nendpoints:\n  - {id: a, url: 'https://a.example'}\n  - {id: a, url: 'ftp://a.example'}\n")
	for _, want := range []string{
		`p.yaml:1:9: allow: "10.0.0.0/33" is no block of addresses such as 10.0.0.0/8`, "p.yaml:2:1: unknown key roots; there are allow, endpoints, root_ca",
		"p.yaml:5:18: url: want https://host/path, or http", "id: a is the id of the webhook at p.yaml:4:",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if _, err := Open(Options{Settings: &Settings{RootCA: "absent.pem"}}); err == nil || !strings.HasPrefix(err.Error(), "webhooks.root_ca: open absent.pem: ") {
		t.Error(err)
	}
}

// A start forgets the secrets of a webhook that is gone, as after a crash amid its removal, and of
// one that the file has now.
func TestSecretsOfNoWebhook(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"kept", "gone", "filed"} {
		s.put(id, `{"url":"https://`+id+`.example","secrets":["`+secret+`"]}`)
	}
	if err := s.store.Remove(prefix + "gone" + documentName); err != nil {
		t.Fatal(err)
	}
	s.filed = []*webhook.Endpoint{{ID: "filed", URL: "https://new.example", Format: webhook.CloudEvents, Enabled: true}}
	s.again()
	text, err := s.secrets.Load()
	if err != nil || !strings.Contains(string(text), `"kept"`) || strings.Contains(string(text), `"gone"`) || strings.Contains(string(text), `"filed"`) {
		t.Errorf("%s, %v", text, err)
	}
	s.again()
	if e := s.entries["kept"].e; len(e.Secrets) != 1 || string(e.Secrets[0]) != secret {
		t.Errorf("%q", e.Secrets)
	}
}
