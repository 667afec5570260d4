// Package samples writes samples of tracks as JSON: the times, longitudes, latitudes, speeds and
// headings of an object, each as an array.
package samples

import (
	"math"
	"strconv"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
)

// fixBytes is the size of a position in JSON, roughly.
const fixBytes = 48

// Size returns roughly the bytes of a page with a number of positions.
func Size(fixes int) int64 { return int64(fixes) * fixBytes }

// Page is an answer that grows by one object after another.
type Page struct {
	from track.Millis
	text []byte
	some bool
}

// Begin returns a page for the positions of a time, of which each object has one at most in each
// interval, 0 for all.
func Begin(from, to, every track.Millis) *Page {
	b := append([]byte(`{"from":"`), events.FormatTime(from.Time())...)
	b = append(append(b, `","to":"`...), events.FormatTime(to.Time())...)
	b = strconv.AppendInt(append(b, `","every_ms":`...), int64(every), 10)
	return &Page{from: from, text: append(b, `,"objects":[`...)}
}

// Add appends an object.
func (p *Page) Add(s history.Series) {
	if p.some {
		p.text = append(p.text, ',')
	}
	p.some = true
	name, _ := events.PlainJSON(struct { // texts always encode
		ID    string `json:"id"`
		Fleet string `json:"fleet"`
	}{s.ID, s.Fleet})
	p.text = append(p.text, name[:len(name)-1]...)
	p.column("t", s.Fixes, func(b []byte, f *history.Fix) []byte { return strconv.AppendInt(b, int64(f.Time-p.from), 10) })
	p.column("lon", s.Fixes, func(b []byte, f *history.Fix) []byte { return appendDegrees(b, f.Lon) })
	p.column("lat", s.Fixes, func(b []byte, f *history.Fix) []byte { return appendDegrees(b, f.Lat) })
	p.measure("speed", s.Fixes, func(f *history.Fix) track.Measure { return f.Speed })
	p.measure("heading", s.Fixes, func(f *history.Fix) track.Measure { return f.Heading })
	p.text = append(p.text, '}')
}

// End returns the page. next is the after of the next one, "" on the last.
func (p *Page) End(next string) []byte {
	p.text = append(p.text, ']')
	if next != "" {
		p.text = append(append(append(p.text, `,"next":"`...), next...), '"')
	}
	return append(p.text, "}\n"...)
}

func (p *Page) column(name string, fixes []history.Fix, value func(b []byte, f *history.Fix) []byte) {
	b := append(append(append(p.text, `,"`...), name...), `":[`...)
	for i := range fixes {
		if i > 0 {
			b = append(b, ',')
		}
		b = value(b, &fixes[i])
	}
	p.text = append(b, ']')
}

// measure writes a column unless no position has the quantity.
func (p *Page) measure(name string, fixes []history.Fix, of func(f *history.Fix) track.Measure) {
	known := false
	for i := range fixes {
		known = known || of(&fixes[i]).Known
	}
	if !known {
		return
	}
	p.column(name, fixes, func(b []byte, f *history.Fix) []byte {
		m := of(f)
		if !m.Known {
			return append(b, "null"...)
		}
		return strconv.AppendFloat(b, math.Round(float64(m.Value)*100)/100, 'f', -1, 64)
	})
}

// appendDegrees appends a coordinate in steps of 1e-7 degrees, which are about a centimetre.
func appendDegrees(b []byte, degrees float64) []byte {
	return events.AppendFloat(b, math.Round(degrees*1e7)/1e7)
}
