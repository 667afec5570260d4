package platform_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/journal"
	"paddock/internal/process/config"
)

// past is a data directory, and what clients know of it.
type past struct {
	dir     string
	cursors []string // of a subscriber, after every 200 events
	events  map[string]string
	objects int
}

// pasts returns directories of the same platform: one that was stopped, one that a crash has left,
// the same with its records in tables, and one that has lost something before.
func pasts(t *testing.T) (all map[string]*past) {
	t.Helper()
	data := t.TempDir()
	r := start(t, keeping(data), nil)
	r.put("v1/sets/zone", `{"type":"FeatureCollection","features":[`+squareOf("a", 1)+`,`+squareOf("b", 1)+`]}`)
	r.put("v1/sets/other", squareOf("c", 1))
	for n := range 6 { // documents of some length
		var far []string
		for f := range 30 {
			far = append(far, fmt.Sprintf(`{"type":"Feature","id":"far%d","properties":{"text":%q},"geometry":{"type":"Polygon","coordinates":[[[40,40],[41,40],[41,%d.5],[40,40]]]}}`, f, rand.Text(), 41+f%9))
		}
		r.put(fmt.Sprint("v1/sets/far", n), `{"type":"FeatureCollection","features":[`+strings.Join(far, ",")+`]}`)
	}
	for id, text := range map[string]string{
		"zone": `{"set":"zone"}`, "other": `{"set":"other"}`, "full": `{"set":"zone","count":{"at_least":10}}`,
		"meeting": `{"objects":"v0","near":{"objects":"v9","metres":100}}`,
	} {
		r.put("v1/rules/"+id, text)
	}
	begin := time.Now().Add(-time.Hour).UnixMilli()
	const vehicles, rounds = 10, 40
	for n := range rounds {
		var batch []string
		for v := range vehicles {
			batch = append(batch, fmt.Sprintf(`{"id":"v%d","lon":%d,"lat":%d,"t":%d,"props":{"round":%d}}`, v, 1+20*(n%2), v%9, begin+int64(n)*1000, n))
		}
		for v := range vehicles { // in no fence, but records of some length
			batch = append(batch, fmt.Sprintf(`{"id":"quiet%d","lon":-5,"lat":-5,"t":%d,"props":{"text":%q}}`, v, begin+int64(n)*1000, rand.Text()+rand.Text()))
		}
		r.take(2*vehicles, "v1/positions", "application/json", []byte("["+strings.Join(batch, ",")+"]"))
	}
	known := past{events: map[string]string{}, objects: 2 * vehicles}
	for cursor := ""; ; {
		page, next := r.eventsAfter("&limit=200&cursor=" + cursor)
		if cursor = next; len(page) == 0 {
			break
		}
		known.note(t, page)
		known.cursors = append(known.cursors, cursor)
	}
	if len(known.events) != rounds*vehicles*3+2*rounds+1 { // of each vehicle, of both fences, and of the pair
		t.Fatalf("%d events", len(known.events))
	}
	crashed, flushed, stopped := known, known, known
	crashed.dir = t.TempDir()
	if err := os.CopyFS(crashed.dir, os.DirFS(data)); err != nil { // the platform is idle
		t.Fatal(err)
	}
	r.stop()
	stopped.dir = data
	flushed.dir = copyOf(t, crashed.dir)
	flush(t, flushed.dir)
	flush(t, stopped.dir)
	mended := known
	mended.dir = copyOf(t, stopped.dir)
	damage(t, mended.dir, ".sst", 300)
	startWith(t, platform.Options{Config: keeping(mended.dir), AcceptLoss: true}).stop()
	flush(t, mended.dir)
	return map[string]*past{"stopped": &stopped, "crashed": &crashed, "flushed": &flushed, "mended": &mended}
}

// flush writes what a journal has in its log to tables.
func flush(t *testing.T, dir string) {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(dir, "journal")})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

// note adds events. Two events never have the same source and id. Gap records are returned.
func (p *past) note(t *testing.T, page []string) (gaps []string) {
	t.Helper()
	for _, text := range page {
		var e struct{ Type, Source, ID string }
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "paddock.gap" {
			gaps = append(gaps, text)
			continue
		}
		if other, known := p.events[e.Source+" "+e.ID]; known && other != text {
			t.Errorf("two events are %s of %s:\n%s\n%s", e.ID, e.Source, other, text)
		}
		p.events[e.Source+" "+e.ID] = text
	}
	return gaps
}

// largest returns the largest file of the journal with an extension.
func largest(t *testing.T, dir, ext string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*"+ext))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return slices.MaxFunc(files, func(a, b string) int { return int(size(a) - size(b)) })
}

// losses are the accepted losses that a journal lists.
func losses(t *testing.T, dir string) (lost []string) {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(dir, "journal"), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var all []struct{ Lost, Damage []string }
	text, err := j.Get("losses")
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all[len(all)-1].Damage) == 0 {
		t.Fatalf("%s, %v", text, err)
	}
	return all[len(all)-1].Lost
}

// Wherever a byte changes in a data directory, a platform starts with --accept-loss, names what is
// lost, and goes on. Cursors stay valid, a subscriber is told once of the events that it misses,
// and no id and no cursor names two events.
func TestAcceptLoss(t *testing.T) {
	all := pasts(t)
	kinds := []string{"events between", "the set", "present state", "records", "newest", "oldest", "past positions"}
	seen := map[string]int{}
	for _, c := range []struct {
		of, ext string
		share   int // of the data of the largest file, in a thousandth
	}{
		{"stopped", ".sst", 1},
		{"stopped", ".sst", 300},
		{"stopped", ".sst", 960},
		{"stopped", ".sst", 999},
		{"crashed", ".log", 20},
		{"crashed", ".log", 999},
		{"flushed", ".sst", 720},
		{"mended", ".sst", 1},
		{"flushed", ".sst", 1},
		{"stopped", ".sst", 920}, // neighbours of others, as the lengths of what is stored differ
		{"stopped", ".sst", 980},
		{"flushed", ".sst", 640},
		{"flushed", ".sst", 760},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", c.of, c.ext, c.share), func(t *testing.T) {
			p := *all[c.of]
			p.dir = copyOf(t, p.dir)
			damage(t, p.dir, c.ext, c.share)
			for _, text := range p.accept(t) {
				for _, kind := range kinds {
					if strings.Contains(text, kind) {
						seen[kind]++
					}
				}
			}
		})
	}
	t.Run("nothing", func(t *testing.T) { all["stopped"].nothingIsLeft(t) })
	t.Run("list", func(t *testing.T) { all["stopped"].listIsCut(t) })
	t.Run("crash", func(t *testing.T) { all["stopped"].crashInExchange(t) })
	t.Log(seen)
	for _, kind := range kinds {
		if seen[kind] == 0 {
			t.Errorf("no damage of the kind %q", kind)
		}
	}
}

// TestManyDamages is TestAcceptLoss at as many random places as PADDOCK_DAMAGES says.
func TestManyDamages(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("PADDOCK_DAMAGES"))
	if err != nil {
		t.Skip("PADDOCK_DAMAGES is not set: make damages sets it")
	}
	all := pasts(t)
	kinds := []struct{ of, ext string }{
		{"stopped", ".sst"}, {"stopped", ".log"}, {"crashed", ".log"}, {"flushed", ".sst"}, {"mended", ".sst"},
	}
	for n := range times {
		c, share := kinds[mathrand.IntN(len(kinds))], mathrand.IntN(1000)
		t.Run(fmt.Sprintf("%d/%s/%s/%d", n, c.of, c.ext, share), func(t *testing.T) {
			p := *all[c.of]
			p.dir = copyOf(t, p.dir)
			damage(t, p.dir, c.ext, share)
			p.accept(t)
		})
	}
}

// damage changes a bit of the largest file with an extension. Zeros at its end are no data.
func damage(t *testing.T, dir, ext string, share int) {
	t.Helper()
	file := largest(t, dir, ext)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(bytes.TrimRight(b, "\x00")); n > 0 {
		b[n*share/1000] ^= 0x10
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// accept starts a platform with --accept-loss and examines it.
func (p *past) accept(t *testing.T) (lost []string) {
	t.Helper()
	p.events = map[string]string{}
	begin := func(accept bool) *running {
		return startWith(t, platform.Options{Config: keeping(p.dir), AcceptLoss: accept})
	}
	r := begin(true)
	r.put("v1/sets/new", squareOf("n", 1))
	r.take(2, "v1/positions", "application/json", []byte(`[{"id":"v1","lon":5,"lat":5},{"id":"new","lon":1,"lat":1}]`))
	gaps, last := p.follow(t, r)
	objects, sets := r.text("v1/objects"), r.text("v1/sets")
	r.stop()
	lost = losses(t, p.dir)
	t.Log(lost, gaps)
	if (len(lost) > 0) != (len(aside(t, p.dir)) > 0) {
		t.Errorf("lost %q, kept aside %q", lost, aside(t, p.dir))
	}
	if state := strings.Join(lost, " "); !strings.Contains(state, "present state") && !strings.Contains(state, "newest") && !strings.Contains(state, "records") {
		if n := strings.Count(objects, `"seen"`); n != p.objects+1 { // and a new one
			t.Errorf("%d objects, lost %q", n, lost)
		}
		if n := strings.Count(sets, `"name":`); n != 9 && !strings.Contains(state, "the set") {
			t.Errorf("sets %s, lost %q", sets, lost)
		}
	}
	found, err := platform.Verify(p.dir, slog.New(slog.DiscardHandler), nil)
	if err != nil || found.Gaps != len(gaps) && len(lost) > 0 {
		t.Errorf("%+v, %v; the gaps are %s", found, err, gaps)
	}

	r = begin(false)
	if again := r.text("v1/objects"); again != objects {
		t.Errorf("objects %s\nwere %s", again, objects)
	}
	if again := r.text("v1/sets"); strings.Count(again, `"name"`) != strings.Count(sets, `"name"`) {
		t.Errorf("sets %s\nwere %s", again, sets)
	}
	more, _ := r.eventsAfter("&cursor=" + url.QueryEscape(last))
	if len(more) > 0 {
		t.Errorf("behind the last cursor: %s", more)
	}
	if text := r.text("metrics"); strings.Contains(text, "paddock_journal_losses 0") != (len(lost) == 0) {
		t.Errorf("lost %q", lost)
	}
	r.stop()
	return lost
}

// follow reads the events behind each known cursor. Those of the oldest one include all others, and
// so do its gaps.
func (p *past) follow(t *testing.T, r *running) (gaps []string, last string) {
	t.Helper()
	for i, cursor := range append([]string{""}, p.cursors...) {
		var mine []string
		for from := cursor; ; {
			status, answer, err := r.call(http.MethodGet, "v1/events?wait=0&limit=1&cursor="+from, "", nil)
			if err != nil || status != http.StatusOK {
				if status == http.StatusGone && strings.Contains(string(answer), "oldest") {
					break // the oldest events are lost
				}
				t.Fatalf("cursor %s: %d %s, %v", from, status, answer, err)
			}
			page, next := r.eventsAfter("&limit=500&cursor=" + from)
			if from, last = next, next; len(page) == 0 {
				break
			}
			mine = append(mine, p.note(t, page)...)
		}
		if i == 0 {
			gaps = mine
		}
		if len(mine) > len(gaps) {
			t.Errorf("cursor %s: gaps %s, all are %s", cursor, mine, gaps)
		}
		for _, g := range mine {
			if !strings.Contains(g, "the loss was accepted") {
				t.Errorf("cursor %s: gap %s", cursor, g)
			}
		}
	}
	return gaps, last
}

// aside returns the damaged journals that are kept.
func aside(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "journal.damaged-*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// nothingIsLeft: a journal whose list of files is damaged at its beginning cannot be read at all.
// The start fails, names the way out, and changes nothing.
func (p *past) nothingIsLeft(t *testing.T) {
	t.Helper()
	p = &past{dir: copyOf(t, p.dir)}
	p.damageList(t, 50)
	_, err := tryStart(t, platform.Options{Config: keeping(p.dir), AcceptLoss: true})
	if err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Error(err)
	}
	if left, err := os.ReadDir(p.dir); err != nil || len(left) != 2 { // journal and secrets
		t.Error(left, err)
	}
}

func (p *past) damageList(t *testing.T, share int) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir, "journal", "MANIFEST-*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	damage(t, p.dir, filepath.Base(list[len(list)-1]), share)
}

// listIsCut: behind a damage in its middle, the list of files looks as if a loss of power had cut
// it off. The missing records tell that it is damage.
func (p *past) listIsCut(t *testing.T) {
	t.Helper()
	p = &past{dir: copyOf(t, p.dir), cursors: p.cursors}
	p.damageList(t, 600)
	before, err := os.ReadDir(filepath.Join(p.dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tryStart(t, platform.Options{Config: keeping(p.dir)})
	if err == nil || !strings.Contains(err.Error(), "the list of files ends early: record") || !strings.Contains(err.Error(), "--accept-loss") {
		t.Error(err)
	}
	if after, err := os.ReadDir(filepath.Join(p.dir, "journal")); err != nil || len(after) != len(before) {
		t.Errorf("%s, were %s; %v", after, before, err)
	}
	if lost := p.accept(t); len(lost) != 1 || !strings.Contains(lost[0], "newest") {
		t.Error(lost)
	}
}

// A node of a cluster accepts no loss, as it would differ from the others: the start fails, names
// the way out, and changes nothing.
func TestNodesAcceptNoLoss(t *testing.T) {
	p := &past{dir: t.TempDir()}
	r := start(t, keeping(p.dir), nil)
	r.put("v1/sets/zone", squareOf("a", 1))
	r.stop()
	flush(t, p.dir)
	p.damageList(t, 50)
	for _, accept := range []bool{false, true} {
		cfg := keeping(p.dir)
		cfg.Cluster.URL = "nats://127.0.0.1:1"
		_, err := tryStart(t, platform.Options{Config: cfg, AcceptLoss: accept})
		if err == nil || errors.Is(err, config.ErrInvalid) != accept || !strings.Contains(err.Error(), "data.dir: ") || !strings.Contains(err.Error(), "move the directory away, and the node begins with the state of the others") || strings.Contains(err.Error(), "or start with --accept-loss") {
			t.Errorf("accept %v: %v", accept, err)
		}
	}
	if left, err := os.ReadDir(p.dir); err != nil || len(left) != 2 { // journal and secrets
		t.Error(left, err)
	}
}

// crashInExchange: a crash while the copy takes the place of the damaged journal loses neither.
func (p *past) crashInExchange(t *testing.T) {
	t.Helper()
	p = &past{dir: copyOf(t, p.dir), objects: p.objects}
	journal, copied := filepath.Join(p.dir, "journal"), filepath.Join(p.dir, "journal.salvaged")
	if err := os.CopyFS(copied, os.DirFS(journal)); err != nil { // before the damaged one is moved
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		r := start(t, keeping(p.dir), nil)
		if n := strings.Count(r.text("v1/objects"), `"seen"`); n != p.objects {
			t.Errorf("%d objects", n)
		}
		r.stop()
		if left, err := os.ReadDir(p.dir); err != nil || len(left) != 2 { // journal and secrets
			t.Error(left, err)
		}
	}
	check()
	if err := os.Rename(journal, copied); err != nil { // behind that
		t.Fatal(err)
	}
	check()
}
