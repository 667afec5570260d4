package events

import (
	"encoding/binary"
	"errors"

	"paddock/fence/track"
)

// AppendRecord appends the stored form of a record, without its cursor: the names, the kind, the
// time of arrival and the JSON. Texts follow their length.
func AppendRecord(b []byte, r *Record) []byte {
	for _, s := range []string{r.Subject, r.Set, r.Fence, r.Fleet, r.Object} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = append(b, byte(r.Kind))
	b = binary.AppendVarint(b, int64(r.Arrived))
	b = binary.AppendUvarint(b, uint64(r.JSON.Len()))
	return r.JSON.Append(b)
}

var errStored = errors.New("events: not a stored record")

// ParseRecord reads a record of AppendRecord from the beginning of b, and returns the rest of b.
// The record does not share memory with b.
func ParseRecord(b []byte) (r Record, rest []byte, err error) {
	text := func() string {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			b, err = nil, errStored
			return ""
		}
		s := string(b[size : uint64(size)+n])
		b = b[uint64(size)+n:]
		return s
	}
	r.Subject, r.Set, r.Fence, r.Fleet, r.Object = text(), text(), text(), text(), text()
	if len(b) == 0 {
		return Record{}, nil, errStored
	}
	r.Kind = track.Kind(b[0])
	arrived, n := binary.Varint(b[1:])
	if n <= 0 {
		return Record{}, nil, errStored
	}
	r.Arrived = track.Millis(arrived)
	b = b[1+n:]
	r.JSON = Plain([]byte(text()))
	if err != nil {
		return Record{}, nil, err
	}
	return r, b, nil
}
