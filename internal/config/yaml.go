package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// yamlReader walks the file's syntax tree. It decodes scalars by the same rules
// as the other sources, instead of YAML's: so a password of 0123 or no stays as
// it is written.
type yamlReader struct {
	config *Config
	file   string // as it is named in errors
	faults []error
}

// readYAML sets the keys that the file gives. It returns all that is wrong.
func (c *Config) readYAML(path string, text []byte) []error {
	r := &yamlReader{config: c, file: filepath.Base(path)}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			r.fault(syntax.GetToken(), "%s", syntax.GetMessage())
			return r.faults
		}
		return []error{&Error{Place: r.file, Err: err}}
	}
	for i, doc := range tree.Docs {
		switch {
		case doc.Body == nil:
		case i > 0:
			r.fault(doc.Body.GetToken(), "a second document; one file is one configuration")
		default:
			r.eachEntry(doc.Body, "the file", r.section)
		}
	}
	return r.faults
}

func (r *yamlReader) fault(at *token.Token, format string, args ...any) {
	r.faults = append(r.faults, &Error{Place: r.place(at), Err: fmt.Errorf(format, args...)})
}

func (r *yamlReader) place(at *token.Token) string {
	if at == nil || at.Position == nil {
		return r.file
	}
	return fmt.Sprintf("%s:%d:%d", r.file, at.Position.Line, at.Position.Column)
}

// eachEntry calls fn with the entries of a mapping. An empty one is no fault.
func (r *yamlReader) eachEntry(n ast.Node, what string, fn func(key string, entry *ast.MappingValueNode)) {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	case *ast.NullNode, *ast.CommentGroupNode:
		return
	default:
		r.fault(n.GetToken(), "%s holds keys with values, not %s", what, kindOf(n))
		return
	}
	for _, e := range entries {
		key, ok := e.Key.(*ast.StringNode)
		if !ok {
			r.fault(e.Key.GetToken(), "a key is a plain word, not %s", kindOf(e.Key))
			continue
		}
		fn(key.Value, e)
	}
}

func (r *yamlReader) section(name string, entry *ast.MappingValueNode) {
	known := sections(settings(r.config))
	if !slices.Contains(known, name) {
		hint := "there are " + strings.Join(known, ", ")
		if near := nearest(name, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.fault(entry.Key.GetToken(), "unknown key %s; %s", name, hint)
		return
	}
	r.eachEntry(entry.Value, name, func(key string, e *ast.MappingValueNode) {
		r.setting(name+"."+key, e)
	})
}

func (r *yamlReader) setting(key string, entry *ast.MappingValueNode) {
	if _, empty := entry.Value.(*ast.NullNode); empty {
		r.fault(entry.Key.GetToken(), `%s has no value; write "" for an empty one, or leave the key out`, key)
		return
	}
	text, ok := scalar(entry.Value)
	if !ok {
		r.fault(entry.Value.GetToken(), "%s takes one value, not %s", key, kindOf(entry.Value))
		return
	}
	place := r.place(entry.Key.GetToken())
	if err := r.config.set(key, text, place); err != nil {
		r.faults = append(r.faults, err)
	}
}

// scalar returns the text of a single value, as it is written but for quotes.
func scalar(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// kindOf names a node for a person.
func kindOf(n ast.Node) string {
	switch n.(type) {
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
