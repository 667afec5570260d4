package gofence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"

	"paddock/fence"
	"paddock/internal/httpapi/gofence"
)

// switchFS is a directory whose content changes as a whole.
type switchFS struct{ atomic.Pointer[fstest.MapFS] }

func (s *switchFS) Open(name string) (fs.File, error) { return (*s.Load()).Open(name) }

func (s *switchFS) put(files map[string]string) {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	s.Store(&m)
}

// version is a directory of two sets that tell which version they are of.
func version(v int) map[string]string {
	square := func(set string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%d,"properties":{"set":%q},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, v, set)
	}
	return map[string]string{"a.json": square("a"), "b.json": square("b"), fmt.Sprintf("only %d.json", v): square("c")}
}

func get(h http.Handler, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.String()
}

const atOneOne = `{"query":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}},"fences":[%s]}`

func TestReload(t *testing.T) {
	var files switchFS
	files.put(version(1))
	d, err := gofence.Open(&files, fence.Options{}, gofence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(list, a string) {
		t.Helper()
		if got := get(d, "/fence"); got != list {
			t.Errorf("sets %s, want %s", got, list)
		}
		if got, want := get(d, "/fence/a/search?lat=1&lon=1"), fmt.Sprintf(atOneOne, a); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(`["a","b","only-1"]`, `{"id":1,"set":"a"}`)

	broken := version(2)
	broken["b.json"] = `{"type":"FeatureCollection","features":[`
	files.put(broken)
	if err := d.Reload(); err == nil {
		t.Error("a broken file was loaded")
	}
	check(`["a","b","only-1"]`, `{"id":1,"set":"a"}`)

	files.put(nil)
	if err := d.Reload(); !errors.Is(err, fence.ErrNoSets) {
		t.Errorf("an empty directory: %v", err)
	}
	check(`["a","b","only-1"]`, `{"id":1,"set":"a"}`)

	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/fence/a/add", strings.NewReader(version(7)["b.json"])))
	check(`["a","b","only-1"]`, `{"id":1,"set":"a"},{"id":7,"set":"b"}`)

	files.put(version(3))
	if err := d.Reload(); err != nil {
		t.Error(err)
	}
	check(`["a","b","only-3"]`, `{"id":3,"set":"a"}`)
}

// Requests during reloads never see a mixture, nor a set that is missing.
func TestReloadUnderLoad(t *testing.T) {
	var files switchFS
	files.put(version(1))
	d, err := gofence.Open(&files, fence.Options{}, gofence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				switch got := get(d, "/fence"); got {
				case `["a","b","only-1"]`, `["a","b","only-2"]`:
				default:
					t.Errorf("sets %s", got)
					return
				}
				switch got := get(d, "/fence/b/search?lat=1&lon=1"); got {
				case fmt.Sprintf(atOneOne, `{"id":1,"set":"b"}`), fmt.Sprintf(atOneOne, `{"id":2,"set":"b"}`):
				default:
					t.Errorf("got %s", got)
					return
				}
			}
		})
	}
	for i := range 200 {
		files.put(version(1 + i%2))
		if err := d.Reload(); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	readers.Wait()
}

func TestReloadOn(t *testing.T) {
	var files switchFS
	files.put(version(1))
	log := &lines{seen: make(chan string, 100)}
	d, err := gofence.Open(&files, fence.Options{}, gofence.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	signals, done := make(chan os.Signal), make(chan error, 1)
	go func() { done <- d.ReloadOn(ctx, signals) }()

	files.put(version(2))
	signals <- syscall.SIGHUP
	log.wait(t, "fences loaded") // of Open
	log.wait(t, "fences loaded")
	if got := get(d, "/fence"); got != `["a","b","only-2"]` {
		t.Errorf("sets %s", got)
	}
	files.put(map[string]string{"a.json": "{"})
	signals <- syscall.SIGHUP
	log.wait(t, "reload failed; the sets stay as they were")
	if got := get(d, "/fence"); got != `["a","b","only-2"]` {
		t.Errorf("sets %s", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// lines is a log that can be waited on.
type lines struct{ seen chan string }

func (l *lines) Write(p []byte) (int, error) {
	l.seen <- string(p)
	return len(p), nil
}

func (l *lines) wait(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ioTimeout)
	defer cancel()
	for {
		select {
		case line := <-l.seen:
			if strings.Contains(line, text) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("no line %q", text)
		}
	}
}

func TestFindingsAreLogged(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"type":"FeatureCollection","features":[`)
	for range 20 {
		text.WriteString(`{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}},`)
	}
	text.WriteString(`{"type":"Feature","properties":{},"geometry":null}]}`)
	var b bytes.Buffer
	_, err := gofence.Open(fstest.MapFS{"x.json": {Data: []byte(text.String())}}, fence.Options{},
		gofence.Options{Logger: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"skipped=21 findings=21":  1,
		"and 15 more not-polygon": 1,
		"not-polygon:":            5,
		"no-geometry:":            1,
	} {
		if got := strings.Count(b.String(), line); got != want {
			t.Errorf("%q %d times, want %d:\n%s", line, got, want, b.String())
		}
	}
}

func TestReason(t *testing.T) {
	_, noSets := gofence.Open(fstest.MapFS{"readme.txt": {}}, fence.Options{}, gofence.Options{})
	_, noDir := gofence.Open(os.DirFS("testdata/nowhere"), fence.Options{}, gofence.Options{})
	for _, err := range []error{noSets, noDir} {
		if got := gofence.Reason(err, "some/dir"); got != "No valid geojson fences at some/dir" {
			t.Errorf("%v: %s", err, got)
		}
	}
	_, twice := gofence.Open(fstest.MapFS{"A b.json": {Data: []byte(version(1)["a.json"])}, "a-b.geojson": {Data: []byte(version(1)["a.json"])}}, fence.Options{}, gofence.Options{})
	if twice == nil || !strings.Contains(gofence.Reason(twice, "d"), "A b.json") || !strings.Contains(gofence.Reason(twice, "d"), "a-b.geojson") {
		t.Errorf("two files with one slug: %v", twice)
	}
}
