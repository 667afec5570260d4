package journal

import "encoding/binary"

// Fields reads the fields of a stored form, one after the other: numbers as varints, texts behind
// their length. After the first one that is not there it has failed, and returns zeros.
type Fields struct {
	Rest   []byte // what is not read
	Failed bool
}

func (f *Fields) fail() { f.Rest, f.Failed = nil, true }

// Take reads a number of bytes, which share memory with the stored form. Without them it is nil.
func (f *Fields) Take(n uint64) []byte {
	if n > uint64(len(f.Rest)) {
		f.fail()
		return nil
	}
	b := f.Rest[:n:n]
	f.Rest = f.Rest[n:]
	return b
}

// Byte reads a byte.
func (f *Fields) Byte() byte {
	if b := f.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads four bytes, least first.
func (f *Fields) Uint32() uint32 {
	if b := f.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes, least first.
func (f *Fields) Uint64() uint64 {
	if b := f.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uint reads what binary.AppendUvarint wrote.
func (f *Fields) Uint() uint64 {
	v, n := binary.Uvarint(f.Rest)
	if n <= 0 {
		f.fail()
		return 0
	}
	f.Rest = f.Rest[n:]
	return v
}

// Int reads what binary.AppendVarint wrote.
func (f *Fields) Int() int64 {
	v, n := binary.Varint(f.Rest)
	if n <= 0 {
		f.fail()
		return 0
	}
	f.Rest = f.Rest[n:]
	return v
}

// Count reads the number of elements that follow, each of which has at least this many bytes.
func (f *Fields) Count(bytes int) int {
	n := f.Uint()
	if n > uint64(len(f.Rest)/bytes) {
		f.fail()
		return 0
	}
	return int(n)
}

// Text reads what AppendText wrote.
func (f *Fields) Text() string { return string(f.Take(f.Uint())) }

// AppendText appends a text behind its length.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
