// Package natsconf reads the configuration grammar of NATS servers: a superset of
// JSON that people write by hand.
//
// A file is a list of entries `key value`, with `=` or `:` between the two if one
// likes, ended by a newline, `,` or `;`. A value is a map `{}`, an array `[]`, a
// string (bare, 'raw', "escaped", or a block in parentheses), an integer, perhaps
// with a suffix, a float, a boolean, a date, or a variable `$name`. `include 'file'`
// puts the entries of another file in its place. `#` and `//` begin comments.
//
// [ParseFile] returns the tree, each node with the place where it stands, so that
// the code that gives the keys a meaning can report faults with their places. The package knows no
// key but include.
//
// The same text means the same as in the reference implementation, but where that
// one takes what can only be a mistake (an integer that wraps around, a bracket
// that is never closed, an entry with nothing after its `=`): here it is an error.
package natsconf

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// What bounds the memory that a configuration takes, which could otherwise grow
// without bound by its includes and variables.
const (
	maxDepth    = 100     // maps, arrays, includes and variables within one another
	maxFile     = 8 << 20 // bytes of one file
	maxIncludes = 256     // files
	maxWeight   = 1 << 20 // nodes, each counted as often as variables repeat it
)

// ErrLimit is wrapped by the errors about these bounds.
var ErrLimit = errors.New("the configuration is too large")

// Sources are where text comes from besides the file itself. A nil field means the
// system's own.
type Sources struct {
	ReadFile  func(path string) ([]byte, error)
	LookupEnv func(name string) (string, bool)
}

// ParseFile reads a configuration file, and the files that it includes.
func ParseFile(path string) (*Node, error) { return Sources{}.ParseFile(path) }

// ParseFile reads a configuration file. Paths of includes are relative to the file
// that holds them.
func (s Sources) ParseFile(path string) (*Node, error) {
	r := s.reader()
	text, err := r.sources.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return r.file(path, text)
}

// Parse reads text as a configuration file of the given path would be read.
func (s Sources) Parse(path string, text []byte) (*Node, error) {
	return s.reader().file(path, text)
}

func (s Sources) reader() *reader {
	if s.ReadFile == nil {
		s.ReadFile = os.ReadFile
	}
	if s.LookupEnv == nil {
		s.LookupEnv = os.LookupEnv
	}
	return &reader{sources: s, variables: make(map[string]bool)}
}

// reader is the work on one configuration with all its files.
type reader struct {
	sources   Sources
	open      []string        // paths of the files being read, the outermost first
	variables map[string]bool // of the environment, being read
	included  int
	depth     int
}

// file reads one file's entries into a map.
func (r *reader) file(path string, text []byte) (*Node, error) {
	p := &parser{reader: r, src: newSource(path, string(text)), dir: filepath.Dir(path)}
	if len(text) > maxFile {
		return nil, p.limit(0, "the file")
	}
	r.open = append(r.open, filepath.Clean(path))
	defer func() { r.open = r.open[:len(r.open)-1] }()
	if at := strings.IndexByte(p.src.text, 0); at >= 0 {
		return nil, p.errorf(at, "a NUL byte")
	}
	root := &Node{Kind: Map, Pos: p.src.pos(0), weight: 1}
	return root, p.document(root)
}

// parser goes through the text of one file. Its methods read what their name says
// from p.at on and leave p.at behind it.
type parser struct {
	*reader
	src    *source
	dir    string
	at     int
	scopes []*Node // the maps being read, the outermost first
}

// document reads entries up to the end of the file. Braces around them, as JSON
// has, may be there or not.
func (p *parser) document(root *Node) error {
	p.scopes = append(p.scopes, root)
	for {
		p.skip(isSpace)
		switch p.peek() {
		case end:
			return nil
		case '{':
			opened := p.at
			p.at++
			if err := p.entries(root, opened, false); err != nil {
				return err
			}
			continue
		case '}':
			return p.errorf(p.at, "unexpected '}': nothing is open here")
		}
		if err := p.entry(root, false); err != nil {
			return err
		}
	}
}

// entries reads up to the brace that closes the one at opened.
func (p *parser) entries(m *Node, opened int, nested bool) error {
	if err := p.enter(opened); err != nil {
		return err
	}
	defer p.leave()
	for {
		p.skip(isSpace)
		switch p.peek() {
		case end:
			return p.errorf(opened, "this '{' is not closed")
		case '}':
			p.at++
			return nil
		}
		if err := p.entry(m, nested); err != nil {
			return err
		}
	}
}

// entry reads a key with its value, or an include, and what ends it. In a nested
// map the value may stand on the next line.
func (p *parser) entry(m *Node, nested bool) error {
	start := p.at
	key, bare, err := p.key()
	if err != nil {
		return err
	}
	if bare && strings.EqualFold(key, "include") && isSpace(p.peek()) {
		if err := p.include(m); err != nil {
			return err
		}
		return p.endOfEntry()
	}
	p.skipOnly(isSpace)
	if isSeparator(p.peek()) {
		p.at++
		if nested {
			p.skipOnly(isSpace)
		}
	}
	p.skipOnly(isBlank)
	value, err := p.value()
	if err != nil {
		return err
	}
	if err := p.add(m, &Field{Key: key, Pos: p.src.pos(start), Value: value}); err != nil {
		return err
	}
	return p.endOfEntry()
}

// add puts an entry into a map, within the bound of the tree's size.
func (p *parser) add(m *Node, f *Field) error {
	m.put(f)
	return p.grow(m, f.Value, f.Pos)
}

func (p *parser) grow(parent, child *Node, at Pos) error {
	if parent.weight += child.weight; parent.weight > maxWeight {
		return &Error{Pos: at, Text: ErrLimit.Error() + ": values", Err: ErrLimit}
	}
	return nil
}

// keyStops are characters that a bare key cannot hold: with them in it, a space or
// a bracket has been forgotten.
const keyStops = "{}[],;()"

// key reads a key. It is bare if it stands without quotes.
func (p *parser) key() (key string, bare bool, err error) {
	start := p.at
	switch c := p.peek(); {
	case isSeparator(c):
		return "", false, p.errorf(start, "unexpected %q: a key is missing before it", c)
	case c == '"' || c == '\'':
		p.at++
		key, err = p.until(c)
		return key, false, err
	}
	for c := p.peek(); c != end && !isSpace(c) && !isSeparator(c); c = p.peek() {
		if strings.IndexByte(keyStops, c) >= 0 {
			return "", false, p.errorf(p.at, "unexpected %q in a key", c)
		}
		p.at++
	}
	return p.src.text[start:p.at], true, nil
}

// endOfEntry reads what stands between an entry and the next.
func (p *parser) endOfEntry() error {
	p.skip(isBlank)
	switch c := p.peek(); {
	case c == end, isNewline(c), c == '}':
	case c == ',', c == ';':
		p.at++
	default:
		return p.errorf(p.at, "unexpected %q: an entry ends with a new line, ',' or ';'", p.rune())
	}
	return nil
}

// enter and leave bound how deep things nest.
func (p *parser) enter(at int) error {
	if p.depth++; p.depth > maxDepth {
		return p.limit(at, "nesting")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// Digest names what a tree says, whatever it looks like: files with the same keys
// and values have the same digest, which is also the one that the reference gives
// them.
func Digest(n *Node) (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(n.Any()); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
