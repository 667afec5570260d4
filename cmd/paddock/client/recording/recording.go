// Package recording reads recorded positions: GPX, JSON as POST /v1/positions takes it, GeoJSON,
// CSV, and feeds of GTFS-realtime. A file is read as its positions are asked for, so its size does
// not matter. A feed is read whole.
package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/position"
)

// Format is the form of a file.
type Format string

// The formats. Auto is one of the others, by the contents.
const (
	Auto    Format = ""
	GPX     Format = "gpx"
	JSON    Format = "json" // and GeoJSON, and an object on each line
	CSV     Format = "csv"
	GTFSRT  Format = "gtfs-rt"
	Formats        = "gpx, json, csv, gtfs-rt"
)

// Parse returns the format of a name.
func Parse(name string) (Format, error) {
	switch f := Format(name); f {
	case Auto, GPX, JSON, CSV, GTFSRT:
		return f, nil
	}
	return Auto, fmt.Errorf("%.32q is none of %s", name, Formats)
}

// Fix is a position of a file.
type Fix struct {
	position.Position // its time is not 0

	Due   int64 // when it was sent: its time, or for one of a feed that of the feed's newest one
	Place Place // in the file
}

// Place is where something is in a file.
type Place struct {
	File   string
	Unit   string // "line", or "position", or "" for the whole file
	Number int    // lines from 1, positions from 0
}

func (p Place) String() string {
	switch p.Unit {
	case "":
		return p.File
	case "line":
		return fmt.Sprintf("%s:%d", p.File, p.Number)
	}
	return fmt.Sprintf("%s: %s %d", p.File, p.Unit, p.Number)
}

// Rejected is an element of a file that is no position. The others are read.
type Rejected struct {
	Place  Place
	Reason string
}

func (r *Rejected) Error() string { return r.Place.String() + ": " + r.Reason }

// Positions are those of a file in its order. An error is a *Rejected, behind which they go on, or
// the last element.
type Positions = iter.Seq2[Fix, error]

// bufferSize is that of the reader of a file, in bytes: the contents are recognized by so much.
const bufferSize = 64 << 10

// source is one file.
type source struct {
	in   *bufio.Reader
	name string
	id   string // of positions that have none
	dec  ingest.Decoder
}

// Read returns the positions of a file. A position without an id has the given one, or else that of
// its track, or else the name of the file without directory and extension. name is in errors; "-"
// has no such name.
func Read(in io.Reader, name, id string, format Format) Positions {
	s := &source{in: bufio.NewReaderSize(in, bufferSize), name: name, id: id}
	if s.id == "" && name != "-" {
		s.id = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	s.dec = ingest.Decoder{ID: s.id, Fleet: noFleet, MaxAhead: math.MaxInt64} // a recording may be of any time
	if format == Auto {
		format = s.detect()
	}
	switch format {
	case GPX:
		return s.gpx(id)
	case JSON:
		return s.json()
	case CSV:
		return s.csv()
	case GTFSRT:
		return s.feed()
	}
	return s.failed(fmt.Errorf("it is in none of the formats that are known: %s", Formats))
}

// failed returns an error in place of positions.
func (s *source) failed(err error) Positions {
	return func(yield func(Fix, error) bool) { yield(Fix{}, s.fatal(err)) }
}

func (s *source) fatal(err error) error { return fmt.Errorf("%s: %w", s.name, err) }

// detect returns the format of the contents, or Auto for an unknown one.
func (s *source) detect() Format {
	begin, _ := s.in.Peek(bufferSize) // the error is that of the next read
	text := bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0:
		return JSON // nothing at all
	case begin[0] == '\n' && bytes.ContainsAny(begin[:min(len(begin), 64)], "\x00\x01\x02\x03\x08\x10\x18"):
		return GTFSRT // the field 1 of a message, which is its header
	case text[0] == '<':
		return GPX
	case text[0] == '{', text[0] == '[':
		return JSON
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.ContainsAny(line, ",;\t") && !bytes.ContainsRune(line, 0) {
		return CSV
	}
	return Auto
}

// object yields the position of a JSON object, or those of a GeoJSON Feature with a line.
func (s *source) object(raw []byte, at Place, yield func(Fix, error) bool) bool {
	if line, ok := lineOf(raw); ok {
		return s.line(line, at, yield)
	}
	batch, err := s.dec.Decode(raw)
	if err != nil {
		return yield(Fix{}, &Rejected{at, err.Error()})
	}
	for _, r := range batch.Rejected {
		if !yield(Fix{}, &Rejected{at, r.Reason}) {
			return false
		}
	}
	for i := range batch.Positions {
		if !s.yield(positionOf(&batch.Positions[i]), at, yield) {
			return false
		}
	}
	return true
}

// yield yields a position with its time, which it needs.
func (s *source) yield(p position.Position, at Place, yield func(Fix, error) bool) bool {
	if p.Time == 0 {
		return yield(Fix{}, &Rejected{at, "t: missing: a recorded position needs its time"})
	}
	return yield(Fix{p, p.Time, at}, nil)
}

// noFleet stands for the fleet of a position that names none. It is no name of a fleet.
const noFleet = "\x00"

func positionOf(p *track.Position) position.Position {
	fleet := p.Fleet
	if fleet == noFleet {
		fleet = ""
	}
	return position.Position{
		Fleet: fleet, ID: p.ID, Time: int64(p.Time), Lon: p.Lon, Lat: p.Lat,
		Accuracy: position.Measure(p.Accuracy), Speed: position.Measure(p.Speed), Heading: position.Measure(p.Heading),
		Altitude: position.Measure(p.Altitude), Props: p.Props,
	}
}

// errEnded stops a walk through a document whose positions are not asked for any more.
var errEnded = errors.New("ended")

// line yields the positions of a Feature with a LineString and its times, as GET
// /v1/objects/{id}/track answers it: with a Point for one position, and no geometry for none.
func (s *source) line(f *lineFeature, at Place, yield func(Fix, error) bool) bool {
	times := f.Properties.Times
	if times == nil {
		times = f.Properties.CoordTimes
	}
	if len(times) != len(f.places) {
		return yield(Fix{}, &Rejected{at, fmt.Sprintf("properties.times: %d times for %d positions: a line needs one for each", len(times), len(f.places))})
	}
	id := f.ID
	if id == nil || string(id) == "null" {
		id, _ = json.Marshal(s.id) // a text always encodes
	}
	fleet := ""
	if f.Properties.Fleet != "" {
		text, _ := json.Marshal(f.Properties.Fleet)
		fleet = `"fleet":` + string(text) + ","
	}
	for i, c := range f.places {
		if len(c) < 2 {
			if !yield(Fix{}, &Rejected{at, fmt.Sprintf("geometry.coordinates[%d]: not two numbers", i)}) {
				return false
			}
			continue
		}
		raw := fmt.Appendf(nil, `{"id":%s,%s"lon":%s,"lat":%s,"t":%s`, id, fleet, c[0], c[1], times[i])
		if len(c) > 2 && c[2] != "" {
			raw = append(append(raw, `,"altitude":`...), c[2]...)
		}
		raw = append(raw, '}')
		if !s.object(raw, at, yield) {
			return false
		}
	}
	return true
}

// lineFeature is such a Feature.
type lineFeature struct {
	Type     string
	ID       json.RawMessage
	Geometry struct {
		Type        string
		Coordinates json.RawMessage
	}
	Properties struct {
		Fleet             string
		T                 json.RawMessage
		Times, CoordTimes []json.RawMessage
	}

	places [][]json.Number
}

// lineOf returns the Feature of an object with a LineString, or with the times of one.
func lineOf(raw []byte) (*lineFeature, bool) {
	if !bytes.Contains(raw, []byte(`"LineString"`)) && !bytes.Contains(raw, []byte(`"times"`)) {
		return nil, false
	}
	f := &lineFeature{}
	if json.Unmarshal(raw, f) != nil || f.Type != "Feature" {
		return nil, false
	}
	timed := f.Properties.Times != nil && f.Properties.T == nil
	switch g := &f.Geometry; {
	case g.Type == "LineString":
		return f, json.Unmarshal(g.Coordinates, &f.places) == nil
	case g.Type == "Point" && timed:
		f.places = make([][]json.Number, 1)
		return f, json.Unmarshal(g.Coordinates, &f.places[0]) == nil
	}
	return f, f.Geometry.Type == "" && timed
}
