// Package strictyaml reads configuration written in YAML so that whatever is wrong in
// it is told with its place, all at once: keys that nobody knows, values of the wrong
// form, whatever the reader of a value says of it.
//
// Scalars are the texts that stand in the file, not what YAML makes of them: a
// password of 0123 or no stays as it is written.
package strictyaml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Fault is one thing that is wrong.
type Fault struct {
	Place string // "paddock.yaml:12:5", or the file alone
	Err   error
}

func (f *Fault) Error() string { return f.Place + ": " + f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// File is a document that is being read.
type File struct {
	// Env replaces ${NAME} in values; nil leaves them. A name that it does not know is
	// a fault.
	Env func(name string) (value string, ok bool)

	name   string
	faults []*Fault
}

// Node is a value, or a key, in its place.
type Node struct {
	file *File
	node ast.Node
}

// Parse reads text, which errors call by the last part of path. Without a document
// root is nil. If it is not YAML, File.Faults says so.
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

// Faults are all that were found until now.
func (f *File) Faults() []*Fault { return f.faults }

func (f *File) fault(at *token.Token, format string, args ...any) {
	f.faults = append(f.faults, &Fault{f.place(at), fmt.Errorf(format, args...)})
}

func (f *File) place(at *token.Token) string {
	if at == nil || at.Position == nil {
		return f.name
	}
	return fmt.Sprintf("%s:%d:%d", f.name, at.Position.Line, at.Position.Column)
}

// Place is where the value stands: file, line and column.
func (n *Node) Place() string { return n.file.place(n.node.GetToken()) }

// Fault notes what is wrong with the value.
func (n *Node) Fault(format string, args ...any) { n.file.fault(n.node.GetToken(), format, args...) }

// Check notes err, if there is one.
func (n *Node) Check(err error) {
	if err != nil {
		n.file.faults = append(n.file.faults, &Fault{n.Place(), err})
	}
}

// Empty says that nothing stands there, not even "".
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

// Entries are those of a mapping, in their order; none, if it is empty or not a
// mapping, which is a fault. what names it in that.
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

// Known finds the field of a key in known, and notes a fault if there is none, with
// the key that was probably meant.
func Known[T any](e Entry, known map[string]T) (field T, ok bool) {
	if field, ok = known[e.Key]; !ok {
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name)
		}
		slices.Sort(names)
		e.Unknown(names)
	}
	return field, ok
}

// Text is that of the entry's value, as Node.Text gives it.
func (e Entry) Text(what string) (text string, ok bool) {
	if e.Value.Empty() {
		e.At.Fault(`%s has no value; write "" for an empty one, or leave the key out`, what)
		return "", false
	}
	return e.Value.Text(what)
}

// Unknown notes that a key is none of known.
func (e Entry) Unknown(known []string) {
	hint := "there are " + strings.Join(known, ", ")
	if near := Nearest(e.Key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	e.At.Fault("unknown key %s; %s", e.Key, hint)
}

// Items are those of a list; none, if it is empty or not a list, which is a fault.
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

// Text is that of a single value, as it is written but for quotes and ${NAME}. It is
// a fault if something else stands there.
func (n *Node) Text(what string) (text string, ok bool) {
	switch s := n.node.(type) {
	case *ast.StringNode:
		return n.expand(s.Value)
	case *ast.LiteralNode:
		return n.expand(s.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return s.GetToken().Value, true
	default:
		n.Fault("%s takes one value, not %s", what, n.kind())
	}
	return "", false
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

// kind names a node for a person.
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

// MaxFile bounds what is read as a configuration, bytes: a list of 10,000 vehicles, each
// with its id and its names, has some 1.5 MiB.
const MaxFile = 8 << 20

// ReadFile reads a file, if it is not larger than any sensible configuration. The error is
// an *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes are more than a configuration has", info.Size())}
	}
	return os.ReadFile(path)
}
