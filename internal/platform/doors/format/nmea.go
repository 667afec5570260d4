package format

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/position"
)

// NMEA reads the sentences of a GNSS receiver, NMEA 0183: RMC has a position with its date, GGA the
// altitude, VTG speed and course. A stream without RMC has its positions from GGA, with the day
// that is nearest to their arrival. Speeds are in knots. A sentence without its checksum is
// rejected.
//
// The sentences name no object, so all positions are those of ID.
type NMEA struct {
	ID string

	dated    bool             // there was an RMC
	altitude position.Measure // of the last GGA
	measured time.Duration    // time of day of that GGA
	speed    position.Measure // of the last VTG
	course   position.Measure
}

const day = 24 * time.Hour

// altitudeKept is the largest distance of a GGA to the RMC that takes its altitude.
const altitudeKept = 10 * time.Second

// Line reads one line, which arrived at a time in Unix milliseconds.
func (n *NMEA) Line(line []byte, arrived int64) (r Result) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '$' {
		r.Ignored++
		return r
	}
	f, err := checked(line)
	if err != nil {
		r.reject(n.ID, "%v", err)
		return r
	}
	kind := f[0]
	if len(kind) != 5 {
		r.Ignored++
		return r
	}
	switch kind[2:] {
	case "RMC":
		err = n.rmc(&r, f)
	case "GGA":
		err = n.gga(&r, f, arrived)
	case "VTG":
		err = n.vtg(f)
		r.Ignored++
	default:
		r.Ignored++
	}
	if err != nil {
		r.reject(n.ID, "%v", err)
	}
	return r
}

// sentence reads fields of a sentence, and keeps the first error.
type sentence struct {
	f   []string
	err error
}

func (s *sentence) text(i int) string {
	if i >= len(s.f) {
		return ""
	}
	return s.f[i]
}

func (s *sentence) number(i int, name string) *float64 {
	text := s.text(i)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("%s: %.32q is not a number", name, text)
		}
		return nil
	}
	return &v
}

// degrees reads ddmm.mmmm or dddmm.mmmm and its hemisphere.
func (s *sentence) degrees(i int, name, hemispheres string) *float64 {
	v, side := s.number(i, name), s.text(i+1)
	if v == nil {
		return nil
	}
	whole := math.Trunc(*v / 100)
	deg := whole + (*v-100*whole)/60
	switch {
	case *v < 0 || *v-100*whole >= 60 || len(side) != 1 || !strings.Contains(hemispheres, side):
		if s.err == nil {
			s.err = fmt.Errorf("%s: %.32q,%.8q is no angle", name, s.text(i), side)
		}
		return nil
	case side == hemispheres[1:]:
		deg = -deg
	}
	return &deg
}

// clock reads hhmmss or hhmmss.sss, a time of the day in UTC.
func (s *sentence) clock(i int) time.Duration {
	text := s.text(i)
	for _, layout := range []string{"150405.999999999", "150405"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Sub(at.Truncate(day))
		}
	}
	if s.err == nil {
		s.err = fmt.Errorf("t: %.32q is not hhmmss", text)
	}
	return 0
}

func (n *NMEA) rmc(r *Result, f []string) error {
	s := sentence{f: f}
	if s.text(2) != "A" {
		r.Ignored++ // there is no fix
		return nil
	}
	p := position.Position{ID: n.ID, Speed: known(s.number(7, "speed"), knot), Heading: known(s.number(8, "heading"), 1)}
	lat, lon := s.degrees(3, "lat", "NS"), s.degrees(5, "lon", "EW")
	clock := s.clock(1)
	date, err := time.Parse("020106", s.text(9))
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("t: %.32q is not ddmmyy", s.text(9))
	}
	if s.err != nil {
		return s.err
	}
	n.dated = true
	p.Time = date.Add(clock).UnixMilli()
	if apart := (clock - n.measured).Abs(); min(apart, day-apart) <= altitudeKept {
		p.Altitude = n.altitude
	}
	if r.place(&p, lon, lat) {
		r.Positions = append(r.Positions, p)
	}
	return nil
}

func (n *NMEA) gga(r *Result, f []string, arrived int64) error {
	s := sentence{f: f}
	if quality := s.text(6); quality == "" || quality == "0" {
		r.Ignored++ // there is no fix
		return nil
	}
	lat, lon := s.degrees(2, "lat", "NS"), s.degrees(4, "lon", "EW")
	clock, altitude := s.clock(1), height(s.number(9, "altitude"), 1)
	if s.err != nil {
		return s.err
	}
	n.altitude, n.measured = altitude, clock
	if n.dated {
		r.Ignored++
		return nil
	}
	p := position.Position{ID: n.ID, Altitude: altitude, Speed: n.speed, Heading: n.course, Time: nearest(clock, arrived)}
	if r.place(&p, lon, lat) {
		r.Positions = append(r.Positions, p)
	}
	return nil
}

// nearest returns the moment with a time of day that is nearest to another moment.
func nearest(clock time.Duration, to int64) int64 {
	at := time.UnixMilli(to).UTC()
	t := at.Truncate(day).Add(clock)
	switch apart := t.Sub(at); {
	case apart > day/2:
		t = t.Add(-day)
	case apart < -day/2:
		t = t.Add(day)
	}
	return t.UnixMilli()
}

func (n *NMEA) vtg(f []string) error {
	s := sentence{f: f}
	course, speed := known(s.number(1, "heading"), 1), known(s.number(5, "speed"), knot)
	if s.err != nil {
		return s.err
	}
	n.course, n.speed = course, speed
	return nil
}
