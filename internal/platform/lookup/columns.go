package lookup

import (
	"encoding/binary"
	"math"
	"slices"

	"paddock/fence/geometry"
)

const (
	// PointBytes is the size of a point in columns: lon and lat as float64.
	PointBytes = 16
	// columnsHead is the size of the generation and the number of points in an answer.
	columnsHead = 8 + 4
)

// Columns answers points of 16 bytes each, lon and lat as float64, in columns: the generation of
// the set as u64, the number n of points as u32, n+1 offsets as u32, and refs as u32. The fences
// that hold point i are the refs from offset i to offset i+1. All values are little-endian.
//
// hot: BenchmarkColumns, TestColumnsDoNotAllocate.
func (l *Lookup) Columns(points []byte) error {
	n := len(points) / PointBytes
	if err := l.checkColumns(points); err != nil {
		return err
	}
	if err := l.grow(columnsHead + 4*(n+1)); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(l.Answer, l.sets[0].snap.Generation())
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	l.Answer = b[:columnsHead+4*(n+1)]
	clear(l.Answer[columnsHead:][:4])

	size := l.chunkSize()
	for at := 0; at < n; at += size {
		if err := l.pending.read(points[PointBytes*at:PointBytes*min(at+size, n)], at); err != nil {
			return err
		}
		if err := l.settleColumns(at); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lookup) checkColumns(points []byte) error {
	switch n := len(points) / PointBytes; {
	case len(points)%PointBytes != 0:
		return fail(Invalid, "points: cut off: each has %d bytes", PointBytes)
	case n > MaxPoints:
		return tooManyPoints()
	}
	return l.needSet("an answer in columns")
}

// settleColumns appends the refs of the pending points, the first of which is point number at, and
// sets their offsets.
func (l *Lookup) settleColumns(at int) error {
	defer l.pending.reset()
	if err := l.find(); err != nil {
		return err
	}
	found := &l.sets[0].found
	offsets := l.Answer[columnsHead+4*at:][:4*found.Len()+4]
	before := binary.LittleEndian.Uint32(offsets)
	for i, end := range found.Offsets[1:] {
		binary.LittleEndian.PutUint32(offsets[4*i+4:], before+end)
	}
	if err := l.grow(refBytes * len(found.Refs)); err != nil {
		return err
	}
	for _, ref := range found.Refs {
		l.Answer = binary.LittleEndian.AppendUint32(l.Answer, uint32(ref))
	}
	return nil
}

// grow makes room for n more bytes. It asks for the memory first, twice as much while the answer is
// copied.
func (l *Lookup) grow(n int) error {
	need := len(l.Answer) + n
	if need > l.limit() {
		return l.tooLarge()
	}
	if need <= cap(l.Answer) {
		return nil
	}
	to := min(max(need, 2*len(l.Answer)), l.limit())
	if err := l.hold(int64(len(l.Answer) + to)); err != nil {
		return err
	}
	l.Answer = append(make([]byte, 0, to), l.Answer...)
	return nil
}

// read adds points in columns, the first of which is point number at.
func (p *pending) read(points []byte, at int) error {
	n := len(points) / PointBytes
	p.lon, p.lat = slices.Grow(p.lon, n)[:n], slices.Grow(p.lat, n)[:n]
	for i := range n {
		lon, lat := pointAt(points[PointBytes*i:])
		if !(lon >= -180 && lon <= 180 && lat >= -90 && lat <= 90) {
			return fail(Invalid, "points[%d]: %v", at+i, Check(geometry.Point{Lon: lon, Lat: lat}))
		}
		p.lon[i], p.lat[i] = lon, lat
	}
	return nil
}

func pointAt(b []byte) (lon, lat float64) {
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
}
