package platform_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/platform"
)

// calendar is the time by which fences end.
type calendar struct{ atomic.Int64 }

func (c *calendar) now() time.Time { return time.Unix(c.Load(), 0).UTC() }

// ending returns a square that ends so many hours after the beginning of the test.
func (c *calendar) ending(id string, hours int) string {
	end := c.now().Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
	return strings.Replace(squareOf(id, 1), `"version":1`, fmt.Sprintf(`"paddock:expires":%q`, end), 1)
}

// awaitEvents returns kind, fence and reason of all events, and waits until there are so many.
func (r *running) awaitEvents(n int) (all []string) {
	r.t.Helper()
	ask, deadline := time.Tick(10*time.Millisecond), time.After(patience)
	for {
		all = nil
		for _, line := range lines(r.text("v1/events?wait=0")) {
			part := func(after string) string {
				_, rest, _ := strings.Cut(line, after)
				text, _, _ := strings.Cut(rest, `"`)
				return text
			}
			all = append(all, part(`"type":"paddock.fence.`)+" "+part(`"fence":{"id":"`)+" "+part(`"reason":"`))
		}
		if len(all) >= n {
			return all
		}
		select {
		case <-ask:
		case <-deadline:
			return all
		}
	}
}

// A fence that ends is removed, as by an edit: objects leave it, it is in no look-up, and the set
// has another generation. Neither a restart nor a reload of its file brings it back. One that ends
// while no process runs is removed after the start.
func TestFencesExpire(t *testing.T) {
	c := &calendar{}
	c.Store(time.Now().Unix())
	data, sets := t.TempDir(), t.TempDir()
	file := filepath.Join(sets, "file.json")
	doc := `{"type":"FeatureCollection","features":[` + squareOf("stays", 1) + `,` + c.ending("hour", 1) + `,` + c.ending("day", 24) + `,` + c.ending("gone", -1) + `]}`
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() *running {
		cfg := keeping(data)
		cfg.Sets.Dir, cfg.Sets.Watch = sets, false
		return startWith(t, platform.Options{Config: cfg, Now: c.now})
	}
	r := begin()
	if got := r.text("v1/sets/file?findings=1"); !strings.Contains(got, `"fence":"gone","code":"expired"`) || strings.Contains(r.text("v1/sets/file"), `"gone"`) {
		t.Errorf("a fence that has ended: %s", got)
	}
	r.put("v1/sets/mine", `{"type":"FeatureCollection","features":[`+c.ending("a", 1)+`]}`)
	if status, answer, _ := r.call(http.MethodPut, "v1/sets/mine/fences/late", "application/geo+json", []byte(c.ending("late", -1))); status != 400 || !strings.Contains(string(answer), "paddock:expires: it ended at ") {
		t.Errorf("PUT of a fence that has ended: %d %s", status, answer)
	}
	r.take(1, "v1/positions", "application/json", []byte(`{"id":"v","lon":1,"lat":1}`))
	if got := r.awaitEvents(4); len(got) != 4 {
		t.Fatalf("events %q", got)
	}
	before := r.text("v1/sets/file")
	c.Add(3600)
	got := r.awaitEvents(6)
	for _, want := range []string{"exit hour fence_removed", "exit a fence_removed"} {
		if len(got) != 6 || got[4] != want && got[5] != want {
			t.Errorf("events %q, without %q", got, want)
		}
	}
	if found := r.text("v1/search?lon=1&lat=1&properties=none"); found != `{"fences":[{"set":"file","id":"stays"},{"set":"file","id":"day"}]}`+"\n" {
		t.Errorf("found %s", found)
	}
	after := r.text("v1/sets/file")
	if after == before || !strings.Contains(r.text("v1/sets"), `"name":"file","generation":2,"fences":2`) {
		t.Errorf("sets %s", r.text("v1/sets"))
	}
	r.stop()

	c.Add(24 * 3600) // nothing runs
	r = begin()
	if got := r.awaitEvents(7); len(got) != 7 || got[6] != "exit day fence_removed" {
		t.Errorf("after the start: %q", got)
	}
	r.reload <- os.Interrupt
	r.reload <- os.Interrupt // the first one has been read by then
	if got := r.text("v1/search?lon=1&lat=1&properties=none"); got != `{"fences":[{"set":"file","id":"stays"}]}`+"\n" {
		t.Errorf("after a reload: %s", got)
	}
	if got := r.awaitEvents(7); len(got) != 7 {
		t.Errorf("after a reload: %q", got)
	}
}
