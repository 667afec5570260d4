package script

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// keyName is the global through which the keys of assignments go. No name in a script is
// spelled so.
const keyName = "[]"

// A table keeps the values of whole keys side by side, up to the greatest of them: a single
// assignment may take a gigabyte.
const (
	valueBytes = 2 * 16   // while they are copied to a longer array, both are there
	manyValues = 64 << 10 // up to which nobody asks
)

// meterKeys makes the keys of an assignment go through a call of ours.
func meterKeys(targets []ast.Expr) {
	for _, target := range targets {
		at, ok := target.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		at.Key = meteredKey(at.Key)
		// The table goes along where to name it once more does nothing else.
		if c, ok := at.Key.(*ast.FuncCallExpr); ok {
			if name, ok := at.Object.(*ast.IdentExpr); ok {
				c.Args = append(c.Args, name)
			}
		}
	}
}

// meterFields does so with those of {[key] = value}.
func meterFields(fields []*ast.Field) {
	for _, f := range fields {
		if f.Key != nil {
			f.Key = meteredKey(f.Key)
		}
	}
}

func meteredKey(key ast.Expr) ast.Expr {
	if _, constant := key.(*ast.StringExpr); constant {
		return key
	}
	return calling(keyName, key, single(key))
}

// key gives back its first argument, a key of the table that is its second, if it has one,
// unless there is no memory for a table with it.
func (s *state) key(l *lua.LState) int {
	k := l.Get(1)
	t, _ := l.Get(2).(*lua.LTable)
	s.keep(l, k, t)
	l.SetTop(1)
	return 1
}

// keep ends the script if a key of a table, if that is known, is one for which there is no
// memory.
func (s *state) keep(l *lua.LState, key lua.LValue, t *lua.LTable) {
	n, ok := key.(lua.LNumber)
	if !ok || n <= manyValues || n >= lua.LNumber(lua.MaxArrayIndex) || n != lua.LNumber(int(n)) {
		return // kept by their hash, or few
	}
	if t != nil && int(n) <= t.MaxN()+1 {
		return // no more than one step takes
	}
	if err := s.meter.room(uint64(n) * valueBytes); err != nil {
		l.RaiseError("%v", err)
	}
}
