package natsconf

import (
	"path/filepath"
	"regexp"
	"slices"
)

// bcrypt is how a password hash begins, without its dollar sign. It is written bare
// so often that it is no variable.
var bcrypt = regexp.MustCompile(`^2[abxy]\$`)

// variable resolves a name: among the keys read so far, the innermost map first,
// then in the environment.
func (p *parser) variable(start int, name string) (*Node, error) {
	if bcrypt.MatchString(name) {
		return p.text(start, "$"+name), nil
	}
	for _, scope := range slices.Backward(p.scopes) {
		if f := scope.index[name]; f != nil {
			f.Used = true
			return p.place(start, f.Value), nil
		}
	}
	return p.environment(start, name)
}

// place is a copy of a value that stands where it is used.
func (p *parser) place(start int, n *Node) *Node {
	c := *n
	c.Pos = p.src.pos(start)
	return &c
}

// environment parses the text of a variable of the process as a value, which may
// name further ones.
func (p *parser) environment(start int, name string) (*Node, error) {
	if p.variables[name] {
		return nil, p.errorf(start, "the variable %q refers to itself", name)
	}
	text, ok := p.sources.LookupEnv(name)
	if !ok {
		return nil, p.errorf(start, "the variable %q is neither a key before it nor in the environment", name)
	}
	if text == "" {
		return p.text(start, ""), nil
	}
	if err := p.enter(start); err != nil {
		return nil, err
	}
	defer p.leave()
	p.variables[name] = true
	defer delete(p.variables, name)
	inner := &parser{reader: p.reader, src: newSource("$"+name, text), dir: p.dir}
	value, err := inner.single()
	if err != nil {
		return nil, p.within(start, err)
	}
	return p.place(start, value), nil
}

// single reads a text that is one value.
func (p *parser) single() (*Node, error) {
	p.skipOnly(isBlank)
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.endOfEntry(); err != nil {
		return nil, err
	}
	p.skip(isSpace)
	if p.at < len(p.src.text) {
		return nil, p.errorf(p.at, "more than one value")
	}
	return value, nil
}

// include reads a file's entries into m. Its variables are its own.
func (p *parser) include(m *Node) error {
	p.skipOnly(isBlank)
	start := p.at
	name, err := p.includeName()
	if err != nil {
		return err
	}
	path := filepath.Join(p.dir, name)
	if slices.Contains(p.open, path) {
		return p.errorf(start, "%s includes itself", path)
	}
	if p.included++; p.included > maxIncludes {
		return p.limit(start, "includes")
	}
	if err := p.enter(start); err != nil {
		return err
	}
	defer p.leave()
	text, err := p.sources.ReadFile(path)
	if err != nil {
		return p.within(start, err)
	}
	included, err := p.file(path, text)
	if err != nil {
		return p.within(start, err)
	}
	for _, f := range included.Fields {
		if err := p.add(m, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) includeName() (string, error) {
	start := p.at
	if c := p.peek(); c == '\'' || c == '"' {
		p.at++
		return p.until(c)
	}
	p.skipOnly(func(c byte) bool { return !endsBare(c) && c != '\'' })
	if p.at == start {
		return "", p.errorf(start, "the name of a file belongs here")
	}
	return p.src.text[start:p.at], nil
}

// within says where the text was asked for that holds a mistake.
func (p *parser) within(start int, err error) error {
	return &Error{Pos: p.src.pos(start), Text: err.Error(), Err: err}
}
