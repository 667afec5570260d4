package livemap

import (
	"encoding/binary"
	"math"
	"time"

	"paddock/fence/track"
)

// The frames: a header of 16 bytes, then records of 16 bytes, all little-endian.
// docs/reference/live.md has the layout.
const (
	kindDots  = 1
	kindCells = 2

	flagThinned  = 1
	noHeading    = math.MaxUint16
	noSpeed      = math.MaxUint8
	centidegrees = 100
)

// appendDots appends a frame with each object. thinned tells that there are more.
func appendDots(b []byte, at time.Time, dots []track.Dot, thinned bool) []byte {
	flags := byte(0)
	if thinned {
		flags = flagThinned
	}
	b = appendHeader(b, kindDots, flags, len(dots), at)
	for i := range dots {
		b = appendDot(b, &dots[i])
	}
	return b
}

// appendCells appends a frame with the numbers of objects by cell, and after them single objects.
func appendCells(b []byte, at time.Time, cells []Cell, single []track.Dot) []byte {
	b = appendHeader(b, kindCells, 0, len(cells), at)
	le := binary.LittleEndian
	for i := range cells {
		c := &cells[i]
		b = appendPlace(b, c.Lon, c.Lat)
		b = le.AppendUint32(b, c.Objects)
		b = le.AppendUint32(b, c.Silent)
	}
	for i := range single {
		b = appendDot(b, &single[i])
	}
	return b
}

func appendHeader(b []byte, kind, flags byte, count int, at time.Time) []byte {
	le := binary.LittleEndian
	b = append(b, kind, flags, 0, 0)
	b = le.AppendUint32(b, uint32(count))
	return le.AppendUint64(b, math.Float64bits(float64(at.UnixMilli())))
}

func appendDot(b []byte, d *track.Dot) []byte {
	heading, speed := uint16(noHeading), byte(noSpeed)
	if d.Heading.Known {
		heading = uint16(math.Round(float64(d.Heading.Value)*centidegrees)) % (360 * centidegrees)
	}
	if d.Speed.Known {
		speed = byte(min(d.Speed.Value, noSpeed-1))
	}
	le := binary.LittleEndian
	b = le.AppendUint32(b, d.Handle)
	b = appendPlace(b, d.Point.Lon, d.Point.Lat)
	b = le.AppendUint16(b, heading)
	return append(b, byte(d.State), speed)
}

// appendPlace appends a place in 1e-7 degree.
func appendPlace(b []byte, lon, lat float64) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(int32(math.Round(lon*1e7))))
	return le.AppendUint32(b, uint32(int32(math.Round(lat*1e7))))
}
