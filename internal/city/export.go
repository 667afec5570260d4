package city

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"

	"paddock/fence"
)

// WriteGeoJSON writes each set to a file of its name in dir, as a
// FeatureCollection. The directory must exist; files in the way are replaced.
func (c *City) WriteGeoJSON(dir string) error {
	for _, set := range c.sets {
		if err := writeSet(filepath.Join(dir, set.Name+".geojson"), set.Fences); err != nil {
			return err
		}
	}
	return nil
}

func writeSet(name string, fences []fence.Fence) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return fence.WriteGeoJSON(f, pointers(fences))
}

func pointers(fences []fence.Fence) func(func(*fence.Fence) bool) {
	return func(yield func(*fence.Fence) bool) {
		for i := range fences {
			if !yield(&fences[i]) {
				return
			}
		}
	}
}

// WriteStreets writes the streets as a GeoJSON FeatureCollection with one
// MultiLineString for each class: "arterial", "street", "lane".
func (c *City) WriteStreets(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(`{"type":"FeatureCollection","features":[`)
	for i, name := range streetClasses[arterial:] {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + `{"type":"Feature","properties":{"class":"` + name + `"},"geometry":{"type":"MultiLineString","coordinates":[`)
		first := true
		for class, line := range c.Streets() {
			if class == name {
				writeLine(out, line, first)
				first = false
			}
		}
		out.WriteString("]}}")
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

func writeLine(out *bufio.Writer, line []fence.Point, first bool) {
	pairs := make([][2]float64, len(line))
	for i, p := range line {
		pairs[i] = [2]float64{p.Lon, p.Lat}
	}
	text, _ := json.Marshal(pairs) // finite numbers always marshal
	if !first {
		out.WriteByte(',')
	}
	out.Write(text)
}

var streetClasses = [...]string{shore: "", arterial: "arterial", street: "street", lane: "lane"}

// Streets are the lines of all streets, each from one junction to another, in
// the same places as the vehicles' fixes but for GPS noise.
func (c *City) Streets() iter.Seq2[string, []fence.Point] {
	return func(yield func(string, []fence.Point) bool) {
		for _, l := range c.streets.links {
			line := make([]fence.Point, 0, l.end-l.start)
			for _, p := range c.streets.pos[l.start:l.end] {
				line = append(line, locate(p))
			}
			if !yield(streetClasses[l.class], line) {
				return
			}
		}
	}
}
