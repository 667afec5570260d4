package platform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/wire"
)

// keeping returns settings of a platform that keeps its state in a directory.
func keeping(data string) *config.Config {
	cfg := config.Default()
	cfg.Data.Dir = data
	cfg.Track.Initial = "enter"
	return cfg
}

// stop ends the platform as SIGTERM does.
func (r *running) stop() {
	r.t.Helper()
	r.signal()
	r.awaitEnd()
}

// text returns the body of an answer with status 200.
func (r *running) text(path string) string {
	r.t.Helper()
	status, answer, err := r.call(http.MethodGet, path, "", nil)
	if err != nil || status != http.StatusOK {
		r.t.Fatalf("GET %s: %d, %v: %.300s", path, status, err, answer)
	}
	return string(answer)
}

// put makes a PUT that must succeed.
func (r *running) put(path, body string) {
	r.t.Helper()
	status, answer, err := r.call(http.MethodPut, path, "application/geo+json", []byte(body))
	if err != nil || status/100 != 2 {
		r.t.Fatalf("PUT %s: %d, %v: %.300s", path, status, err, answer)
	}
}

// lines returns the events of an answer.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// A set of a file that was removed over HTTP is not there after a restart either.
func TestARemovalSurvives(t *testing.T) {
	data, sets := t.TempDir(), t.TempDir()
	for _, name := range []string{"gone", "kept"} {
		if err := os.WriteFile(filepath.Join(sets, name+".json"), []byte(squareOf("f", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := keeping(data)
	cfg.Sets.Dir = sets
	r := start(t, cfg, nil)
	if status, answer, err := r.call(http.MethodDelete, "v1/sets/gone", "", nil); err != nil || status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s, %v", status, answer, err)
	}
	for range 2 {
		r.stop()
		r = start(t, cfg, nil)
		if got := r.text("v1/sets"); strings.Contains(got, "gone") || !strings.Contains(got, `"name":"kept"`) {
			t.Errorf("sets %s", got)
		}
	}
	r.stop()
}

// TestASecondProcessLeavesTheFirst: a start that is refused, as another process has the directory,
// removes nothing that this one is working on, such as the files of a backup. A start that has the
// directory removes what an earlier process has left, and nothing of the operator.
func TestASecondProcessLeavesTheFirst(t *testing.T) {
	data := t.TempDir()
	r := start(t, keeping(data), nil)
	work := filepath.Join(data, "unfinished-1", "journal")
	own := []string{filepath.Join(data, "backup-2026-03-12.tar"), filepath.Join(data, "backup-1"), filepath.Join(data, "unfinished-business"), filepath.Join(data, "unfinished-2")}
	err := os.MkdirAll(work, 0o700)
	for _, file := range own {
		err = errors.Join(err, os.WriteFile(file, nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []bool{false, true} {
		if _, err := tryStart(t, platform.Options{Config: keeping(data), AcceptLoss: accept}); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("the second one: %v", err)
		}
		if _, err := os.Stat(work); err != nil {
			t.Error(err)
		}
	}
	r.stop()
	r = start(t, keeping(data), nil)
	if _, err := os.Stat(work); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an earlier process has left is there: %v", err)
	}
	for _, file := range own {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("a file of the operator: %v", err)
		}
	}
	r.stop()
}

// A platform that starts in a directory into which a restore is going on runs there, and the
// restore leaves nothing.
func TestStartDuringARestore(t *testing.T) {
	r := startHooks(t, t.TempDir(), nil)
	r.hook("ops", newInbox(t, nil), "")
	backup := r.backup("?secrets=1")
	r.stop()

	dir, half := t.TempDir(), len(backup)/2
	begin := readerFunc(func([]byte) (int, error) {
		r = startHooks(t, dir, nil)
		return 0, io.EOF
	})
	err := platform.Restore(io.MultiReader(strings.NewReader(backup[:half]), begin, strings.NewReader(backup[half:])), dir)
	if want := platform.JournalDir(dir) + " is there already"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	r.pairs("v", 1)
	r.stop()
	for _, name := range []string{"secrets/webhooks.json", "unfinished-*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, name)); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A platform that is started again knows its objects, its sets with their generations, and its
// events, whose cursors stay valid. It goes on as if it had not been stopped.
func TestTheStateSurvives(t *testing.T) {
	data, sets := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(sets, "file.json"), []byte(squareOf("f", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() *running {
		cfg := keeping(data)
		cfg.Sets.Dir = sets
		return start(t, cfg, nil)
	}
	r := begin()
	r.put("v1/sets/mine", `{"type":"FeatureCollection","features":[`+squareOf("a", 1)+`]}`)
	r.put("v1/sets/mine/fences/b", squareOf("b", 1))
	r.put("v1/sets/file/fences/more", squareOf("more", 1))
	r.take(2, "v1/positions", "application/json", []byte(`[{"id":"v1","lon":1,"lat":1},{"id":"v2","lon":1,"lat":1,"speed":3,"props":{"x":1}}]`))
	nextMillisecond() // a position of the same time would be late
	r.take(1, "v1/positions", "application/json", []byte(`{"id":"v1","lon":20,"lat":20}`))
	status, answer, err := r.call(http.MethodDelete, "v1/objects/v1", "", nil)
	if err != nil || status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s, %v", status, answer, err)
	}
	objects, events := r.text("v1/objects"), r.text("v1/events?wait=0")
	all := lines(events)
	if len(all) != 12 { // each of two enters four fences, one leaves them
		t.Fatalf("%d events:\n%s", len(all), events)
	}
	_, cursor := r.eventsAfter("")
	var middle string
	_, middle = r.eventsAfter("&limit=5")
	r.stop()

	for range 2 {
		r = begin()
		if got := r.text("v1/objects"); got != objects {
			t.Errorf("objects %s\nwant %s", got, objects)
		}
		if got := r.text("v1/events?wait=0"); got != events {
			t.Errorf("events %s\nwant %s", got, events)
		}
		if got, _ := r.eventsAfter("&cursor=" + middle); len(got) != 7 || got[0] != all[5] {
			t.Errorf("%d events behind a cursor", len(got))
		}
		if got := r.text("v1/sets"); !strings.Contains(got, `"name":"mine","generation":2,"fences":2`) || !strings.Contains(got, `"name":"file","generation":2,"fences":2`) {
			t.Errorf("sets %s", got)
		}
		r.stop()
	}

	// The object goes on with its count of events, and the id of the removed one is new.
	r = begin()
	r.take(2, "v1/positions", "application/json", []byte(`[{"id":"v2","lon":20,"lat":20},{"id":"v1","lon":1,"lat":1}]`))
	more, _ := r.eventsAfter("&cursor=" + cursor)
	ids := map[string]bool{}
	for _, e := range append(all, more...) {
		var event struct{ ID, Source string }
		if err := json.Unmarshal([]byte(e), &event); err != nil {
			t.Fatal(err)
		}
		if ids[event.Source+event.ID] {
			t.Errorf("two events are %s of %s", event.ID, event.Source)
		}
		ids[event.Source+event.ID] = true
	}
	if len(more) != 8 {
		t.Errorf("%d events after the restart: %s", len(more), strings.Join(more, "\n"))
	}
	r.stop()
}

// A platform that goes on from a backup, or from the directory of a node, tells its events as new
// ones, although the first platform has told as many: to a subscriber that knows those, too, and
// with other ids.
func TestEventsAfterRestore(t *testing.T) {
	t.Run("a backup", func(t *testing.T) {
		eventsAfter(t, func(backup, restored string) error { return platform.Restore(strings.NewReader(backup), restored) })
	})
	t.Run("a node", func(t *testing.T) {
		eventsAfter(t, func(backup, restored string) error {
			node := t.TempDir()
			return errors.Join(platform.NodeOf(strings.NewReader(backup), node), platform.Detach(node, restored))
		})
	})
}

func eventsAfter(t *testing.T, restore func(backup, restored string) error) {
	t.Helper()
	r := startHooks(t, t.TempDir(), nil)
	r.pairs("v", 1)
	_, early := r.eventsAfter("&limit=1")
	backup := r.backup("")
	r.pairs("v", 2)
	known, late := r.eventsAfter("")
	r.stop()
	if len(known) != 6 {
		t.Fatalf("%d events", len(known))
	}

	restored := t.TempDir()
	if err := restore(backup, restored); err != nil {
		t.Fatal(err)
	}
	r = startHooks(t, restored, nil)
	defer r.stop()
	r.pairs("v", 3)
	all, _ := r.eventsAfter("")
	if len(all) != 8 || !slices.Equal(all[:2], known[:2]) {
		t.Fatalf("%s", strings.Join(all, "\n"))
	}
	for cursor, want := range map[string][]string{early: all[1:], late: all[2:]} {
		if got, _ := r.eventsAfter("&cursor=" + cursor); !slices.Equal(got, want) {
			t.Errorf("behind %s:\n%s\nwant\n%s", cursor, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	ids := map[string]bool{}
	for _, text := range append(known[2:], all...) {
		var event struct{ Source, ID string }
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatal(err)
		}
		if ids[event.Source+event.ID] {
			t.Errorf("two events are %s of %s", event.ID, event.Source)
		}
		ids[event.Source+event.ID] = true
	}
}

// Rules and policies of files can be changed once the platform has no directory of files any more.
func TestRulesOfADirectoryThatIsGone(t *testing.T) {
	data, sets := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"yard.json": squareOf("a", 1), "rules.yaml": "rules: [{id: r, set: yard}]", "yard.policy.yaml": "preset: raw"} {
		if err := os.WriteFile(filepath.Join(sets, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := keeping(data)
	cfg.Sets.Dir = sets
	r := start(t, cfg, nil)
	remove := func(want int) {
		t.Helper()
		for _, path := range []string{"v1/rules/r", "v1/sets/yard/policy"} {
			if status, answer, err := r.call(http.MethodDelete, path, "", nil); err != nil || status != want {
				t.Errorf("DELETE %s: %d %s %v", path, status, answer, err)
			}
		}
	}
	remove(http.StatusConflict)
	r.stop()
	r = start(t, keeping(data), nil)
	if got := r.text("v1/rules"); !strings.Contains(got, `"id":"r"`) || strings.Contains(got, "rules.yaml") {
		t.Errorf("rules %s", got)
	}
	remove(http.StatusNoContent)
	r.stop()
}

// eventsAfter returns past events, and the cursor behind them.
func (r *running) eventsAfter(query string) (events []string, cursor string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.URL()+"v1/events?wait=0"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %v %.200s", query, res.StatusCode, err, &body)
	}
	return lines(body.String()), res.Header.Get("Paddock-Cursor")
}

// nextMillisecond returns when the time of events has changed.
func nextMillisecond() {
	for begun := time.Now().UnixMilli(); time.Now().UnixMilli() == begun; {
		runtime.Gosched()
	}
}

// Events can be read from a time on.
func TestEventsSinceATime(t *testing.T) {
	for name, data := range map[string]string{"in memory": "", "on disk": t.TempDir()} {
		r := start(t, keeping(data), nil)
		r.put("v1/sets/s", squareOf("f", 1))
		r.take(1, "v1/positions", "application/json", []byte(`{"id":"early","lon":1,"lat":1}`))
		nextMillisecond()
		middle := time.Now()
		nextMillisecond()
		r.take(1, "v1/positions", "application/json", []byte(`{"id":"late","lon":1,"lat":1}`))
		for _, c := range []struct {
			from string
			want int
		}{
			{middle.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano), 1},
			{middle.Add(-time.Hour).Format(time.RFC3339), 2},
			{middle.Add(time.Hour).UTC().Format(time.RFC3339), 0},
		} {
			if got, _ := r.eventsAfter("&from=" + strings.ReplaceAll(c.from, "+", "%2B")); len(got) != c.want {
				t.Errorf("%s, from %s: %d events, want %d", name, c.from, len(got), c.want)
			}
		}
		for query, want := range map[string]string{"from=yesterday": "RFC 3339", "from=" + fmt.Sprint(middle.UTC().Format(time.RFC3339)) + "&cursor=x-1": "give one of them"} {
			status, answer, err := r.call(http.MethodGet, "v1/events?wait=0&"+query, "", nil)
			if err != nil || status != http.StatusBadRequest || !strings.Contains(string(answer), want) {
				t.Errorf("%s: %d %s, %v", query, status, answer, err)
			}
		}
		r.stop()
	}
}

// deafConn reads nothing until all posts are sent. The owner of the session has lost their numbers:
// an earlier acknowledgement of all would be ahead of it.
type deafConn struct {
	net.Conn
	sent chan struct{}
}

func (c *deafConn) Read(b []byte) (int, error) {
	<-c.sent
	return c.Conn.Read(b)
}

// A sender that has lost the acknowledgement of its positions sends them again to the next process,
// which knows that they were handled.
func TestSessionsSurvive(t *testing.T) {
	data := t.TempDir()
	session := &wire.Session{ID: [16]byte{1, 2, 3}, Epoch: 7, Index: 1}
	send := func(r *running, count int) {
		t.Helper()
		addr := r.WireAddr()
		nc, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			t.Fatal(err)
		}
		deaf := &deafConn{Conn: nc, sent: make(chan struct{})}
		hear := sync.OnceFunc(func() { close(deaf.sent) })
		conn, err := wire.NewConn(deaf, &wire.Config{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		defer hear()
		var last uint64
		for n := range count {
			body, err := position.Append(nil, &position.Position{ID: "v", Lon: 1, Lat: 1, Time: 1_700_000_000_000 + int64(n)})
			if err != nil {
				t.Fatal(err)
			}
			if last, err = conn.PostAck(t.Context(), wireapi.KindUpdate, body); err != nil {
				t.Fatal(err)
			}
		}
		hear()
		if err := conn.WaitAcked(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, keeping(data), nil)
	send(r, 5)
	r.stop()
	for range 2 {
		r = start(t, keeping(data), nil)
		send(r, 5)
		if totals := r.Totals(); totals.Accepted+totals.Late != 0 {
			t.Errorf("%d positions were accepted again, %d were late", totals.Accepted, totals.Late)
		}
		r.stop()
	}
	r = start(t, keeping(data), nil)
	send(r, 8)
	if totals := r.Totals(); totals.Accepted != 3 || totals.Late != 0 {
		t.Errorf("%d positions were accepted, %d were late", totals.Accepted, totals.Late)
	}
	r.stop()
}

// Source and id never name two events, with or without a journal: each run counts the events of an
// object from 1 if it does not know the earlier ones.
func TestEventsOfTwoRuns(t *testing.T) {
	for _, data := range []string{"", t.TempDir()} {
		named := map[string]string{} // event by source and id
		for range 2 {
			r := start(t, keeping(data), nil)
			r.put("v1/sets/mine", squareOf("a", 1))
			nextMillisecond()
			r.take(2, "v1/positions", "application/json", []byte(`[{"id":"v1","lon":1,"lat":1},{"id":"v2","lon":1,"lat":1}]`))
			nextMillisecond()
			r.take(2, "v1/positions", "application/json", []byte(`[{"id":"v1","lon":1,"lat":20},{"id":"v2","lon":1,"lat":20}]`))
			for _, text := range lines(r.text("v1/events?wait=0")) {
				var e struct{ Source, ID string }
				if err := json.Unmarshal([]byte(text), &e); err != nil {
					t.Fatal(err)
				}
				if other := named[e.Source+" "+e.ID]; other != "" && other != text {
					t.Errorf("data %q: two events are %s of %s:\n%s\n%s", data, e.ID, e.Source, other, text)
				}
				named[e.Source+" "+e.ID] = text
				if run := strings.HasPrefix(e.Source, "/sets/mine?run="); run != (data == "") {
					t.Errorf("data %q: source %s", data, e.Source)
				}
			}
			r.stop()
		}
		if len(named) != 8 {
			t.Errorf("data %q: %d events", data, len(named))
		}
	}
}
