// Package xmlread walks through XML documents with the line of each element, for the readers of KML
// and GPX.
package xmlread

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"paddock/internal/imports/feature"
)

// MaxDepth bounds how deep elements may lie in one another.
const MaxDepth = 64

// Reader walks through a document.
type Reader struct {
	decoder *xml.Decoder
	depth   int
}

// New returns a reader of a document in UTF-8, ISO 8859-1 or US-ASCII.
func New(data []byte) *Reader { return From(bytes.NewReader(data)) }

// From returns a reader of a document that is read as it is walked through.
func From(in io.Reader) *Reader {
	d := xml.NewDecoder(in)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "utf8", "us-ascii", "ascii":
			return in, nil
		case "iso-8859-1", "latin1", "latin-1":
			return &latin1{in: in}, nil
		}
		return nil, fmt.Errorf("the encoding %q is not read: use UTF-8", charset)
	}
	return &Reader{decoder: d}
}

// Line returns the place of the element in hand.
func (r *Reader) Line() feature.Place {
	line, _ := r.decoder.InputPos()
	return feature.Place{Unit: "line", Number: line}
}

// Root goes to the root element and returns it.
func (r *Reader) Root() (xml.StartElement, error) {
	for {
		t, err := r.decoder.Token()
		if errors.Is(err, io.EOF) {
			err = errors.New("the document has no element")
		}
		if err != nil {
			return xml.StartElement{}, err
		}
		if e, ok := t.(xml.StartElement); ok {
			r.depth++
			return e, nil
		}
	}
}

// Children calls visit for each element within the one in hand, and goes to its end. visit goes to
// the end of its element, by Children, Text or Skip.
func (r *Reader) Children(visit func(e xml.StartElement) error) error {
	for {
		t, err := r.decoder.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			r.depth--
			return nil
		case xml.StartElement:
			if err := r.enter(); err != nil {
				return err
			}
			if err := visit(t); err != nil {
				return err
			}
		}
	}
}

// enter counts an element that begins.
func (r *Reader) enter() error {
	if r.depth++; r.depth > MaxDepth {
		return fmt.Errorf("line %d: elements lie more than %d deep in one another", r.Line().Number, MaxDepth)
	}
	return nil
}

// Skip goes to the end of the element in hand.
func (r *Reader) Skip() error {
	return r.Children(func(xml.StartElement) error { return r.Skip() })
}

// Text goes to the end of the element in hand and returns its text, without that of elements
// within.
func (r *Reader) Text() (string, error) {
	var b strings.Builder
	for {
		t, err := r.decoder.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.EndElement:
			r.depth--
			return strings.TrimSpace(b.String()), nil
		case xml.StartElement:
			if err := r.enter(); err != nil {
				return "", err
			}
			if err := r.Skip(); err != nil {
				return "", err
			}
		}
	}
}

// Attribute returns an attribute of an element; "" if there is none.
func Attribute(e *xml.StartElement, name string) string {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == name {
			return e.Attr[i].Value
		}
	}
	return ""
}

// latin1 turns ISO 8859-1 into UTF-8.
type latin1 struct {
	in   io.Reader
	rest []byte
}

func (l *latin1) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		var raw [2048]byte
		n, err := l.in.Read(raw[:])
		if n == 0 {
			return 0, err
		}
		for _, c := range raw[:n] {
			l.rest = append(l.rest, string(rune(c))...)
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}
