package http1

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Compile prepares the requests of a run: request number k is the one of list number k mod its
// length. URLs, values of header fields and bodies may have placeholders:
//
//	{{seq}}          the number of the request, from 0
//	{{rand 1 100}}   a number from 1 to 100
//	{{uuid}}         a random UUID
//	{{line FILE}}    the next line of a file, over and over
//	{{"{{"}}         the text {{ itself
//
// In a URL the lines of a file are escaped. Random values depend only on seed and on the number of
// the request.
func Compile(list []Request, files Files, seed uint64) (Requests, error) {
	if len(list) == 0 {
		return nil, errNoRequests
	}
	_, targets := TargetNames(list)
	if !slices.ContainsFunc(list, hasPlaceholder) {
		a := &Arena{}
		for i := range list {
			if err := a.Add(&list[i]); err != nil {
				return nil, err
			}
			a.messages[i].target = targets[i]
		}
		return a, nil
	}
	t := &templates{seed: mix(seed)}
	lines := &lineFiles{files: files, known: map[string][][]byte{}}
	for i := range list {
		one, err := compile(list[i], lines)
		if err != nil {
			return nil, fmt.Errorf("http1: request %d: %w", i+1, err)
		}
		one.target = targets[i]
		t.list = append(t.list, one)
	}
	return t, nil
}

// templates are requests of which some differ each time.
type templates struct {
	list []*template
	seed uint64
}

// Thread returns a source with memory of its own.
func (t *templates) Thread(int, int) Source { return &templateSource{templates: t} }

// template is a request in pieces.
type template struct {
	head, body []piece
	sized      bool // head ends before the digits of Content-Length
	form       Form
	target     uint16
}

// piece is text, followed by the value of a placeholder.
type piece struct {
	text []byte
	hole placeholder // nil = nothing
}

// templateSource makes the requests of a thread.
type templateSource struct {
	*templates
	out, body []byte
}

// Make gives request number k of the run. It is valid until the next call.
//
// hot: guarded by BenchmarkMake.
func (s *templateSource) Make(k int64) (Message, error) {
	t := s.list[uint64(k)%uint64(len(s.list))]
	draw := mix(s.seed ^ uint64(k))
	s.out, draw = put(s.out[:0], t.head, k, draw)
	s.body, _ = put(s.body[:0], t.body, k, draw)
	if t.sized {
		s.out = append(strconv.AppendInt(s.out, int64(len(s.body)), 10), "\r\n\r\n"...)
	}
	head := len(s.out)
	s.out = append(s.out, s.body...)
	return Message{s.out, head, t.form, t.target}, nil
}

// put appends pieces for request number k.
func put(dst []byte, pieces []piece, k int64, draw uint64) ([]byte, uint64) {
	for i := range pieces {
		p := &pieces[i]
		dst = append(dst, p.text...)
		if p.hole != nil {
			draw = mix(draw)
			dst = p.hole.put(dst, k, draw)
		}
	}
	return dst, draw
}

// compile takes a request apart. Marks stand for the placeholders while it is rendered
// like any other.
func compile(r Request, lines *lineFiles) (*template, error) {
	m, err := newMarker(&r, lines)
	if err != nil {
		return nil, err
	}
	bytes, head, form, err := r.Append(nil)
	if err != nil {
		return nil, err
	}
	t := &template{form: form, body: m.split(bytes[head:])}
	if m.inBody {
		t.sized = true
		head -= len(strconv.Itoa(len(r.Body))) + len("\r\n\r\n") // Content-Length comes last
	}
	t.head = m.split(bytes[:head])
	if len(t.head)+len(t.body) != len(m.holes)+2 {
		return nil, errors.New("a placeholder where none may be: in the user or the host of the URL")
	}
	return t, nil
}
