package shapefile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"paddock/internal/imports/feature"
)

// table is a .dbf file (dBASE III).
type table struct {
	fields   []field
	rows     []byte // behind the header
	width    int    // of a row
	records  int
	encoding feature.Encoding
}

// field is a column.
type field struct {
	name    string
	kind    byte
	at, end int // in a row
}

// openTable opens the .dbf file beside a .shp file; nil without one.
func openTable(in *feature.Input, out feature.Sink) (*table, error) {
	data, err := in.Companion(".dbf")
	if err != nil {
		return nil, err
	}
	if data == nil {
		out.Note(feature.Noted(feature.Place{}, feature.CodeNotCarried, "there is no .dbf file: the fences have no properties"))
		return nil, nil
	}
	page, err := in.Companion(".cpg")
	if err != nil {
		return nil, err
	}
	encoding, ok := feature.EncodingOf(string(page))
	if !ok {
		out.Note(feature.Noted(feature.Place{}, feature.CodeEncoding, "the .cpg file names %.40q, which is not read: texts are taken as UTF-8 or ISO 8859-1", bytes.TrimSpace(page)))
	}
	t, err := parseTable(data, encoding)
	if err != nil {
		return nil, fmt.Errorf("the .dbf file: %w", err)
	}
	return t, nil
}

// parseTable reads the header of a table.
func parseTable(data []byte, encoding feature.Encoding) (*table, error) {
	if len(data) < 33 {
		return nil, fmt.Errorf("it has %d bytes", len(data))
	}
	head := int(binary.LittleEndian.Uint16(data[8:]))
	t := &table{
		records:  int(binary.LittleEndian.Uint32(data[4:])),
		width:    int(binary.LittleEndian.Uint16(data[10:])),
		encoding: encoding,
	}
	if head < 33 || head > len(data) || t.width < 1 {
		return nil, fmt.Errorf("a header of %d bytes and rows of %d", head, t.width)
	}
	t.rows = data[head:]
	if got := len(t.rows) / t.width; got < t.records {
		return nil, fmt.Errorf("%d rows, of which the file has %d", t.records, got)
	}
	at := 1 // behind the mark of deletion
	for b := data[32:head]; len(b) >= 32 && b[0] != '\r'; b = b[32:] {
		name, _, _ := bytes.Cut(b[:11], []byte{0})
		f := field{name: encoding.Decode(bytes.TrimSpace(name)), kind: b[11], at: at, end: at + int(b[16])}
		if f.kind == 'C' {
			f.end += int(b[17]) << 8 // of texts of over 255 bytes
		}
		if f.end > t.width {
			return nil, fmt.Errorf("the field %q ends behind the row", f.name)
		}
		at = f.end
		t.fields = append(t.fields, f)
	}
	return t, nil
}

// read sets properties to the values of a row. It reports whether the row is not deleted.
func (t *table) read(i int, p *feature.Properties) bool {
	if t == nil || i >= t.records {
		return true
	}
	row := t.rows[i*t.width:][:t.width]
	if row[0] == '*' {
		return false
	}
	for j := range t.fields {
		f := &t.fields[j]
		p.Set(f.name, t.value(f.kind, row[f.at:f.end]))
	}
	return true
}

// value returns the value of a field as JSON. One that is not filled in, or that is kept in another
// file, is null.
func (t *table) value(kind byte, raw []byte) json.RawMessage {
	text := string(bytes.Trim(raw, " \x00"))
	switch kind {
	case 'C':
		return feature.Text(t.encoding.Decode(bytes.TrimRight(raw, " \x00")))
	case 'N', 'F':
		if number, err := feature.Number(text); err == nil {
			if typed := feature.Typed(text); typed[0] != '"' {
				return typed
			}
			return feature.JSONNumber(number)
		}
	case 'L':
		switch text {
		case "T", "t", "Y", "y":
			return json.RawMessage("true")
		case "F", "f", "N", "n":
			return json.RawMessage("false")
		}
	case 'D':
		if len(text) == 8 && strings.Trim(text, "0123456789") == "" {
			return feature.Text(text[:4] + "-" + text[4:6] + "-" + text[6:])
		}
	case 'I':
		if len(raw) == 4 {
			return feature.JSONNumber(float64(int32(binary.LittleEndian.Uint32(raw))))
		}
	}
	return json.RawMessage("null")
}
