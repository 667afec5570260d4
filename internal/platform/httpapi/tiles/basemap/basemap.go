// Package basemap serves the map below the fences: a PMTiles archive of the operator, or the
// address of a tile server.
//
// The archive is one file, of which the dashboard reads parts by requests with ranges; the server
// looks at its header alone. The file may be replaced while it is served: each answer carries a
// validator of the file's size and time.
package basemap

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Basemap is a configured base map. A nil Basemap is none.
type Basemap struct {
	file   string // "" for a tile server
	raster bool
	tiles  string // template of a tile server
	origin string // of it

	attribution string
}

// Description is what the dashboard needs to draw a base map.
type Description struct {
	// Kind is vector or raster for an archive at GET /v1/basemap, or tiles for a tile server.
	Kind string `json:"kind"`
	// URL is the template of a tile server.
	URL string `json:"url,omitempty"`
	// Attribution names the source; "" is that of the archive.
	Attribution string `json:"attribution,omitempty"`
}

// Open returns the base map of a setting: "" is none, a template with {z}, {x} and {y} is a tile
// server for raster tiles, and anything else is the path of an archive. It reports a file that is
// missing, or that the dashboard cannot draw.
func Open(setting string) (*Basemap, error) {
	switch {
	case setting == "":
		return nil, nil
	case strings.Contains(setting, "://"):
		origin, err := originOf(setting)
		if err != nil {
			return nil, err
		}
		return &Basemap{tiles: setting, origin: origin}, nil
	}
	h, err := readHeader(setting)
	if err != nil {
		return nil, err
	}
	return &Basemap{file: setting, raster: h.tileType != typeVector}, nil
}

// WithAttribution returns b with the text that names its source.
func (b *Basemap) WithAttribution(text string) *Basemap {
	if b == nil {
		return nil
	}
	other := *b
	other.attribution = text
	return &other
}

// Check reports what is wrong with a setting.
func Check(setting string) error {
	_, err := Open(setting)
	return err
}

// originOf checks the template of a tile server, and returns its origin. The origin becomes part of
// the policy of the dashboard's page, so it holds nothing but a host and a port.
func originOf(template string) (string, error) {
	u, err := url.Parse(template)
	if err != nil {
		return "", fmt.Errorf("%q is no URL", template)
	}
	for _, part := range []string{"{z}", "{x}", "{y}"} {
		if !strings.Contains(template, part) {
			return "", fmt.Errorf("%q has no %s: a tile server's URL is as https://tiles.example.com/{z}/{x}/{y}.png", template, part)
		}
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q: the scheme of a tile server is https or http", template)
	case u.User != nil:
		return "", errors.New("the URL of a tile server is sent to browsers, so it has no user or password")
	case !isHost(u.Host):
		return "", fmt.Errorf("%q: %q is no host name and port", template, u.Host)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// isHost reports whether a text is a host name or an address with an optional port, without
// anything that separates the parts of a policy.
func isHost(host string) bool {
	if host == "" || len(host) > 255 {
		return false
	}
	for _, c := range []byte(host) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '-', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

// Origin returns the origin of the tile server, such as https://tiles.example.com, or "" if no host
// but the dashboard's own is asked.
func (b *Basemap) Origin() string {
	if b == nil {
		return ""
	}
	return b.origin
}

// Describe returns the description of the base map; nil is none.
func (b *Basemap) Describe() *Description {
	if b == nil {
		return nil
	}
	d := &Description{Kind: "vector", URL: b.tiles, Attribution: b.attribution}
	switch {
	case b.tiles != "":
		d.Kind = "tiles"
	case b.raster:
		d.Kind = "raster"
	}
	return d
}

// ErrNone reports that there is no archive to serve.
var ErrNone = errors.New("no archive is configured: set dashboard.basemap to the path of a PMTiles file")

// Serve answers with the archive, or the asked ranges of it (RFC 9110 section 14). It returns an
// error before it has answered anything.
func (b *Basemap) Serve(w http.ResponseWriter, r *http.Request) error {
	if b == nil || b.file == "" {
		return ErrNone
	}
	f, err := os.Open(b.file)
	if err != nil {
		return fmt.Errorf("the archive of the base map cannot be read: %w", cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the archive of the base map cannot be read: %w", cause(err))
	}
	h := w.Header()
	h.Set("Content-Type", "application/vnd.pmtiles")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

// cause returns an error of a file without its path.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
