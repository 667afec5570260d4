package basemap

import (
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive returns a PMTiles archive with one raster tile of 4 bytes, and change applied to it.
func archive(change func(b []byte)) []byte {
	b := make([]byte, headerLength, 200)
	copy(b, magic)
	b[7], b[97], b[98], b[99] = version, compressionNone, compressionNone, 2
	le := binary.LittleEndian
	directory := []byte{1, 0, 1, 4, 1} // one entry: tile 0, run of 1, 4 bytes, offset 0
	for _, part := range []struct {
		at      int
		content string
	}{{8, string(directory)}, {24, "{}"}, {40, ""}, {56, "tile"}} {
		le.PutUint64(b[part.at:], uint64(len(b)))
		le.PutUint64(b[part.at+8:], uint64(len(part.content)))
		b = append(b, part.content...)
	}
	if change != nil {
		change(b)
	}
	return b
}

func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "city.pmtiles")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	at := func(i int, v byte) func([]byte) { return func(b []byte) { b[i] = v } }
	for name, c := range map[string]struct {
		content []byte
		kind    string
		err     string
	}{
		"raster":                  {archive(nil), "raster", ""},
		"vector":                  {archive(at(99, typeVector)), "vector", ""},
		"gzip":                    {archive(func(b []byte) { b[97], b[98], b[99] = 2, 2, 1 }), "vector", ""},
		"raster of compressed":    {archive(at(98, 3)), "raster", ""}, // no matter: pictures are what they are
		"another file":            {[]byte("GIF89a" + strings.Repeat("x", 200)), "", "no PMTiles archive"},
		"empty":                   {nil, "", "no PMTiles archive"},
		"old version":             {archive(at(7, 2)), "", "version 2 of PMTiles"},
		"cut":                     {archive(nil)[:headerLength+9], "", "before its tile data do"},
		"far offset":              {archive(at(63, 0xff)), "", "before its tile data do"},
		"brotli of vector tiles":  {archive(func(b []byte) { b[98], b[99] = 3, 1 }), "", "the tiles are compressed"},
		"zstd of the directories": {archive(at(97, 4)), "", "the directories are compressed"},
		"unknown tiles":           {archive(at(99, 0)), "", "tiles of type 0"},
	} {
		b, err := Open(write(t, c.content))
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "city.pmtiles")):
			t.Errorf("%s: %v, want %q", name, err, c.err)
		case c.err == "" && (err != nil || b.Describe().Kind != c.kind || b.Origin() != ""):
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Check(filepath.Join(t.TempDir(), "none.pmtiles")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := Check(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
	if b, err := Open(""); b.WithAttribution("x") != nil || err != nil || b.Describe() != nil || b.Origin() != "" {
		t.Errorf("none: %v, %v", b, err)
	}
}

func TestTileServer(t *testing.T) {
	for setting, want := range map[string]string{
		"https://tiles.example.com/{z}/{x}/{y}.png":                   "https://tiles.example.com",
		"http://Tiles.Example.com:8081/osm/{z}/{x}/{y}.webp?key=a":    "http://tiles.example.com:8081",
		"http://[::1]:80/{z}/{x}/{y}":                                 "http://[::1]:80",
		"https://tiles.example.com/{z}/{x}.png":                       "",
		"ftp://tiles.example.com/{z}/{x}/{y}.png":                     "",
		"https://user:pw@tiles.example.com/{z}/{x}/{y}.png":           "",
		"https:///{z}/{x}/{y}.png":                                    "",
		"https://*/{z}/{x}/{y}.png":                                   "",
		"https://a;script-src/{z}/{x}/{y}.png":                        "",
		"https://a b/{z}/{x}/{y}.png":                                 "",
		"https://" + strings.Repeat("a", 300) + "/{z}/{x}/{y}.png":    "",
		"https://tiles.example.com, https://other/{z}/{x}/{y}.png":    "",
		"https://{s}.tiles.example.com/{z}/{x}/{y}.png":               "",
		"https://tiles.example.com 'unsafe-inline'/{z}/{x}/{y}.png":   "",
		"https://tiles.example.com\tscript-src/{z}/{x}/{y}.png":       "",
		"data://text/{z}/{x}/{y}":                                     "",
		"https://tiles.example.com%20script-src/{z}/{x}/{y}.png":      "",
		"https://tiles.example.com:port/{z}/{x}/{y}.png":              "",
		"https://tiles.example.com/{z}/{x}/{y}.png#https://elsewhere": "https://tiles.example.com",
	} {
		b, err := Open(setting)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s was taken, with the origin %q", setting, b.Origin())
		case want != "" && (err != nil || b.Origin() != want || b.Describe().Kind != "tiles" || b.Describe().URL != setting):
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestServe(t *testing.T) {
	content := archive(nil)
	path := write(t, content)
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/basemap", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		if err := b.Serve(w, r); err != nil {
			t.Fatal(err)
		}
		return w
	}
	whole := ask()
	tag := whole.Header().Get("ETag")
	if whole.Code != 200 || whole.Body.String() != string(content) || tag == "" || whole.Header().Get("Content-Type") != "application/vnd.pmtiles" {
		t.Errorf("whole: %d, %v", whole.Code, whole.Header())
	}
	if part := ask("Range", "bytes=0-6"); part.Code != 206 || part.Body.String() != magic || part.Header().Get("ETag") != tag {
		t.Errorf("range: %d %q", part.Code, part.Body)
	}
	if beyond := ask("Range", "bytes=9999-10000"); beyond.Code != 416 {
		t.Errorf("beyond the end: %d", beyond.Code)
	}
	if same := ask("If-None-Match", tag); same.Code != 304 {
		t.Errorf("known: %d", same.Code)
	}
	if stale := ask("Range", "bytes=0-6", "If-Range", `"other"`); stale.Code != 200 {
		t.Errorf("range of another file: %d", stale.Code)
	}
	if err := os.WriteFile(path, append(content, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed := ask("If-None-Match", tag); changed.Code != 200 || changed.Header().Get("ETag") == tag {
		t.Errorf("replaced: %d", changed.Code)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err = b.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/basemap", nil))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), path) {
		t.Errorf("removed: %v", err)
	}
	var none *Basemap
	if err := none.Serve(httptest.NewRecorder(), nil); !errors.Is(err, ErrNone) {
		t.Errorf("none: %v", err)
	}
}
