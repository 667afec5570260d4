package platform_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/doors/source"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

// filed is a platform with a configuration file.
type filed struct {
	*running
	file    string
	rereads chan os.Signal
	log     *logText
}

// readFile reads the sections that a running platform takes over.
func readFile(file string) (*platform.Reread, error) {
	r := &platform.Reread{}
	cfg, err := config.Load(config.Sources{File: file, Others: map[string]func(*strictyaml.Node){
		"webhooks": func(n *strictyaml.Node) { r.Webhooks = hooks.Read(n) },
		"sinks":    func(n *strictyaml.Node) { r.Sinks = sinks.Read(n) },
		"sources":  func(n *strictyaml.Node) { r.Sources = source.Read(n) },
	}})
	if err != nil {
		return nil, err
	}
	r.Keys = cfg.Access.Keys
	if r.Webhooks != nil {
		r.Webhooks.File = filepath.Base(file)
	}
	return r, nil
}

// startFiled starts a platform with a square, data that is kept, and sections of a file.
func startFiled(t *testing.T, text string) *filed {
	t.Helper()
	f := &filed{file: filepath.Join(t.TempDir(), "paddock.yaml"), rereads: make(chan os.Signal), log: &logText{}}
	writeOver(t, f.file, text)
	f.running = startHooks(t, t.TempDir(), func(o *platform.Options) {
		first, err := readFile(f.file)
		if err != nil {
			t.Fatal(err)
		}
		o.Config.Access.Keys = first.Keys
		o.Webhooks, o.Sinks, o.Sources = first.Webhooks, first.Sinks, first.Sources
		o.Logger = slog.New(slog.NewTextHandler(f.log, nil))
		o.Reread, o.Rereads = func() (*platform.Reread, error) { return readFile(f.file) }, f.rereads
		o.Deliver(deliver.Default())
	})
	return f
}

// reread writes the file and has it read.
func (f *filed) reread(text string) {
	f.t.Helper()
	writeOver(f.t, f.file, text)
	f.rereads <- syscall.SIGHUP
	f.rereads <- syscall.SIGHUP // taken when the first has been done
}

// entry is a webhook of the file.
func entry(id string, b *inbox, more string) string {
	return fmt.Sprintf("    - {id: %s, url: '%s/', secrets: [%s]%s}\n", id, b.URL, hookSecret, more)
}

const onLoopback = "webhooks:\n  allow: [127.0.0.0/8]\n  endpoints:\n"

// absent asks the sender to come again in an hour.
func absent(_ int, w http.ResponseWriter) bool {
	w.Header().Set("Retry-After", "3600")
	w.WriteHeader(http.StatusServiceUnavailable)
	return false
}

// changes returns the entries of the audit by the file, with how often they are there.
func (f *filed) changes() map[string]int {
	f.t.Helper()
	var list struct {
		Changes []struct{ By, Action, Object string }
	}
	f.ask(&list, http.MethodGet, "v1/audit", "", nil)
	made := map[string]int{}
	for _, e := range list.Changes {
		if e.By == "file" {
			made[e.Action+" "+e.Object]++
		}
	}
	return made
}

// A webhook that has not changed keeps its pause. One that has changed goes on at once behind what
// it has delivered. One that is gone ends with its state, a new one begins with the next event, and
// one of the API is not touched.
func TestRereadWebhooks(t *testing.T) {
	away, moved, old, gone, more, own := newInbox(t, absent), newInbox(t, nil), newInbox(t, nil), newInbox(t, nil), newInbox(t, nil), newInbox(t, nil)
	old.answer = func(n int, w http.ResponseWriter) bool { return n <= 2 || absent(n, w) }
	f := startFiled(t, onLoopback+entry("equal", away, "")+entry("moved", old, "")+entry("gone", gone, ""))
	f.hook("own", own, "")
	f.pairs("v", 3)
	waiting := func(s hooks.State) bool { return s.State == deliver.StateWaiting }
	pause := f.hookState("equal", waiting)
	if s := f.hookState("moved", waiting); s.Sent != 2 {
		t.Fatalf("%+v", s)
	}
	gone.awaitIDs(ids("v", 1, 6)...)
	own.awaitIDs(ids("v", 1, 6)...)

	f.reread(onLoopback + entry("equal", away, "") + entry("moved", moved, ", format: cloudevents-batch") + entry("more", more, ", events: [exit]"))
	moved.awaitIDs(ids("v", 3, 6)...)
	f.pairs("v", 1)
	moved.awaitIDs(ids("v", 3, 8)...)
	more.awaitIDs("v/8")
	own.awaitIDs(ids("v", 1, 8)...)
	if s := f.hookState("moved", func(s hooks.State) bool { return s.Lag == 0 }); s.Sent != 8 || s.Fails != 0 {
		t.Errorf("moved: %+v", s)
	}
	if s := f.hookState("equal", waiting); !s.Next.Equal(pause.Next) || s.Fails != 1 {
		t.Errorf("equal: %+v, it was %+v", s, pause)
	}
	if status, answer, err := f.call(http.MethodGet, "v1/webhooks/gone", "", nil); err != nil || status != http.StatusNotFound {
		t.Errorf("gone: %d %s, %v", status, answer, err)
	}
	if status, answer, err := f.call(http.MethodDelete, "v1/webhooks/more", "", nil); err != nil || status != http.StatusConflict || !strings.Contains(string(answer), "paddock.yaml") {
		t.Errorf("more: %d %s, %v", status, answer, err)
	}

	made := f.changes()
	if want := map[string]int{"webhook.put moved": 1, "webhook.put more": 1, "webhook.delete gone": 1}; !maps.Equal(made, want) {
		t.Errorf("the audit has %v, want %v", made, want)
	}

	f.reread(onLoopback + entry("gone", gone, ""))
	f.pairs("v", 1)
	gone.awaitIDs(append(ids("v", 1, 6), ids("v", 9, 10)...)...)
	f.reread("webhooks: {allow: [127.0.0.0/8]}\n")
	f.pairs("v", 1)
	own.awaitIDs(ids("v", 1, 12)...)
	if text := f.text("metrics"); !strings.Contains(text, "paddock_webhooks 1\n") {
		t.Error("webhooks that are gone from the file are there")
	}
	if !slices.Equal(old.ids, ids("v", 1, 2)) || len(gone.ids) != 8 {
		t.Errorf("%q, %q", old.ids, gone.ids)
	}
}

// The addresses that are allowed hold from the next attempt on.
func TestRereadAllowedAddresses(t *testing.T) {
	b := newInbox(t, nil)
	f := startFiled(t, "webhooks:\n  endpoints:\n"+entry("ops", b, ""))
	f.pairs("v", 1)
	refused := func(s hooks.State) bool {
		return s.Last != nil && strings.Contains(s.Last.Reason, "not of the public internet")
	}
	f.hookState("ops", refused)
	f.reread(onLoopback + entry("ops", b, ""))
	f.do("v1/webhooks/ops/retry", "", http.StatusOK)
	b.awaitIDs(ids("v", 1, 2)...)
	f.reread("webhooks:\n  endpoints:\n" + entry("ops", b, ""))
	f.pairs("v", 1)
	f.hookState("ops", refused)
	if !slices.Equal(b.ids, ids("v", 1, 2)) {
		t.Errorf("%q", b.ids)
	}
}

// settleSinks waits until the sinks have all events.
func (f *filed) settleSinks() {
	f.t.Helper()
	for deadline := time.Now().Add(patience); strings.Contains(strings.ReplaceAll(f.text("v1/sinks"), `"lag":0`, ""), `"lag":`); nextMillisecond() {
		if time.Now().After(deadline) {
			f.t.Fatal(f.text("v1/sinks"))
		}
	}
}

// eventsIn returns the ids of the events of a file.
func eventsIn(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct{ ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.ID)
	}
	return all
}

// A sink that has changed goes on with the next event, in its new file. One that has not changed
// goes on, and one that is gone ends.
func TestRereadSinks(t *testing.T) {
	dir := t.TempDir()
	sink := func(id, file, more string) string {
		return fmt.Sprintf("  - {id: %s, file: {path: '%s'}%s}\n", id, filepath.Join(dir, file), more)
	}
	f := startFiled(t, "sinks:\n"+sink("equal", "equal", "")+sink("moved", "old", "")+sink("gone", "gone", ""))
	lines := func(file string, want ...string) {
		t.Helper()
		f.settleSinks()
		got := eventsIn(t, filepath.Join(dir, file))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	f.pairs("v", 2)
	lines("gone", ids("v", 1, 4)...)
	f.reread("sinks:\n" + sink("equal", "equal", "") + sink("moved", "new", ", events: [exit]") + sink("more", "more", ""))
	f.pairs("v", 2)
	lines("equal", ids("v", 1, 8)...)
	lines("old", ids("v", 1, 4)...)
	lines("new", "v/6", "v/8")
	lines("gone", ids("v", 1, 4)...)
	lines("more", ids("v", 5, 8)...)
	if list := f.text("v1/sinks"); strings.Contains(list, `"gone"`) || strings.Count(list, `"delivered":8`) != 1 || strings.Count(list, `"delivered":6`) != 1 {
		t.Error(list)
	}
}

// A key of the file that has changed, and one that has come or gone, has an entry in the audit.
func TestRereadKeys(t *testing.T) {
	key := func(name, verb string) string {
		return fmt.Sprintf("    - {name: %s, sha256: %x, verbs: ['%s']}\n", name, sha256.Sum256([]byte(name)), verb)
	}
	const keys = "access:\n  keys:\n"
	f := startFiled(t, keys+key("equal", "lookup")+key("changed", "lookup")+key("gone", "lookup"))
	f.reread(keys + key("more", "lookup") + key("changed", "objects:read") + key("equal", "lookup"))
	if made, want := f.changes(), map[string]int{"key.add more": 1, "key.edit changed": 1, "key.delete gone": 1}; !maps.Equal(made, want) {
		t.Errorf("the audit has %v, want %v", made, want)
	}
	if text := f.text("v1/keys"); strings.Contains(text, `"gone"`) || !strings.Contains(text, `"more"`) || !strings.Contains(text, "objects:read") {
		t.Error(text)
	}
}

// A platform that takes the place of one that has ended goes on with what that one had taken over
// of its file, and not with what it began with: a key that was removed stays so, and a webhook that
// was added gets the events that it has not had. What the file has by now holds once it is read.
func TestTaken(t *testing.T) {
	ops := newInbox(t, func(n int, w http.ResponseWriter) bool { return n > 1 || absent(n, w) })
	archive := filepath.Join(t.TempDir(), "archive")
	f := startFiled(t, fmt.Sprintf("access: {keys: [{name: revoked, sha256: %064x, verbs: [lookup]}]}\n", 1))
	f.reread(onLoopback + entry("ops", ops, "") + "sinks: [{id: archive, file: {path: '" + archive + "'}}]\n")
	f.pairs("v", 1)
	f.hookState("ops", func(s hooks.State) bool { return s.State == deliver.StateWaiting })
	f.settleSinks()
	writeOver(t, f.file, "sinks: []\n")
	f.signal()
	f.awaitEnd()
	f.running = startWith(t, f.Taken())
	f.do("v1/webhooks/ops/retry", "", http.StatusOK)
	ops.awaitIDs(ids("v", 1, 2)...)
	if text := f.text("v1/keys"); strings.Contains(text, `"revoked"`) {
		t.Error(text)
	}
	if text := f.text("v1/sinks"); !strings.Contains(text, `"delivered":2`) {
		t.Error(text)
	}
}

// While the file is read again and again, and webhook and sink have changed each time, each event
// is delivered once.
func TestRereadsLoseNoEvent(t *testing.T) {
	b, dir := newInbox(t, nil), t.TempDir()
	text := func(i int) string {
		format := []string{"cloudevents", "cloudevents-batch"}[i%2]
		return onLoopback + entry("ops", b, ", format: "+format) + fmt.Sprintf("sinks:\n  - {id: s, file: {path: '%s/%d'}}\n", dir, i%2)
	}
	f := startFiled(t, text(0))
	var stop atomic.Bool
	var reader sync.WaitGroup
	reader.Go(func() {
		for i := 1; !stop.Load(); i++ {
			f.reread(text(i))
		}
	})
	f.pairs("v", 100)
	b.awaitIDs(ids("v", 1, 200)...)
	f.settleSinks()
	stop.Store(true)
	reader.Wait()
	all := map[string]int{}
	for _, file := range []string{"0", "1"} {
		for _, id := range eventsIn(t, filepath.Join(dir, file)) {
			all[id]++
		}
	}
	for _, id := range ids("v", 1, 200) {
		if all[id] != 1 {
			t.Errorf("%s is %d times in the files", id, all[id])
		}
	}
}

// A file with a fault changes nothing, and neither does one that cannot be taken over as a whole.
// The log has the place or the name.
func TestRereadRefusals(t *testing.T) {
	b, own, other := newInbox(t, nil), newInbox(t, nil), newInbox(t, nil)
	f := startFiled(t, onLoopback+entry("ops", b, ""))
	f.hook("own", own, "")
	more := "sources:\n  - {lines: 'tcp-listen://127.0.0.1:0', format: sbs}\nsinks:\n  - {id: s, file: {path: '" + filepath.Join(t.TempDir(), "s") + "'}}\n"
	key := "    - {name: a, sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, verbs: [lookup]}\n"
	for text, want := range map[string]string{
		onLoopback + entry("ops", other, "") + more + "sinks: {}\n":                          "paddock.yaml:9:1: ",
		onLoopback + entry("ops", other, ", formats: x") + more:                              "paddock.yaml:4:",
		onLoopback + entry("ops", other, "") + entry("own", other, "") + more:                "paddock.yaml:5:7: id: the webhook own has come over the API",
		onLoopback + entry("ops", other, "") + more + "access:\n  keys:\n" + key + key:       "paddock.yaml:12:7: name: ",
		"webhooks:\n  root_ca: /absent.pem\n  endpoints:\n" + entry("ops", other, "") + more: "webhooks.root_ca: open /absent.pem",
		"http: {listen: '127.0.0.1'}\n" + more:                                               "paddock.yaml:1:8: http.listen: ",
	} {
		f.reread(text)
		if log := f.log.String(); !strings.Contains(log, want) {
			t.Errorf("%s\nis not in the log:\n%s", want, log)
		}
		if doors, sinks := f.text("v1/doors"), f.text("v1/sinks"); strings.Contains(doors, "sbs") || !strings.Contains(sinks, "[]") {
			t.Errorf("after %q there are %s, %s", want, doors, sinks)
		}
	}
	f.pairs("v", 1)
	b.awaitIDs(ids("v", 1, 2)...)
	own.awaitIDs(ids("v", 1, 2)...)
	if other.n != 0 {
		t.Errorf("%d requests by a file that was refused", other.n)
	}
	f.reread(onLoopback + entry("ops", other, "") + more)
	f.pairs("v", 1)
	other.awaitIDs(ids("v", 3, 4)...)
	if doors, sinks := f.text("v1/doors"), f.text("v1/sinks"); !strings.Contains(doors, "sbs") || strings.Contains(sinks, "[]") {
		t.Errorf("%s, %s", doors, sinks)
	}
}

// A change that takes a restart holds nothing else back: a token that has leaked ends at once. The
// change is named once, and the value of the start stays.
func TestRestartKeysOfTheBusHoldNothingBack(t *testing.T) {
	for more, want := range map[string]string{
		"  max_payload: 2MiB\n":                                  "bus.max_payload",
		"  server_name: other\n  max_closed_clients: 5\n":        "bus.server_name bus.max_closed_clients",
		"  websocket: {port: -1, no_tls: true}\n":                "bus.websocket",
		"  tls: {cert_file: cert.pem, key_file: key.pem}\n":      "bus.tls",
		"  http: 127.0.0.1:-1\n  paddock: {prefixes: [depot]}\n": "bus.paddock bus.http",
	} {
		t.Run(want, func(t *testing.T) {
			s := newBusSite(t, "  token: leaked\n")
			s.certificate()
			s.start()
			kept, ended := s.connect(s.BusURL(), nats.Token("leaked")), make(chan struct{})
			kept.SetClosedHandler(func(*nats.Conn) { close(ended) })
			s.write("  token: leaked\n" + more)
			s.reload()
			if !s.publishes(kept, "a") {
				t.Error("the client was closed")
			}
			s.write("  token: rotated\n" + more)
			s.reload()
			if _, err := s.dial(s.BusURL(), nats.Token("leaked")); !errors.Is(err, nats.ErrAuthorization) {
				t.Fatalf("the token that has leaked: %v", err)
			}
			<-ended
			nc := s.connect(s.BusURL(), nats.Token("rotated"))
			if nc.MaxPayload() != 1<<20 || nc.ConnectedServerName() != "paddock" {
				t.Errorf("payloads of %d, the server %q", nc.MaxPayload(), nc.ConnectedServerName())
			}
			if log := s.log.String(); strings.Count(strings.ReplaceAll(log, `"`, ""), "that take a restart settings=["+want+"]") != 1 {
				t.Errorf("the log has not once %q:\n%s", want, log)
			}
			s.write("  token: rotated\n")
			s.reload()
			s.write("  token: rotated\n" + more)
			s.reload()
			if n := strings.Count(s.log.String(), "that take a restart"); n != 2 {
				t.Errorf("%d lines of what takes a restart", n)
			}
		})
	}
}
