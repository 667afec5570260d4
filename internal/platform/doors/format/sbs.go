package format

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/platform/position"
)

// SBS reads the lines that BaseStation and its likes, such as dump1090, write on TCP port 30003:
// altitudes in feet, speeds in knots. Their times are those of the receiver's clock in its own
// zone, so a position has the time of its arrival. Speed, track and callsign come in lines of their
// own; a position has those of the last half minute. The format is that of
// http://woodair.net/sbs/article/barebones42_socket_data.htm.
//
// The id of an object is the aircraft's 24-bit address, six hexadecimal digits in upper case. The
// zero value is ready for use.
type SBS struct {
	aircraft map[string]aircraft
}

// aircraft is what earlier lines said, and when they arrived.
type aircraft struct {
	speed, track   position.Measure
	callsign       string
	moved, renamed int64 // Unix milliseconds
}

const (
	maxAircraft  = 8192   // remembered at once
	aircraftKept = 30_000 // milliseconds, of speed and track
	callsignKept = 20 * aircraftKept
)

// Line reads one line, which arrived at a time in Unix milliseconds.
func (s *SBS) Line(line []byte, arrived int64) (r Result) {
	f := strings.Split(string(bytes.TrimSpace(line)), ",")
	if f[0] != "MSG" {
		r.Ignored++
		return r
	}
	if len(f) < 16 {
		r.reject("", "body: %d fields, of at least 16", len(f))
		return r
	}
	p := position.Position{ID: strings.ToUpper(strings.TrimSpace(f[4]))}
	if address, err := strconv.ParseUint(p.ID, 16, 24); err != nil || address == 0 {
		r.reject("", "id: %.16q is no 24-bit address", f[4])
		return r
	}
	var v [5]*float64 // altitude, speed, track, lat, lon
	for i, name := range [...]string{"altitude", "speed", "heading", "lat", "lon"} {
		text := strings.TrimSpace(f[11+i])
		if text == "" {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			r.reject(p.ID, "%s: %.32q is not a number", name, text)
			return r
		}
		v[i] = &n
	}
	last := s.note(p.ID, strings.TrimSpace(f[10]), v[1], v[2], arrived)
	if v[3] == nil && v[4] == nil {
		r.Ignored++
		return r
	}
	p.Altitude = height(v[0], foot)
	if arrived-last.moved <= aircraftKept {
		p.Speed, p.Heading = last.speed, last.track
	}
	if arrived-last.renamed <= callsignKept {
		p.Props = props(map[string]any{"callsign": last.callsign})
	}
	if r.place(&p, v[4], v[3]) {
		r.Positions = append(r.Positions, p)
	}
	return r
}

// note remembers what a line says, and returns what is known now.
func (s *SBS) note(id, callsign string, speed, track *float64, arrived int64) aircraft {
	a, old := s.aircraft[id]
	if speed != nil || track != nil {
		a.speed, a.track, a.moved = known(speed, knot), known(track, 1), arrived
	}
	if callsign != "" {
		a.callsign, a.renamed = callsign, arrived
	}
	if !old {
		s.makeRoom(arrived)
	}
	s.aircraft[id] = a
	return a
}

// makeRoom forgets aircraft that have not been heard of, and if there are none, any one.
func (s *SBS) makeRoom(arrived int64) {
	if s.aircraft == nil {
		s.aircraft = map[string]aircraft{}
	}
	if len(s.aircraft) < maxAircraft {
		return
	}
	for id, a := range s.aircraft {
		if arrived-max(a.moved, a.renamed) > callsignKept {
			delete(s.aircraft, id)
		}
	}
	for id := range s.aircraft {
		if len(s.aircraft) <= maxAircraft*3/4 { // the next look is many lines away
			return
		}
		delete(s.aircraft, id)
	}
}

// checked returns the fields of an NMEA sentence, without its first character and its checksum.
func checked(line []byte) ([]string, error) {
	body, sum, found := strings.Cut(string(line[1:]), "*")
	want, err := strconv.ParseUint(sum, 16, 8)
	if !found || err != nil || len(sum) != 2 {
		return nil, fmt.Errorf("checksum: missing")
	}
	var got byte
	for i := range len(body) {
		got ^= body[i]
	}
	if got != byte(want) {
		return nil, fmt.Errorf("checksum: %02X, the sentence has %02X", want, got)
	}
	return strings.Split(body, ","), nil
}
