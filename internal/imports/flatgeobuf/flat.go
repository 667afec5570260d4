package flatgeobuf

import (
	"encoding/binary"
	"errors"
)

// errCut is the error of an offset or a length that leads out of a buffer.
var errCut = errors.New("an offset leads out of the buffer")

// table is a table of a FlatBuffer (flatbuffers.dev, FlatBuffer Internals). Every offset is checked
// where it is followed.
type table struct {
	buf    []byte
	at     int
	fields []byte // the offsets of the fields, 2 bytes each
}

// rootOf returns the table that a buffer begins with.
func rootOf(buf []byte) (table, error) {
	if len(buf) < 4 {
		return table{}, errCut
	}
	return tableAt(buf, uint64(binary.LittleEndian.Uint32(buf)))
}

func tableAt(buf []byte, at uint64) (table, error) {
	if at+4 > uint64(len(buf)) {
		return table{}, errCut
	}
	back := int64(at) - int64(int32(binary.LittleEndian.Uint32(buf[at:])))
	if back < 0 || back+4 > int64(len(buf)) {
		return table{}, errCut
	}
	size := int64(binary.LittleEndian.Uint16(buf[back:]))
	if size < 4 || back+size > int64(len(buf)) {
		return table{}, errCut
	}
	return table{buf, int(at), buf[back+4 : back+size]}, nil
}

// field returns where a field of so many bytes begins; 0 if the table does not have it.
func (t *table) field(i, size int) (int, error) {
	if 2*i+2 > len(t.fields) {
		return 0, nil
	}
	offset := int(binary.LittleEndian.Uint16(t.fields[2*i:]))
	if offset == 0 {
		return 0, nil
	}
	if t.at+offset+size > len(t.buf) {
		return 0, errCut
	}
	return t.at + offset, nil
}

func (t *table) byte(i int) (byte, error) {
	at, err := t.field(i, 1)
	if at == 0 || err != nil {
		return 0, err
	}
	return t.buf[at], nil
}

func (t *table) uint16(i int, missing uint16) (uint16, error) {
	at, err := t.field(i, 2)
	if at == 0 || err != nil {
		return missing, err
	}
	return binary.LittleEndian.Uint16(t.buf[at:]), nil
}

func (t *table) int32(i int) (int32, error) {
	at, err := t.field(i, 4)
	if at == 0 || err != nil {
		return 0, err
	}
	return int32(binary.LittleEndian.Uint32(t.buf[at:])), nil
}

func (t *table) uint64(i int) (uint64, error) {
	at, err := t.field(i, 8)
	if at == 0 || err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(t.buf[at:]), nil
}

// span returns where the elements of a vector begin, of so many bytes each, and where they end.
// Both are 0 if the table does not have it.
func (t *table) span(i, size int) (from, to uint64, err error) {
	at, err := t.field(i, 4)
	if at == 0 || err != nil {
		return 0, 0, err
	}
	from = uint64(at) + uint64(binary.LittleEndian.Uint32(t.buf[at:])) + 4
	if from > uint64(len(t.buf)) {
		return 0, 0, errCut
	}
	to = from + uint64(binary.LittleEndian.Uint32(t.buf[from-4:]))*uint64(size)
	if to > uint64(len(t.buf)) {
		return 0, 0, errCut
	}
	return from, to, nil
}

// vector returns the elements of a vector; none if the table does not have it.
func (t *table) vector(i, size int) ([]byte, error) {
	from, to, err := t.span(i, size)
	return t.buf[from:to], err
}

func (t *table) text(i int) (string, error) {
	b, err := t.vector(i, 1)
	return string(b), err
}

// table returns a table within; ok is false if there is none.
func (t *table) table(i int) (in table, ok bool, err error) {
	at, err := t.field(i, 4)
	if at == 0 || err != nil {
		return table{}, false, err
	}
	in, err = tableAt(t.buf, uint64(at)+uint64(binary.LittleEndian.Uint32(t.buf[at:])))
	return in, err == nil, err
}

// tables calls visit for each table of a vector.
func (t *table) tables(i int, visit func(in *table) error) error {
	from, to, err := t.span(i, 4)
	if err != nil {
		return err
	}
	for at := from; at < to; at += 4 {
		in, err := tableAt(t.buf, at+uint64(binary.LittleEndian.Uint32(t.buf[at:])))
		if err != nil {
			return err
		}
		if err := visit(&in); err != nil {
			return err
		}
	}
	return nil
}
