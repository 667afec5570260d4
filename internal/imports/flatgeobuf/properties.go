package flatgeobuf

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"paddock/internal/imports/feature"
)

// The types of columns.
const (
	columnByte = iota
	columnUByte
	columnBool
	columnShort
	columnUShort
	columnInt
	columnUInt
	columnLong
	columnULong
	columnFloat
	columnDouble
	columnString
	columnJSON
	columnDateTime
	columnBinary
)

// widths are the sizes of values of a type; 0 where the size stands before the value.
var widths = [...]int{1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0, 0, 0, 0}

// properties reads values, each of which has the number of its column before it. Binary values are
// null.
func properties(b []byte, columns []column, p *feature.Properties) error {
	for len(b) > 0 {
		if len(b) < 2 {
			return fmt.Errorf("properties: %d bytes are left", len(b))
		}
		i := int(binary.LittleEndian.Uint16(b))
		if i >= len(columns) {
			return fmt.Errorf("properties: there is no column %d", i)
		}
		c := columns[i]
		if int(c.kind) >= len(widths) {
			return fmt.Errorf("properties: %q: %d is no type of columns", c.name, c.kind)
		}
		b = b[2:]
		size := widths[c.kind]
		if size == 0 {
			if len(b) < 4 {
				return fmt.Errorf("properties: %q: the bytes end within it", c.name)
			}
			if n := binary.LittleEndian.Uint32(b); uint64(n) <= uint64(len(b)-4) {
				size, b = int(n), b[4:]
			} else {
				size = len(b) + 1
			}
		}
		if size > len(b) {
			return fmt.Errorf("properties: %q: the bytes end within it", c.name)
		}
		p.Set(c.name, value(c.kind, b[:size]))
		b = b[size:]
	}
	return nil
}

// value returns a value as JSON.
func value(kind byte, b []byte) json.RawMessage {
	le := binary.LittleEndian
	signed := func(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }
	unsigned := func(n uint64) json.RawMessage { return strconv.AppendUint(nil, n, 10) }
	switch kind {
	case columnByte:
		return signed(int64(int8(b[0])))
	case columnUByte:
		return unsigned(uint64(b[0]))
	case columnBool:
		return strconv.AppendBool(nil, b[0] != 0)
	case columnShort:
		return signed(int64(int16(le.Uint16(b))))
	case columnUShort:
		return unsigned(uint64(le.Uint16(b)))
	case columnInt:
		return signed(int64(int32(le.Uint32(b))))
	case columnUInt:
		return unsigned(uint64(le.Uint32(b)))
	case columnLong:
		return signed(int64(le.Uint64(b)))
	case columnULong:
		return unsigned(le.Uint64(b))
	case columnFloat:
		f := math.Float32frombits(le.Uint32(b))
		if math.IsInf(float64(f), 0) || f != f {
			return json.RawMessage("null")
		}
		return strconv.AppendFloat(nil, float64(f), 'g', -1, 32)
	case columnDouble:
		return feature.JSONNumber(math.Float64frombits(le.Uint64(b)))
	case columnJSON:
		return feature.Compact(b)
	case columnString, columnDateTime:
		return feature.Text(string(b))
	}
	return json.RawMessage("null")
}
