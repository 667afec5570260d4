package http1

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"paddock/internal/netio/h1"
)

// maxPlaceholders bounds how many a request may have.
const maxPlaceholders = 1000

const (
	opening = "{{"
	closing = "}}"
)

// hasPlaceholder reports whether a request has to be compiled.
func hasPlaceholder(r Request) bool {
	return strings.Contains(r.URL, opening) || bytes.Contains(r.Body, []byte(opening)) ||
		slices.ContainsFunc(r.Header, func(f Field) bool { return strings.Contains(f.Value, opening) })
}

// marker puts marks in place of placeholders: words that nothing in a request changes, and
// that are nowhere else in it.
type marker struct {
	word   string // the marks are word000, word001, ...
	holes  []placeholder
	inBody bool
	lines  *lineFiles
}

// newMarker marks all placeholders of a request.
func newMarker(r *Request, lines *lineFiles) (*marker, error) {
	for i := range maxWords {
		m := &marker{word: fmt.Sprintf("mark%dx", i), lines: lines}
		marked := *r
		if err := m.markAll(&marked); err != nil {
			return nil, err
		}
		if m.count(&marked) == len(m.holes) {
			*r = marked
			return m, nil
		}
	}
	return nil, fmt.Errorf("a text that has all words from mark0x to mark%dx", maxWords-1)
}

// maxWords is how many words are tried as a mark.
const maxWords = 100

func (m *marker) markAll(r *Request) error {
	text, err := m.mark(r.URL, escaped)
	if err != nil {
		return fmt.Errorf("the URL: %w", err)
	}
	if u, err := url.Parse(text); err == nil && strings.Contains(u.Host, m.word) {
		return errors.New("the URL: a placeholder in the host: a run has one service")
	}
	r.URL, r.Header = text, slices.Clone(r.Header)
	for i := range r.Header {
		f := &r.Header[i]
		if f.Value, err = m.mark(f.Value, verbatimText); err != nil {
			return fmt.Errorf("the header %s: %w", f.Name, err)
		}
	}
	before := len(m.holes)
	body, err := m.mark(string(r.Body), verbatim)
	if err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if m.inBody = len(m.holes) > before; r.Body != nil {
		r.Body = []byte(body)
	}
	if m.inBody && r.has("Content-Length") {
		return errors.New("the header Content-Length: the body has placeholders, and its length is not known")
	}
	return nil
}

// count is how often the word is in a request.
func (m *marker) count(r *Request) int {
	n := strings.Count(r.URL, m.word) + strings.Count(r.UserAgent, m.word) + bytes.Count(r.Body, []byte(m.word))
	for _, f := range r.Header {
		n += strings.Count(f.Name, m.word) + strings.Count(f.Value, m.word)
	}
	return n
}

// mark returns a text with marks. quote escapes the lines of files.
func (m *marker) mark(text string, quote quoting) (string, error) {
	var out strings.Builder
	for at := 0; ; {
		begin := strings.Index(text[at:], opening)
		if begin < 0 {
			out.WriteString(text[at:])
			return out.String(), nil
		}
		begin += at
		out.WriteString(text[at:begin])
		inner := text[begin+len(opening):]
		if quoted, err := strconv.QuotedPrefix(inner); err == nil && strings.HasPrefix(inner[len(quoted):], closing) {
			plain, _ := strconv.Unquote(quoted)
			out.WriteString(plain)
			at = begin + len(opening) + len(quoted) + len(closing)
			continue
		}
		end := strings.Index(inner, closing)
		if end < 0 {
			return "", fmt.Errorf("byte %d: {{ without }}", begin)
		}
		hole, err := m.placeholder(inner[:end], quote)
		if err != nil {
			return "", fmt.Errorf("byte %d: %w", begin, err)
		}
		fmt.Fprintf(&out, "%s%03d", m.word, len(m.holes))
		m.holes = append(m.holes, hole)
		at = begin + len(opening) + end + len(closing)
	}
}

func (m *marker) placeholder(text string, quote quoting) (placeholder, error) {
	if len(m.holes) == maxPlaceholders {
		return nil, fmt.Errorf("more than %d placeholders", maxPlaceholders)
	}
	return parsePlaceholder(text, func(name string) ([][]byte, error) { return m.lines.read(name, quote) })
}

// split takes rendered bytes apart at the marks.
func (m *marker) split(b []byte) (pieces []piece) {
	for {
		text, rest, ok := bytes.Cut(b, []byte(m.word))
		if !ok {
			return append(pieces, piece{text: b})
		}
		i, _ := strconv.Atoi(string(rest[:len("000")]))
		pieces = append(pieces, piece{text, m.holes[i]})
		b = rest[len("000"):]
	}
}

// lineFiles are the files of {{line FILE}}, each read once.
type lineFiles struct {
	files Files
	known map[string][][]byte
}

// quoting makes a line fit for where it is put.
type quoting func(line []byte) ([]byte, error)

func verbatim(line []byte) ([]byte, error) { return line, nil }

func verbatimText(line []byte) ([]byte, error) {
	if !h1.IsAll(line, h1.ValueByte) {
		return nil, fmt.Errorf("the line %s has a control character", clip(line))
	}
	return line, nil
}

func escaped(line []byte) ([]byte, error) {
	return []byte(strings.ReplaceAll(url.QueryEscape(string(line)), "+", "%20")), nil
}

// read gives the lines of a file, quoted.
func (l *lineFiles) read(name string, quote quoting) ([][]byte, error) {
	list, ok := l.known[name]
	if !ok {
		content, err := l.files(name)
		if err != nil {
			return nil, err
		}
		b, err := ReadBodies(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = b.List
		l.known[name] = list
	}
	quoted := make([][]byte, len(list))
	for i, line := range list {
		var err error
		if quoted[i], err = quote(line); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return quoted, nil
}
