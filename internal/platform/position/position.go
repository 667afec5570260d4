// Package position implements the fixed layout of one position: the body that a device sends as a
// post of the kind pos.update.
//
//	0   u8   version, 1
//	1   u8   flags: what else is there
//	2   u16  length of the id
//	4   i64  t, Unix milliseconds
//	12  f64  lon, degrees WGS84
//	20  f64  lat
//	28  f32  accuracy, if flagged; then f32 speed, f32 heading, f32 altitude
//	    u16, bytes  fleet, if flagged: its length and itself
//	    bytes  id
//	    bytes  props, if flagged: JSON, up to the end of the body
//
// Integers and floats are little-endian. docs/reference/wire-kinds.md is normative, and
// testdata/positions.txt holds the vectors.
//
// Both ends of a link use this package, so it imports no other package of Paddock. It covers only
// the layout. The rules for values, such as the range of a latitude, are in package ingest, for the
// positions of all doors.
package position

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Version is the first byte of the layout.
const Version = 1

// Limits of the layout, in bytes.
const (
	MaxName  = 256      // of an id and of a fleet
	MaxProps = 16 << 10 // of props as text
	MaxSize  = fixedSize + 4*4 + 2 + 2*MaxName + MaxProps
)

const fixedSize = 28

// Bits of the flags.
const (
	hasAccuracy = 1 << iota
	hasSpeed
	hasHeading
	hasProps
	hasFleet
	hasAltitude
	knownFlags = 1<<iota - 1
)

// Position is one position to send.
type Position struct {
	Fleet    string  // "": the default fleet
	ID       string  // 1 to 256 bytes
	Time     int64   // Unix milliseconds, by the device's clock
	Lon, Lat float64 // degrees WGS84
	Accuracy Measure // metres
	Speed    Measure // metres per second
	Heading  Measure // degrees clockwise from north
	Altitude Measure // metres
	Props    []byte  // JSON object that describes the object; empty: none
}

// Measure is a quantity that a device may not know.
type Measure struct {
	Value float32
	Known bool
}

// Known returns a known quantity.
func Known(v float32) Measure { return Measure{Value: v, Known: true} }

// Error names the wrong field of a body, and the reason.
type Error struct{ Field, Reason string }

func (e *Error) Error() string { return e.Field + ": " + e.Reason }

func wrong(field, format string, args ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// Append appends p in the fixed layout. The error is an *Error about a field that is missing or too
// long; dst is unchanged then.
func Append(dst []byte, p *Position) ([]byte, error) {
	if err := p.fits(); err != nil {
		return dst, err
	}
	dst = append(dst, Version, p.flags())
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(p.ID)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Time))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p.Lon))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(p.Lat))
	for _, m := range [...]Measure{p.Accuracy, p.Speed, p.Heading, p.Altitude} {
		if m.Known {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(m.Value))
		}
	}
	if p.Fleet != "" {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(p.Fleet)))
		dst = append(dst, p.Fleet...)
	}
	dst = append(dst, p.ID...)
	return append(dst, p.Props...), nil
}

// fits checks the lengths.
func (p *Position) fits() error {
	if err := checkName("id", len(p.ID)); err != nil {
		return err
	}
	if p.Fleet != "" {
		if err := checkName("fleet", len(p.Fleet)); err != nil {
			return err
		}
	}
	return checkProps(len(p.Props))
}

func (p *Position) flags() (f byte) {
	for _, o := range [...]struct {
		there bool
		flag  byte
	}{
		{p.Accuracy.Known, hasAccuracy},
		{p.Speed.Known, hasSpeed},
		{p.Heading.Known, hasHeading},
		{len(p.Props) > 0, hasProps},
		{p.Fleet != "", hasFleet},
		{p.Altitude.Known, hasAltitude},
	} {
		if o.there {
			f |= o.flag
		}
	}
	return f
}

func checkName(field string, n int) error {
	switch {
	case n == 0:
		return wrong(field, "empty")
	case n > MaxName:
		return wrong(field, "%d bytes, the limit is %d", n, MaxName)
	}
	return nil
}

func checkProps(n int) error {
	if n > MaxProps {
		return wrong("props", "%d bytes, the limit is %d", n, MaxProps)
	}
	return nil
}

// Parse decodes a body in the fixed layout. Only Props is borrowed from b. The error is an *Error.
//
// Each position has one encoding: appending a parsed position gives the same bytes again.
func Parse(b []byte) (p Position, err error) {
	if len(b) < fixedSize {
		return p, wrong("body", "%d bytes, the fixed part has %d", len(b), fixedSize)
	}
	if b[0] != Version {
		return p, wrong("version", "%d, not %d", b[0], Version)
	}
	flags := b[1]
	if unknown := flags &^ knownFlags; unknown != 0 {
		return p, wrong("flags", "reserved bits %#02x", unknown)
	}
	idLen := int(binary.LittleEndian.Uint16(b[2:]))
	p.Time = int64(binary.LittleEndian.Uint64(b[4:]))
	p.Lon = math.Float64frombits(binary.LittleEndian.Uint64(b[12:]))
	p.Lat = math.Float64frombits(binary.LittleEndian.Uint64(b[20:]))
	r := reader{rest: b[fixedSize:]}
	for _, o := range [...]struct {
		flag  byte
		field string
		to    *Measure
	}{
		{hasAccuracy, "accuracy", &p.Accuracy},
		{hasSpeed, "speed", &p.Speed},
		{hasHeading, "heading", &p.Heading},
		{hasAltitude, "altitude", &p.Altitude},
	} {
		if flags&o.flag != 0 {
			*o.to = r.measure(o.field)
		}
	}
	if flags&hasFleet != 0 {
		p.Fleet = r.name("fleet", r.length("fleet"))
	}
	p.ID = r.name("id", idLen)
	if flags&hasProps != 0 {
		p.Props = r.props()
	}
	r.end()
	if r.err != nil {
		return Position{}, r.err
	}
	return p, nil
}

// reader reads field after field. After the first error, which it keeps, it returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err, r.rest = err, nil
	}
}

// take returns the next n bytes, or nil if they are missing.
func (r *reader) take(field string, n int) []byte {
	if len(r.rest) < n {
		r.fail(wrong(field, "cut off"))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) measure(field string) Measure {
	b := r.take(field, 4)
	if b == nil {
		return Measure{}
	}
	return Known(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

func (r *reader) length(field string) int {
	b := r.take(field, 2)
	if b == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b))
}

func (r *reader) name(field string, n int) string {
	r.fail(checkName(field, n))
	return string(r.take(field, n))
}

func (r *reader) props() []byte {
	n := len(r.rest)
	if n == 0 {
		r.fail(wrong("props", "empty"))
	}
	r.fail(checkProps(n))
	return r.take("props", len(r.rest))
}

func (r *reader) end() {
	if n := len(r.rest); n > 0 {
		r.fail(wrong("body", "%d bytes follow the id", n))
	}
}
