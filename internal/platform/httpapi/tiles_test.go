package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"paddock/internal/platform/httpapi/tiles"
)

func TestTiles(t *testing.T) {
	tw := newTown(t, options{})
	set, _ := tw.catalog.Get("squares")
	s := set.Snapshot()
	want, err := tiles.Draw(t.Context(), s, tiles.NewBoxes(s), tiles.Tile{Z: 3, X: 4, Y: 3})
	must(t, err)
	if len(want) == 0 {
		t.Fatal("an empty tile proves nothing")
	}
	const path = "/v1/sets/squares/tiles/3/4/3"

	plain := tw.get(path+"?v=7", "Accept-Encoding", "identity")
	if plain.status != 200 || !bytes.Equal(plain.body, want) || plain.header.Get("Content-Encoding") != "" ||
		plain.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("plain: %d, %d bytes, %v", plain.status, len(plain.body), plain.header)
	}
	packed := tw.get(path, "Accept-Encoding", "br, gzip;q=0.5")
	z, err := gzip.NewReader(bytes.NewReader(packed.body))
	must(t, err)
	got, err := io.ReadAll(z)
	must(t, err)
	if packed.header.Get("Content-Encoding") != "gzip" || !bytes.Equal(got, want) {
		t.Errorf("compressed: %d bytes, %v", len(got), packed.header)
	}

	etag := plain.header.Get("ETag")
	tw.expect(tw.get(path, "If-None-Match", etag), 304, "")
	tw.send(request{method: http.MethodPut, path: "/v1/sets/squares/fences/new", body: triangle})
	tw.expect(tw.get(path, "If-None-Match", etag), 200, "")
	if empty := tw.get("/v1/sets/squares/tiles/18/0/0"); empty.status != 200 || len(empty.body) != 0 {
		t.Errorf("an empty tile: %d, %d bytes", empty.status, len(empty.body))
	}
	if st := tw.api.Stats().Tiles; st.Made != 3 || st.Reused != 1 || st.Bytes == 0 {
		t.Errorf("%+v", st)
	}
}

func TestBadTiles(t *testing.T) {
	tw := newTown(t, options{})
	for _, c := range []struct {
		path   string
		status int
		detail string
	}{
		{"squares/tiles/19/0/0", 400, "zoom 19 is out of range 0 to 18"},
		{"squares/tiles/3/8/0", 400, "x 8 is out of range 0 to 7 at zoom 3"},
		{"squares/tiles/3/0/-1", 400, "y -1 is out of range 0 to 7 at zoom 3"},
		{"squares/tiles/1.5/0/0", 400, `z "1.5": a whole number`},
		{"squares/tiles/0/0/0.mvt", 400, `y "0.mvt": a whole number`},
		{"squares/tiles/0/99999999999999999999/0", 400, `x "99999999999999999999": a whole number`},
		{"squares/tiles/0/0/0?generation=1", 400, `query: unknown parameter "generation": use v`},
		{"none/tiles/0/0/0", 404, `no set "none"; GET /v1/sets lists them`},
	} {
		tw.problem(tw.get("/v1/sets/"+c.path), c.status, c.detail)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"":                      false,
		"gzip":                  true,
		"deflate, GZIP ; q=0.1": true,
		"gzip;q=0":              false,
		"gzip; q=0.000, *":      false,
		"*":                     true,
		"*;q=0":                 false,
		"br, zstd":              false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {header}}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}
