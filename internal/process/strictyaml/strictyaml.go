// Package strictyaml reads configuration written in YAML and reports all its faults at once, each
// with its place: unknown keys, values of the wrong form, and faults that the reader of a value
// finds.
//
// Scalars are the texts of the file, without YAML's interpretation: a password of 0123 or no stays
// as it is written.
package strictyaml

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"paddock/internal/process/spelling"
)

// Fault is one error in a file.
type Fault struct {
	Place string // "paddock.yaml:12:5", or the file alone
	Err   error
}

func (f *Fault) Error() string { return f.Place + ": " + f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// File is a document that is being read.
type File struct {
	// Env replaces ${NAME} in values; nil leaves them. An unknown name is a fault.
	Env func(name string) (value string, ok bool)

	name   string
	faults []*Fault
}

// Node is a value or a key, with its place.
type Node struct {
	file *File
	node ast.Node
}

// Parse reads text. Faults call the file by the last element of path. root is nil if there is no
// document. Syntax errors are in File.Faults.
func Parse(path string, text []byte) (f *File, root *Node) {
	f = &File{name: filepath.Base(path)}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		var syntax yaml.Error
		if !errors.As(err, &syntax) {
			f.faults = append(f.faults, &Fault{f.name, err})
			return f, nil
		}
		message := syntax.GetMessage()
		if strings.HasPrefix(message, "found character '\t'") {
			message = "tab in indentation; YAML wants spaces"
		}
		f.fault(syntax.GetToken(), "%s", message)
		return f, nil
	}
	for i, doc := range tree.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			f.fault(doc.Body.GetToken(), "a second document; one file is one configuration")
		default:
			root = &Node{f, doc.Body}
		}
	}
	return f, root
}

// Faults returns the faults that were found so far.
func (f *File) Faults() []*Fault { return f.faults }

// Err joins the faults that were found so far.
func (f *File) Err() error {
	var faults []error
	for _, fault := range f.faults {
		faults = append(faults, fault)
	}
	return errors.Join(faults...)
}

func (f *File) fault(at *token.Token, format string, args ...any) {
	f.faults = append(f.faults, &Fault{f.place(at), fmt.Errorf(format, args...)})
}

func (f *File) place(at *token.Token) string {
	if at == nil || at.Position == nil {
		return f.name
	}
	return fmt.Sprintf("%s:%d:%d", f.name, at.Position.Line, at.Position.Column)
}

// Place returns the place of the value: file, line and column.
func (n *Node) Place() string { return n.file.place(n.node.GetToken()) }

// Position returns the name of the file, and line and column of the value from 1; 0 if they are
// unknown.
func (n *Node) Position() (file string, line, column int) {
	at := n.node.GetToken()
	if at == nil || at.Position == nil {
		return n.file.name, 0, 0
	}
	return n.file.name, at.Position.Line, at.Position.Column
}

// Fault adds a fault of the value.
func (n *Node) Fault(format string, args ...any) { n.file.fault(n.node.GetToken(), format, args...) }

// Check adds err as a fault, unless it is nil.
func (n *Node) Check(err error) {
	if err != nil {
		n.file.faults = append(n.file.faults, &Fault{n.Place(), err})
	}
}

// Empty reports whether the value is absent; "" is a value.
func (n *Node) Empty() bool {
	switch n.node.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// Entry is one line of a mapping.
type Entry struct {
	Key   string
	At    *Node // the key, for faults
	Value *Node
}

// Entries returns the entries of a mapping, in their order. Another kind of value is a fault, which
// calls it by the name what.
func (n *Node) Entries(what string) (all []Entry) {
	var entries []*ast.MappingValueNode
	switch m := n.node.(type) {
	case *ast.MappingNode:
		entries = m.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{m}
	default:
		if !n.Empty() {
			n.Fault("%s holds keys with values, not %s", what, n.kind())
		}
		return nil
	}
	for _, e := range entries {
		key, ok := e.Key.(*ast.StringNode)
		at := &Node{n.file, e.Key}
		if !ok {
			at.Fault("a key is a plain word, not %s", at.kind())
			continue
		}
		all = append(all, Entry{key.Value, at, &Node{n.file, e.Value}})
	}
	return all
}

// Text returns the text of the entry's value, as Node.Text does.
func (e Entry) Text(what string) (text string, ok bool) {
	if e.Value.Empty() {
		e.At.Fault(`%s has no value; write "" for an empty one, or leave the key out`, what)
		return "", false
	}
	return e.Value.Text(what)
}

// Unknown adds the fault that the key is not one of known.
func (e Entry) Unknown(known []string) {
	e.At.Fault("unknown key %s; %s", e.Key, spelling.Advice(e.Key, known))
}

// Items returns the items of a list. Another kind of value is a fault.
func (n *Node) Items(what string) (all []*Node) {
	list, ok := n.node.(*ast.SequenceNode)
	if !ok {
		if !n.Empty() {
			n.Fault("%s is a list, not %s", what, n.kind())
		}
		return nil
	}
	for _, item := range list.Values {
		all = append(all, &Node{n.file, item})
	}
	return all
}

// Text returns the text of a single value: as it is written, except for quotes and ${NAME}. Another
// kind of value is a fault.
func (n *Node) Text(what string) (text string, ok bool) {
	switch s := n.node.(type) {
	case *ast.StringNode:
		return n.expand(s.Value)
	case *ast.LiteralNode:
		return n.expand(s.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return s.GetToken().Value, true
	default:
		if text, ok := withColon(n.node); ok {
			return n.expand(text)
		}
		n.Fault("%s takes one value, not %s", what, n.kind())
	}
	return "", false
}

// withColon returns a text such as a:b, which the parser takes for a mapping in a flow collection,
// though YAML 1.2 wants a space behind the colon of a plain key there (section 7.4.2).
func withColon(n ast.Node) (text string, ok bool) {
	if all, ok := n.(*ast.MappingNode); ok && len(all.Values) == 1 {
		n = all.Values[0]
	}
	m, ok := n.(*ast.MappingValueNode)
	if !ok {
		return "", false
	}
	key, plain := m.Key.(*ast.StringNode)
	if !plain || key.Token.Type != token.StringType || m.Value == nil {
		return "", false
	}
	value := m.Value.GetToken()
	if value.Type != token.StringType && value.Type != token.IntegerType ||
		value.Position.Line != key.Token.Position.Line || value.Position.Column != key.Token.Position.Column+len([]rune(key.Value))+1 {
		return "", false
	}
	return key.Value + ":" + value.Value, true
}

// Typed returns the value by the types of YAML: a string as Text returns it, int64, float64, bool,
// []*Node of a list, or []Entry of a mapping. Another value is a fault, and nil; what names the
// value in it.
func (n *Node) Typed(what string) any {
	switch v := n.node.(type) {
	case *ast.IntegerNode:
		switch i := v.Value.(type) {
		case int64:
			return i
		case uint64:
			if i <= math.MaxInt64 {
				return int64(i)
			}
		}
		n.Fault("%s is too large", what)
		return nil
	case *ast.FloatNode:
		return v.Value
	case *ast.BoolNode:
		return v.Value
	case *ast.SequenceNode:
		return n.Items(what)
	case *ast.MappingNode, *ast.MappingValueNode:
		if text, ok := withColon(n.node); ok {
			text, _ = n.expand(text)
			return text
		}
		return n.Entries(what)
	}
	if text, ok := n.Text(what); ok {
		return text
	}
	return nil
}

// expand replaces each ${NAME}.
func (n *Node) expand(s string) (string, bool) {
	if n.file.Env == nil {
		return s, true
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			n.Fault("${ without }")
			return "", false
		}
		value, ok := n.file.Env(name)
		if !ok {
			n.Fault("the environment has no %s", name)
			return "", false
		}
		b.WriteString(value)
		s = after
	}
}

// kind names the kind of a node in faults.
func (n *Node) kind() string {
	switch n.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys of its own"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		return "an anchor or alias"
	case *ast.TagNode:
		return "a tag"
	}
	return "a single value"
}

// MaxFile bounds a configuration file, in bytes: a list of 10,000 vehicles, each with its id and
// its names, has about 1.5 MiB.
const MaxFile = 8 << 20

// ReadFile reads a file of at most MaxFile bytes. The error is an *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes are more than a configuration may have", info.Size())}
	}
	return os.ReadFile(path)
}
