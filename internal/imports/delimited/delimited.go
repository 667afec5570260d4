// Package delimited reads tables of comma-separated values (RFC 4180) whose rows are fences: with a
// column of Well-Known Text, or with columns of longitude, latitude and radius.
package delimited

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/wkt"
)

// The names of columns that are understood, in lower case.
var (
	wktNames = []string{"wkt", "geometry", "geom", "the_geom", "wkt_geom", "geog"}
	lonNames = []string{"lon", "lng", "long", "longitude", "x"}
	latNames = []string{"lat", "latitude", "y"}
	idNames  = []string{"id"}
)

// Read reads a table with a line of names. Columns are separated by comma, semicolon or tab,
// whichever is the most frequent in the first line. The column id is the id of a feature, and
// columns that do not tell its place are properties; numbers without leading zeros are such. Texts
// are UTF-8, or else ISO 8859-1. A point has its radius in metres in a column radius.
func Read(in *feature.Input, out feature.Sink) error {
	r := csv.NewReader(bytes.NewReader(in.Data))
	r.Comma = separator(in.Data)
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return in.Errorf("%w", err)
	}
	t := &table{}
	for _, name := range head {
		t.names = append(t.names, feature.Guessed.Decode([]byte(strings.TrimSpace(name))))
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return in.Errorf("%w", err)
		}
		if t.wkt == nil {
			if err := t.find(row); err != nil {
				return in.Errorf("%w", err)
			}
		}
		line, _ := r.FieldPos(0)
		f := &feature.Feature{Place: feature.Place{Unit: "line", Number: line}}
		if err := t.take(row, f); err != nil {
			out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", err))
			continue
		}
		if err := out.Take(f); err != nil {
			return err
		}
	}
}

// separator returns the most frequent separator of the first line.
func separator(data []byte) rune {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	best, most := ',', 0
	for _, c := range ",;\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// table is one read of a table.
type table struct {
	names        []string
	wkt          *int // the column of the geometry; -1 if there is none; nil before the first row
	lon, lat, id int  // columns; -1 if there is none
}

// find finds the columns that tell the place, by their names or else by the first row.
func (t *table) find(row []string) error {
	column := func(names []string) int {
		for _, name := range names {
			if i := slices.IndexFunc(t.names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
				return i
			}
		}
		return -1
	}
	t.lon, t.lat, t.id = column(lonNames), column(latNames), column(idNames)
	at := slices.IndexFunc(row, wkt.Is)
	if at < 0 {
		at = column(wktNames)
	}
	if at >= len(t.names) || at < 0 && (t.lon < 0 || t.lat < 0) {
		return fmt.Errorf("no column has WKT, and there are no columns lon and lat: the columns are %s", shown(t.names))
	}
	t.wkt = &at
	return nil
}

// maxShown bounds the bytes of an error's list of columns.
const maxShown = 200

func shown(names []string) string {
	text := strings.Join(names, ", ")
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}

// binary is a geometry in Well-Known Binary, as PostGIS prints it.
var binary = regexp.MustCompile(`^0[01][0-9A-Fa-f]{16,}$`)

// take makes a feature of a row.
func (t *table) take(row []string, f *feature.Feature) (err error) {
	if len(row) != len(t.names) {
		return fmt.Errorf("%d columns, the first line has %d", len(row), len(t.names))
	}
	for i, text := range row {
		switch {
		case i == t.id:
			if text != "" {
				f.ID = value(text)
			}
		case i == *t.wkt, *t.wkt < 0 && (i == t.lon || i == t.lat):
		default:
			f.Properties.Set(t.names[i], value(text))
		}
	}
	if *t.wkt >= 0 {
		text := row[*t.wkt]
		if strings.TrimSpace(text) == "" {
			return nil // without a geometry
		}
		if binary.MatchString(text) {
			return errors.New("the geometry is in Well-Known Binary: write it as text, as with ST_AsText")
		}
		f.Geometry, err = wkt.Parse(text, wkt.LonLat)
		return err
	}
	var p geometry.Point
	if p.Lon, err = feature.Number(strings.TrimSpace(row[t.lon])); err != nil {
		return fmt.Errorf("%s: %w", t.names[t.lon], err)
	}
	if p.Lat, err = feature.Number(strings.TrimSpace(row[t.lat])); err != nil {
		return fmt.Errorf("%s: %w", t.names[t.lat], err)
	}
	f.Geometry.Points = []geometry.Point{p}
	return nil
}

// plain is a number that is the same number when it is written again.
var plain = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)

// value returns a cell as JSON.
func value(text string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage("null")
	case plain.MatchString(text):
		return json.RawMessage(text)
	}
	return feature.Text(feature.Guessed.Decode([]byte(text)))
}
