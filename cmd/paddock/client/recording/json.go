package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line, in bytes; a longer one is rejected. A Feature with the track of a day is
// one.
const maxLine = 64 << 20

// json reads JSON: an object on each line, or one document.
func (s *source) json() Positions {
	begin, _ := s.in.Peek(bufferSize) // the error is that of the next read
	text := bytes.TrimLeft(bytes.TrimPrefix(begin, []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, more := bytes.Cut(text, []byte("\n"))
	var head struct{ Type string }
	if more && line[0] == '{' && json.Unmarshal(line, &head) == nil && head.Type != "FeatureCollection" {
		return s.lines
	}
	if !more && len(begin) < bufferSize && json.Unmarshal(text, &head) == nil && head.Type != "FeatureCollection" {
		return s.lines // one of them
	}
	return s.document
}

// lines yields the positions of newline-delimited JSON. A bad line costs no other one.
func (s *source) lines(yield func(Fix, error) bool) {
	if bom, _ := s.in.Peek(3); string(bom) == "\xef\xbb\xbf" {
		_, _ = s.in.Discard(3)
	}
	at := Place{s.name, "line", 0}
	for {
		at.Number++
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

// document yields the positions of a document: of an array, a FeatureCollection or one object. It
// holds one element at a time.
func (s *source) document(yield func(Fix, error) bool) {
	if bom, _ := s.in.Peek(3); string(bom) == "\xef\xbb\xbf" {
		_, _ = s.in.Discard(3)
	}
	d := &document{source: s, dec: json.NewDecoder(s.in), yield: yield}
	if err := d.read(); err != nil && !errors.Is(err, errEnded) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		yield(Fix{}, s.fatal(fmt.Errorf("malformed JSON at byte %d: %w", d.dec.InputOffset(), err)))
	}
}

// document is one read of a document.
type document struct {
	*source
	dec   *json.Decoder
	yield func(Fix, error) bool
	n     int // elements so far
}

func (d *document) read() error {
	first, err := d.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil // nothing at all
	}
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
	if err != nil {
		return err
	}
	if d.dec.More() {
		return errors.New("there is more behind the document")
	}
	return nil
}

// elements reads an array up to its end.
func (d *document) elements() error {
	for d.dec.More() {
		var raw json.RawMessage
		if err := d.dec.Decode(&raw); err != nil {
			return err
		}
		if !d.object(raw, Place{d.name, "position", d.n}, d.yield) {
			return errEnded
		}
		d.n++
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
			if err := d.elements(); err != nil {
				return err
			}
			collection = true
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
	if err == nil && !d.object(raw, Place{d.name, "position", d.n}, d.yield) {
		return errEnded
	}
	return err
}
