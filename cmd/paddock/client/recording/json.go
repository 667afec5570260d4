package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine bounds a line, in bytes; a longer one is rejected. A Feature with the track of a day is
// one.
const maxLine = 64 << 20

// json reads JSON: an object on each line, or documents.
func (s *source) json() Positions {
	begin, _ := s.in.Peek(bufferSize) // the error is that of the next read
	text := bytes.TrimLeft(bytes.TrimPrefix(begin, bom), " \t\r\n")
	line, rest, more := bytes.Cut(text, []byte("\n"))
	var head struct{ Type string }
	switch {
	case len(text) == 0 || text[0] == '[':
		return s.document
	case !more && len(begin) == bufferSize:
		return s.long
	case json.Valid(line):
		if _ = json.Unmarshal(line, &head); head.Type == "FeatureCollection" { // a wrong type is another one
			return s.document
		}
		return s.lines
	case more && (malformed(line) || beginsLines(line, rest)):
		return s.lines
	}
	return s.document
}

var bom = []byte("\xef\xbb\xbf")

// malformed reports whether a text is no beginning of JSON.
func malformed(text []byte) bool {
	var raw json.RawMessage
	_, ok := errors.AsType[*json.SyntaxError](json.NewDecoder(bytes.NewReader(text)).Decode(&raw))
	return ok
}

// beginsLines reports whether a line that has no end as JSON is no document with the line below it,
// which is whole by itself.
func beginsLines(line, rest []byte) bool {
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	return json.Valid(second) && malformed(slices.Concat(line, []byte("\n"), second))
}

// skipBOM passes over the mark that some programs begin a file with.
func (s *source) skipBOM() {
	if begin, _ := s.in.Peek(len(bom)); bytes.Equal(begin, bom) {
		_, _ = s.in.Discard(len(bom))
	}
}

// lines yields the positions of newline-delimited JSON. A bad line costs no other one.
func (s *source) lines(yield func(Fix, error) bool) {
	s.skipBOM()
	s.linesFrom(1, yield)
}

// linesFrom is lines where the next one has a number.
func (s *source) linesFrom(number int, yield func(Fix, error) bool) {
	for at := (Place{s.name, "line", number}); ; at.Number++ {
		line, err := s.nextLine()
		if errors.Is(err, errLong) {
			if !yield(Fix{}, &Rejected{at, err.Error()}) {
				return
			}
			continue
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && !s.object(trimmed, at, yield) {
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(Fix{}, s.fatal(err))
			return
		}
	}
}

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// nextLine returns the next line; one that is too long is passed over.
func (s *source) nextLine() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := s.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong
		default:
			return line, err
		}
	}
}

// document yields the positions of documents, one behind the other: of an array, a
// FeatureCollection or one object. It holds one element at a time.
func (s *source) document(yield func(Fix, error) bool) {
	s.skipBOM()
	d := &document{source: s, dec: json.NewDecoder(s.in), yield: yield}
	d.rest(nil)
}

// long is document for a FeatureCollection, and else lines, of which the first is a long one.
func (s *source) long(yield func(Fix, error) bool) {
	s.skipBOM()
	first := &lineEnd{Reader: s.in, at: -1}
	d := &document{source: s, dec: json.NewDecoder(first), yield: yield, line: true}
	err := d.value()
	_, bad := errors.AsType[*json.SyntaxError](err)
	if d.collection || err != nil && !bad {
		d.rest(err)
		return
	}
	s.in = bufio.NewReaderSize(io.MultiReader(d.dec.Buffered(), s.in), bufferSize)
	number := 1 // what is left of the line
	if bad {
		if !yield(Fix{}, &Rejected{d.place(), "malformed JSON: " + err.Error()}) {
			return
		}
		if first.at < 0 || first.at >= d.dec.InputOffset() { // else the decoder has met the next line
			_, _ = s.nextLine() // an error comes again
		}
		number = 2
	}
	s.linesFrom(number, yield)
}

// lineEnd notes where the first line feed is, once it has been read.
type lineEnd struct {
	io.Reader
	read, at int64 // at: its offset; -1: not read yet
}

func (l *lineEnd) Read(b []byte) (n int, err error) {
	n, err = l.Reader.Read(b)
	if i := bytes.IndexByte(b[:n], '\n'); i >= 0 && l.at < 0 {
		l.at = l.read + int64(i)
	}
	l.read += int64(n)
	return n, err
}

// document is one read of documents.
type document struct {
	*source
	dec        *json.Decoder
	yield      func(Fix, error) bool
	n          int  // elements so far
	line       bool // an object is the first line
	collection bool // there was one
}

// place returns that of the next element.
func (d *document) place() Place {
	if d.line && !d.collection {
		return Place{d.name, "line", 1}
	}
	return Place{d.name, "position", d.n}
}

// rest reads the values behind a first one, which had an error or nil.
func (d *document) rest(err error) {
	for err == nil {
		err = d.value()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, errEnded) {
		d.yield(Fix{}, d.fatal(fmt.Errorf("malformed JSON at byte %d: %w", d.dec.InputOffset(), err)))
	}
}

// value reads a value. The error is io.EOF if there is none.
func (d *document) value() error {
	first, err := d.dec.Token()
	switch {
	case err != nil:
		return err
	case first == json.Delim('['):
		err = d.elements()
	case first == json.Delim('{'):
		err = d.members()
	default:
		return fmt.Errorf("%v is neither an object nor an array", first)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// elements reads an array up to its end.
func (d *document) elements() error {
	for d.dec.More() {
		var raw json.RawMessage
		if err := d.dec.Decode(&raw); err != nil {
			return err
		}
		if err := d.element(raw); err != nil {
			return err
		}
	}
	_, err := d.dec.Token()
	return err
}

// members reads an object up to its end: a FeatureCollection, or else a position.
func (d *document) members() error {
	object := map[string]json.RawMessage{}
	collection := false
	for d.dec.More() {
		name, err := d.dec.Token()
		if err != nil {
			return err
		}
		if name == "features" {
			if begin, err := d.dec.Token(); err != nil || begin != json.Delim('[') {
				return errors.Join(errors.New("features is no array"), err)
			}
			collection, d.collection = true, true
			if err := d.elements(); err != nil {
				return err
			}
			continue
		}
		var raw json.RawMessage
		if err := d.dec.Decode(&raw); err != nil {
			return err
		}
		object[fmt.Sprint(name)] = raw
	}
	if _, err := d.dec.Token(); err != nil || collection {
		return err
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return d.element(raw)
}

// element yields the position of an object.
func (d *document) element(raw []byte) error {
	if !d.object(raw, d.place(), d.yield) {
		return errEnded
	}
	d.n++
	return nil
}
