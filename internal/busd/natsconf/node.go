package natsconf

import (
	"fmt"
	"time"
)

// Pos is a place in a file. Line and Col count from 1, Col in bytes.
type Pos struct {
	File      string
	Line, Col int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Error is a mistake at a place.
type Error struct {
	Pos  Pos
	Text string
	Err  error // what it wraps; may be nil
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Kind tells which field of a Node holds its value.
type Kind uint8

// The kinds of values.
const (
	String Kind = iota + 1
	Integer
	Float
	Bool
	Time
	Array
	Map
)

var kindNames = [...]string{"nothing", "a string", "an integer", "a float", "a boolean", "a date", "an array", "a map"}

func (k Kind) String() string { return kindNames[k] }

// Node is one value. Nodes that came through a variable share what is below them:
// a tree is read, not changed.
type Node struct {
	Kind Kind
	Pos  Pos // where it begins; of a variable's value, where the variable is used

	Text   string    // String
	Int    int64     // Integer, its suffix applied
	Float  float64   // Float
	Bool   bool      // Bool
	Time   time.Time // Time
	List   []*Node   // Array
	Fields []*Field  // Map, in the order of the file; a key that comes again replaces its value

	index  map[string]*Field // Map: the fields by key
	weight int               // nodes in the tree below, this one included
}

// Field is one entry of a map.
type Field struct {
	Key   string
	Pos   Pos // of the key
	Value *Node
	Used  bool // as a variable by some other entry
}

// put adds an entry, or replaces its value.
func (n *Node) put(f *Field) {
	if n.index == nil {
		n.index = make(map[string]*Field)
	}
	if old := n.index[f.Key]; old != nil {
		*old = *f
		return
	}
	n.index[f.Key] = f
	n.Fields = append(n.Fields, f)
}

// Any returns the value in Go's own types, as encoding/json would: string, int64,
// float64, bool, time.Time, []any, map[string]any.
func (n *Node) Any() any {
	switch n.Kind {
	case Integer:
		return n.Int
	case Float:
		return n.Float
	case Bool:
		return n.Bool
	case Time:
		return n.Time
	case Array:
		list := make([]any, len(n.List))
		for i, v := range n.List {
			list[i] = v.Any()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Key] = f.Value.Any()
		}
		return m
	}
	return n.Text
}
