package history

import (
	"encoding/binary"
	"math"

	"paddock/fence/track"
)

// A block holds the fixes of one object in columns:
//
//	version   1 byte
//	n         number of fixes
//	t         the first time, the first step to the next, then the change of each step
//	arrival   after t, each as the change from the one before
//	lon, lat  of 1e-7 degrees, as changes or as changes of changes, whichever is shorter
//	off       those fixes whose coordinates are not on that grid: distance, both as float64
//	speed, heading, accuracy
//	props     a dictionary, then runs of references to it
//
// Numbers are varints. A fix that comes once a second takes 1 byte for t, mostly 1 for the arrival,
// and 1 or 2 for each coordinate.
const blockVersion = 1

// grid is the number of steps in a degree.
const grid = 1e7

// appendBlock appends the block of fixes that are ordered by time, at least one.
func appendBlock(b []byte, fixes []Fix) []byte {
	b = append(b, blockVersion)
	b = binary.AppendUvarint(b, uint64(len(fixes)))
	column := make([]int64, len(fixes))
	fill := func(value func(f *Fix) int64) []int64 {
		for i := range fixes {
			column[i] = value(&fixes[i])
		}
		return column
	}
	b = appendChanges(b, fill(func(f *Fix) int64 { return int64(f.Time) }), 2)
	b = appendChanges(b, fill(func(f *Fix) int64 { return int64(f.Arrived - f.Time) }), 1)
	b = appendShorter(b, fill(func(f *Fix) int64 { return onGrid(f.Lon) }))
	b = appendShorter(b, fill(func(f *Fix) int64 { return onGrid(f.Lat) }))
	b = appendOffGrid(b, fixes)
	for _, m := range measures {
		b = appendMeasure(b, fixes, m)
	}
	return appendProps(b, fixes)
}

// onGrid returns the nearest step of the grid.
func onGrid(degrees float64) int64 {
	if !(math.Abs(degrees) <= 1000) {
		return 0 // not a coordinate
	}
	return int64(math.Round(degrees * grid))
}

// isOnGrid reports whether a coordinate is exactly a step of the grid.
func isOnGrid(degrees float64) bool {
	return math.Float64bits(float64(onGrid(degrees))/grid) == math.Float64bits(degrees)
}

// appendChanges appends a column as changes (order 1), or as changes of changes (order 2).
// Arithmetic wraps, here and in the decoder.
func appendChanges(b []byte, column []int64, order int) []byte {
	var last, step int64
	for i, v := range column {
		change := v - last
		last = v
		if order == 2 && i > 0 {
			change, step = change-step, change
		}
		b = binary.AppendVarint(b, change)
	}
	return b
}

// appendShorter appends the order that takes fewer bytes, and then the column in it.
func appendShorter(b []byte, column []int64) []byte {
	begin := len(b)
	b = appendChanges(append(b, 1), column, 1)
	end := len(b)
	b = appendChanges(append(b, 2), column, 2)
	if len(b)-end < end-begin {
		return b[:begin+copy(b[begin:], b[end:])]
	}
	return b[:end]
}

func appendOffGrid(b []byte, fixes []Fix) []byte {
	var off []int
	for i := range fixes {
		if !isOnGrid(fixes[i].Lon) || !isOnGrid(fixes[i].Lat) {
			off = append(off, i)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(off)))
	last := 0
	for _, i := range off {
		b = binary.AppendUvarint(b, uint64(i-last))
		last = i
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(fixes[i].Lon))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(fixes[i].Lat))
	}
	return b
}

// measures are the columns of quantities that a device may not report.
var measures = []func(f *Fix) *track.Measure{
	func(f *Fix) *track.Measure { return &f.Speed },
	func(f *Fix) *track.Measure { return &f.Heading },
	func(f *Fix) *track.Measure { return &f.Accuracy },
}

// The presence of a quantity in the fixes of a block.
const (
	inNone = iota
	inAll
	inSome // bits follow
)

// scales are the grids of quantities: the first one that holds all values of a block is used, and
// their steps are stored as changes. After the last one values are stored as float32.
var scales = []float64{1, 10, 100, 1000}

func appendMeasure(b []byte, fixes []Fix, of func(*Fix) *track.Measure) []byte {
	bits := make([]byte, (len(fixes)+7)/8)
	var values []float32
	for i := range fixes {
		if m := of(&fixes[i]); m.Known {
			bits[i/8] |= 1 << (i % 8)
			values = append(values, m.Value)
		}
	}
	switch len(values) {
	case 0:
		return append(b, inNone)
	case len(fixes):
		b = append(b, inAll)
	default:
		b = append(append(b, inSome), bits...)
	}
	steps := make([]int64, len(values))
	for n, scale := range scales {
		if stepsOf(steps, values, scale) {
			return appendChanges(append(b, byte(n)), steps, 1)
		}
	}
	b = append(b, byte(len(scales)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// stepsOf writes values as steps of a grid, and reports whether it holds all of them.
func stepsOf(steps []int64, values []float32, scale float64) bool {
	for i, v := range values {
		if !(math.Abs(float64(v)) < 1e9) {
			return false
		}
		steps[i] = int64(math.Round(float64(v) * scale))
		if math.Float32bits(float32(float64(steps[i])/scale)) != math.Float32bits(v) {
			return false
		}
	}
	return true
}

// appendProps appends the distinct texts, and then for runs of fixes the reference, from 1 on, or 0
// for none, and the length.
func appendProps(b []byte, fixes []Fix) []byte {
	numbers := map[string]uint64{"": 0}
	var texts []byte
	for i := range fixes {
		if s := fixes[i].Props; s != "" && numbers[s] == 0 {
			numbers[s] = uint64(len(numbers))
			texts = append(binary.AppendUvarint(texts, uint64(len(s))), s...)
		}
	}
	b = append(binary.AppendUvarint(b, uint64(len(numbers)-1)), texts...)
	for i := 0; i < len(fixes); {
		end := i + 1
		for end < len(fixes) && fixes[end].Props == fixes[i].Props {
			end++
		}
		b = binary.AppendUvarint(b, numbers[fixes[i].Props])
		b = binary.AppendUvarint(b, uint64(end-i))
		i = end
	}
	return b
}
