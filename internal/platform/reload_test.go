package platform_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"paddock/internal/process/config"
)

// squareOf returns a document of one fence around (1, 1) with its version.
func squareOf(id string, version int) string {
	return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":{"version":%d},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, id, version)
}

// writeOver replaces a file by renaming another one over it.
func writeOver(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at+".tmp", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at+".tmp", at); err != nil {
		t.Fatal(err)
	}
}

// Files are changed, broken and mended, and fences are edited, while clients look up points. No
// look-up fails or finds a set half loaded, and positions are accepted throughout.
func TestReloadsLoseNoRequest(t *testing.T) {
	dir := t.TempDir()
	at := func(set string) string { return filepath.Join(dir, set+".json") }
	for _, set := range []string{"left", "right"} {
		writeOver(t, at(set), squareOf("f", 1))
	}
	cfg := config.Default()
	cfg.Sets.Dir = dir
	r := start(t, cfg, nil)

	var stop atomic.Bool
	var clients sync.WaitGroup
	ask := func(method, path, body string, want func(answer []byte) bool) {
		clients.Go(func() {
			for !stop.Load() {
				status, answer, err := r.call(method, path, "application/json", []byte(body))
				if err != nil || status != http.StatusOK || !want(answer) {
					t.Errorf("%s %s: %d %.300s, %v", method, path, status, answer, err)
					return
				}
			}
		})
	}
	once := func(part string) func([]byte) bool {
		return func(answer []byte) bool { return bytes.Count(answer, []byte(part)) == 1 }
	}
	ask(http.MethodGet, "fence/left/search?lat=1&lon=1", "", once(`"version"`))
	ask(http.MethodGet, "v1/search?set=right&lat=1&lon=1", "", once(`"version"`))
	ask(http.MethodGet, "fence", "", func(answer []byte) bool { return string(answer) == `["left","right"]` })
	ask(http.MethodPost, "v1/positions", `{"id":"v","lon":1,"lat":1}`, once(`"rejected":[]`))

	for i := range 30 {
		switch i % 3 {
		case 0:
			writeOver(t, at("left"), squareOf("f", i))
			writeOver(t, at("right"), squareOf("f", i))
		case 1:
			writeOver(t, at("left"), squareOf("f", i)[:60])
			status, answer, err := r.call(http.MethodPut, "v1/sets/right/fences/f", "application/geo+json", []byte(squareOf("f", -i)))
			if err != nil || status != http.StatusOK {
				t.Errorf("PUT: %d %s, %v", status, answer, err)
			}
		case 2:
			_, answer, _ := r.call(http.MethodGet, "v1/sets", "", nil)
			if !strings.Contains(string(answer), `"source":{"file":"left.json","loaded":`) || !strings.Contains(string(answer), `"error":"left.json:1:61: `) {
				t.Errorf("a broken file: %s", answer)
			}
			_, answer, _ = r.call(http.MethodGet, "metrics", "", nil)
			if !strings.Contains(string(answer), "paddock_sets_files_failing 1\n") {
				t.Error("a broken file is not counted")
			}
			writeOver(t, at("left"), squareOf("f", i))
		}
		r.reload <- syscall.SIGHUP
		r.reload <- syscall.SIGHUP // taken when the first has been done
	}
	stop.Store(true)
	clients.Wait()
	var left struct {
		Fences []struct{ Properties struct{ Version int } }
	}
	r.ask(&left, http.MethodGet, "v1/search?set=left&lat=1&lon=1", "", nil)
	if len(left.Fences) != 1 || left.Fences[0].Properties.Version != 29 {
		t.Errorf("the last version is %+v", left)
	}
}

// One broken file does not prevent the start: the other sets are served, and /readyz names the
// missing file until it is mended.
func TestABrokenFileDelaysReadiness(t *testing.T) {
	dir := t.TempDir()
	writeOver(t, filepath.Join(dir, "good.json"), squareOf("f", 1))
	writeOver(t, filepath.Join(dir, "broken.json"), "{")
	cfg := config.Default()
	cfg.Sets.Dir = dir
	r := start(t, cfg, nil)
	expect := func(path string, status int, part string) {
		t.Helper()
		got, answer, err := r.call(http.MethodGet, path, "", nil)
		if err != nil || got != status || !strings.Contains(string(answer), part) {
			t.Errorf("%s: %d %s, %v; want %d with %s", path, got, answer, err, status, part)
		}
	}
	expect("readyz", http.StatusServiceUnavailable, `{"status":"sets missing","files":["broken.json"]}`)
	expect("v1/sets", http.StatusOK, `"failing":[{"file":"broken.json","error":"broken.json:1:2`)
	expect("v1/search?set=good&lat=1&lon=1", http.StatusOK, `"version"`)

	writeOver(t, filepath.Join(dir, "broken.json"), squareOf("f", 1))
	r.reload <- syscall.SIGHUP
	r.reload <- syscall.SIGHUP // taken when the first has been done
	expect("readyz", http.StatusOK, `{"status":"ok"}`)
	expect("v1/search?set=broken&lat=1&lon=1", http.StatusOK, `"version"`)
}
