package imports

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"paddock/internal/imports/delimited"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/flatgeobuf"
	"paddock/internal/imports/gpx"
	"paddock/internal/imports/jsonfile"
	"paddock/internal/imports/kml"
	"paddock/internal/imports/shapefile"
	"paddock/internal/imports/tile38"
)

// Format is a kind of file.
type Format struct {
	Name       string
	extensions []string
	// sniff reports whether a file is of the format, by its beginning; nil if that tells nothing.
	sniff func(data []byte) bool
	read  feature.Reader
	width float64 // metres, of lines without one; 0 leaves them lines
}

// gpxWidth is the width in metres of corridors of GPX, whose lines are ways that devices have gone.
const gpxWidth = 50

// formats are the formats that are known.
var formats = []Format{
	{"KML", []string{".kml"}, xmlRoot("kml"), kml.Read, 0},
	{"Shapefile", []string{".shp"}, func(head []byte) bool { return bytes.HasPrefix(head, []byte{0, 0, 0x27, 0x0a}) }, shapefile.Read, 0},
	{"GPX", []string{".gpx"}, xmlRoot("gpx"), gpx.Read, gpxWidth},
	{"FlatGeobuf", []string{".fgb"}, flatgeobuf.Is, flatgeobuf.Read, 0},
	{"Tile38", []string{".aof", ".tile38"}, tile38.Is, tile38.Read, 0},
	{"GeoJSON", []string{".geojson"}, jsonfile.Is(jsonfile.GeoJSON), jsonfile.ReadGeoJSON, 0},
	{"TomTom", nil, jsonfile.Is(jsonfile.TomTom), jsonfile.ReadTomTom, 0},
	{"Amazon Location", nil, jsonfile.Is(jsonfile.Amazon), jsonfile.ReadAmazon, 0},
	{"Traccar", nil, jsonfile.Is(jsonfile.Traccar), jsonfile.ReadTraccar, 0},
	{"CSV", []string{".csv", ".tsv"}, nil, delimited.Read, 0},
}

// Formats returns the names of the formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].Name
	}
	return names
}

// formatOf returns the format of a file; nil if it has none of them. First bytes that tell a format
// count more than the extension, unless the format of that tells nothing by its first bytes.
func formatOf(name string, data []byte) *Format {
	data = withoutMark(data)
	ext := strings.ToLower(filepath.Ext(name))
	var named, found *Format
	for i := range formats {
		f := &formats[i]
		has, begins := slices.Contains(f.extensions, ext), f.sniff != nil && f.sniff(data)
		switch {
		case has && (begins || f.sniff == nil):
			return f
		case has && named == nil:
			named = f
		case begins && found == nil:
			found = f
		}
	}
	if found == nil {
		return named
	}
	return found
}

// withoutMark returns a file without the mark with which some programs begin UTF-8.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// xmlRoot returns a test for XML with a root element.
func xmlRoot(element string) func([]byte) bool {
	return func(head []byte) bool {
		if text := bytes.TrimLeft(head, " \t\r\n"); len(text) == 0 || text[0] != '<' {
			return false
		}
		for rest := head; ; {
			i := bytes.IndexByte(rest, '<')
			if i < 0 || i+1 == len(rest) {
				return false
			}
			rest = rest[i+1:]
			if rest[0] == '?' || rest[0] == '!' {
				continue
			}
			end := bytes.IndexAny(rest, " \t\r\n/>")
			if end < 0 {
				return false
			}
			name := rest[:end]
			return string(name[bytes.LastIndexByte(name, ':')+1:]) == element
		}
	}
}
