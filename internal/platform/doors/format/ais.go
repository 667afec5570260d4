package format

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/platform/position"
)

// AIS reads the sentences VDM and VDO of a receiver of ships: position reports of the types 1, 2,
// 3, 18, 19 and 27, in up to nine sentences. A report has the second of its minute alone, so its
// time is the last such second before the arrival, or before the c of a tag block, which one of its
// sentences has. A report without a second has the time of the tag block. The fields are those of
// https://gpsd.gitlab.io/gpsd/AIVDM.html.
//
// The id of an object is the ship's MMSI, nine digits. The zero value is ready for use.
type AIS struct {
	parts map[string]*parts // by number, channel and count: messages of which sentences are missing
	order []string          // of parts, the oldest first
}

// parts are the sentences of a message so far.
type parts struct {
	payload []byte
	got     int
	begun   int64 // arrival of the first one
	tagged  int64 // the time of a tag block, 0: none yet
}

const (
	maxParts   = 16     // messages that wait for their rest
	partsKept  = 10_000 // milliseconds for which one waits, as later ones have its number again
	maxPayload = 128    // characters of a sentence
)

// Line reads one line, which arrived at a time in Unix milliseconds.
func (a *AIS) Line(line []byte, arrived int64) (r Result) {
	line = bytes.TrimSpace(line)
	tagged := int64(0)
	if len(line) > 0 && line[0] == '\\' { // a tag block
		tags, rest, _ := bytes.Cut(line[1:], []byte{'\\'})
		line = rest
		tagged = tagTime(string(tags))
	}
	if len(line) == 0 || line[0] != '!' {
		r.Ignored++
		return r
	}
	f, err := checked(line)
	switch {
	case err != nil:
		r.reject("", "%v", err)
		return r
	case len(f[0]) != 5 || f[0][2:] != "VDM" && f[0][2:] != "VDO":
		r.Ignored++
		return r
	case len(f) != 7 || len(f[5]) > maxPayload:
		r.reject("", "body: no sentence of AIS with 7 fields")
		return r
	}
	payload, tagged, err := a.assemble(f, tagged, arrived)
	if err != nil {
		r.reject("", "%v", err)
		return r
	}
	if payload == nil {
		r.Ignored++ // the rest is missing
		return r
	}
	fill, err := strconv.Atoi(f[6])
	if err != nil || fill < 0 || fill > 5 {
		r.reject("", "body: %.8q fill bits", f[6])
		return r
	}
	bits, err := unarmour(payload, fill)
	if err != nil {
		r.reject("", "%v", err)
		return r
	}
	r.report(bits, tagged, arrived)
	return r
}

// tagTime returns the time of a tag block in milliseconds, 0 if it has none.
func tagTime(tags string) int64 {
	tags, _, _ = strings.Cut(tags, "*")
	for tag := range strings.SplitSeq(tags, ",") {
		if text, ok := strings.CutPrefix(tag, "c:"); ok {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				at, _ := epoch(v)
				return at
			}
		}
	}
	return 0
}

// assemble returns the payload of a message, and the time of its tag block or 0, once all of its
// sentences are there, in their order. Until then it returns nil.
func (a *AIS) assemble(f []string, tagged, arrived int64) ([]byte, int64, error) {
	count, err := strconv.Atoi(f[1])
	number, err2 := strconv.Atoi(f[2])
	if cmp.Or(err, err2) != nil || count < 1 || count > 9 || number < 1 || number > count {
		return nil, 0, fmt.Errorf("body: sentence %.8q of %.8q", f[2], f[1])
	}
	if count == 1 {
		return []byte(f[5]), tagged, nil
	}
	key := f[3] + "," + f[4] + "," + f[1]
	p := a.parts[key]
	if number == 1 {
		a.forget(key)
		if len(a.order) == maxParts {
			a.forget(a.order[0])
		}
		if a.parts == nil {
			a.parts = map[string]*parts{}
		}
		p = &parts{begun: arrived}
		a.parts[key], a.order = p, append(a.order, key)
	}
	if p == nil || p.got != number-1 || arrived-p.begun > partsKept {
		a.forget(key)
		return nil, 0, nil
	}
	p.payload, p.got, p.tagged = append(p.payload, f[5]...), number, cmp.Or(p.tagged, tagged)
	if number < count {
		return nil, 0, nil
	}
	a.forget(key)
	return p.payload, p.tagged, nil
}

func (a *AIS) forget(key string) {
	if a.parts[key] == nil {
		return
	}
	delete(a.parts, key)
	for i, k := range a.order {
		if k == key {
			a.order = append(a.order[:i], a.order[i+1:]...)
			return
		}
	}
}

// sixBits is a message: six bits in each byte.
type sixBits struct {
	b []byte
	n int // bits
}

func unarmour(payload []byte, fill int) (s sixBits, err error) {
	s.b = make([]byte, len(payload))
	for i, c := range payload {
		if c < 48 || c > 119 || c > 87 && c < 96 {
			return s, fmt.Errorf("body: %q is no character of a payload", c)
		}
		if c -= 48; c > 40 {
			c -= 8
		}
		s.b[i] = c
	}
	s.n = max(0, 6*len(payload)-fill)
	return s, nil
}

// unsigned returns the bits from one on, as a number.
func (s sixBits) unsigned(from, length int) (v uint32) {
	for i := from; i < from+length; i++ {
		v = v<<1 | uint32(s.b[i/6]>>(5-i%6)&1)
	}
	return v
}

func (s sixBits) signed(from, length int) int32 {
	return int32(s.unsigned(from, length)<<(32-length)) >> (32 - length)
}

// text returns characters of six bits, without the padding.
func (s sixBits) text(from, length int) string {
	var b []byte
	for i := from; i < from+length; i += 6 {
		c := byte(s.unsigned(i, 6))
		if c == 0 {
			break
		}
		if c < 32 {
			c += 64
		}
		b = append(b, c)
	}
	return strings.TrimRight(string(b), " ")
}

// layout holds the first bits of the fields of a report.
type layout struct {
	least, speed, lon, lat, course, heading, second int
}

var (
	classA = layout{168, 50, 61, 89, 116, 128, 137}
	classB = layout{168, 46, 57, 85, 112, 124, 133}
)

// nameAt is the first bit of a ship's name in a report of type 19, and nameBits its length.
const nameAt, nameBits = 143, 120

// report takes the position of a message that has the time of a tag block, or 0.
func (r *Result) report(s sixBits, tagged, arrived int64) {
	if s.n < 38 {
		r.reject("", "body: %d bits are no message", s.n)
		return
	}
	kind, id := s.unsigned(0, 6), fmt.Sprintf("%09d", s.unsigned(8, 30))
	l := classA
	switch kind {
	case 1, 2, 3:
	case 18:
		l = classB
	case 19:
		l = classB
		l.least = 312
	case 27:
		r.distant(s, id, tagged)
		return
	default:
		r.Ignored++
		return
	}
	if s.n < l.least {
		r.reject(id, "body: %d bits, a report of type %d has %d", s.n, kind, l.least)
		return
	}
	p := position.Position{ID: id, Time: cmp.Or(lastSecond(s.unsigned(l.second, 6), cmp.Or(tagged, arrived)), tagged)}
	if v := s.unsigned(l.speed, 10); v < 1023 {
		p.Speed = position.Known(float32(float64(v) / 10 * knot))
	}
	if v := s.unsigned(l.course, 12); v < 3600 {
		p.Heading = position.Known(float32(float64(v) / 10))
	} else if v := s.unsigned(l.heading, 9); v < 360 {
		p.Heading = position.Known(float32(v))
	}
	if kind == 19 {
		p.Props = props(map[string]any{"name": s.text(nameAt, nameBits)})
	}
	r.degrees(&p, s.signed(l.lon, 28), s.signed(l.lat, 27), 600_000)
}

// distant reads a report of type 27, which satellites hear. It has no second.
func (r *Result) distant(s sixBits, id string, tagged int64) {
	if s.n < 96 {
		r.reject(id, "body: %d bits, a report of type 27 has 96", s.n)
		return
	}
	p := position.Position{ID: id, Time: tagged}
	if v := s.unsigned(79, 6); v < 63 {
		p.Speed = position.Known(float32(float64(v) * knot))
	}
	if v := s.unsigned(85, 9); v < 360 {
		p.Heading = position.Known(float32(v))
	}
	r.degrees(&p, s.signed(44, 18), s.signed(62, 17), 600)
}

// degrees takes a position in parts of a degree. 181 and 91 degrees mean that there is none.
func (r *Result) degrees(p *position.Position, lon, lat, parts int32) {
	if lon == 181*parts || lat == 91*parts {
		r.Ignored++
		return
	}
	p.Lon, p.Lat = float64(lon)/float64(parts), float64(lat)/float64(parts)
	r.Positions = append(r.Positions, *p)
}

// lastSecond returns the last moment not after another one with a second of the minute. Clocks may
// be apart by some seconds. 60 and more mean that the second is unknown: 0, the time of arrival.
func lastSecond(second uint32, arrived int64) int64 {
	const ahead = 5000
	if second >= 60 {
		return 0
	}
	at := arrived - arrived%60_000 + int64(second)*1000
	switch {
	case at > arrived+ahead:
		at -= 60_000
	case at+60_000 <= arrived+ahead:
		at += 60_000
	}
	return at
}
