package document

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ParseYAML reads a YAML text of one document. Anchors, aliases and tags are errors. It returns nil
// if the text holds no value.
func ParseYAML(text []byte) (*Value, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlSyntax(err)
	}
	var root *Value
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil || isComment(doc.Body):
		case root != nil:
			return nil, syntax(placeOf(doc.Body), "a second document; one file is one document")
		default:
			if root, err = yamlValue(doc.Body, 0); err != nil {
				return nil, err
			}
		}
	}
	return root, nil
}

func yamlSyntax(err error) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return err
	}
	message := e.GetMessage()
	switch {
	case strings.HasPrefix(message, "found character '\t'"):
		message = "tab in indentation; YAML wants spaces"
	case message == "unexpected scalar value type":
		message = needsQuotes
	}
	return syntax(placeOfToken(e.GetToken()), "%s", message)
}

// needsQuotes is the error of an alias without a name, which most often is a text.
const needsQuotes = "anchors, aliases, tags and special numbers are not understood here; a text that begins with * or & needs quotes"

func isComment(n ast.Node) bool {
	_, ok := n.(*ast.CommentGroupNode)
	return ok
}

func placeOf(n ast.Node) Place { return placeOfToken(n.GetToken()) }

func placeOfToken(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{}
	}
	return Place{t.Position.Line, t.Position.Column}
}

func yamlValue(n ast.Node, depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, syntax(placeOf(n), "lists and objects nest deeper than %d", maxDepth)
	}
	v := &Value{Place: placeOf(n)}
	switch n := n.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
	case *ast.StringNode:
		v.Kind, v.Text = Text, n.Value
	case *ast.LiteralNode:
		v.Kind, v.Text = Text, n.Value.Value
	case *ast.BoolNode:
		v.Kind, v.Text = Bool, strconv.FormatBool(n.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		return v.number(n.GetToken().Value)
	case *ast.SequenceNode:
		return v.list(n.Values, depth)
	case *ast.MappingNode:
		return v.object(n.Values, depth)
	case *ast.MappingValueNode:
		return v.object([]*ast.MappingValueNode{n}, depth)
	default:
		return nil, syntax(v.Place, needsQuotes)
	}
	return v, nil
}

// number takes the forms of numbers that JSON has too. The others, such as 0x10 and 1_000, are
// texts: an id of 0123 stays as it is written.
func (v *Value) number(digits string) (*Value, error) {
	v.Kind, v.Text = Text, digits
	if jsonNumber(digits) {
		v.Kind = Number
	}
	return v, nil
}

// jsonNumber reports whether a number of YAML has the form of one in JSON.
func jsonNumber(s string) bool {
	v, err := ParseJSON([]byte(s))
	return err == nil && v.Kind == Number
}

func (v *Value) list(items []ast.Node, depth int) (*Value, error) {
	v.Kind = List
	for _, item := range items {
		value, err := yamlValue(item, depth+1)
		if err != nil {
			return nil, err
		}
		v.Items = append(v.Items, value)
	}
	return v, nil
}

func (v *Value) object(entries []*ast.MappingValueNode, depth int) (*Value, error) {
	v.Kind = Object
	for _, e := range entries {
		var key string
		switch k := e.Key.(type) {
		case *ast.StringNode:
			key = k.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
			key = k.GetToken().Value
		default:
			return nil, syntax(placeOf(e.Key), "a key is a plain word")
		}
		value, err := yamlValue(e.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if value.Kind == Object || value.Kind == List || value.Kind == Null {
			value.Place = placeOf(e.Key)
		}
		if err := v.add(key, value); err != nil {
			return nil, err
		}
	}
	return v, nil
}
