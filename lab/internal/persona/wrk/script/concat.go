package script

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// concatName is the global that concatenates. No name in a script is spelled so.
const concatName = ".."

// joined is a call with all the operands of a chain of concatenations: the interpreter would
// double a string in one step, for as long as there is memory.
func joined(e *ast.StringConcatOpExpr) *ast.FuncCallExpr {
	c := calling(concatName, e)
	for {
		c.Args = append(c.Args, e.Lhs)
		next, ok := e.Rhs.(*ast.StringConcatOpExpr)
		if !ok {
			c.Args = append(c.Args, single(e.Rhs))
			return c
		}
		e = next
	}
}

// concat is .. over all its arguments, from the right.
func (s *state) concat(l *lua.LState) int {
	n := l.GetTop()
	right := l.Get(n)
	for i := n - 1; i >= 1; i-- {
		parts, bytes := []string(nil), 0
		for j := i; j >= 1 && lua.LVCanConvToString(l.Get(j)) && lua.LVCanConvToString(right); j-- {
			parts = append(parts, l.Get(j).String())
			bytes += len(parts[len(parts)-1])
			i = j
		}
		if parts != nil {
			right = s.join(l, parts, right.String(), bytes)
			continue
		}
		left := l.Get(i)
		f := l.GetMetaField(left, "__concat")
		if f == lua.LNil {
			f = l.GetMetaField(right, "__concat")
		}
		if f == lua.LNil {
			l.RaiseError("a %s cannot be joined to a %s", right.Type(), left.Type())
		}
		l.Push(f)
		l.Push(left)
		l.Push(right)
		l.Call(2, 1)
		right = l.Get(-1)
		l.Pop(1)
	}
	l.Push(right)
	return 1
}

// join makes a string of parts, the last of them first, and what comes behind them.
func (s *state) join(l *lua.LState, parts []string, end string, bytes int) lua.LValue {
	s.charge(l, bytes+len(end))
	b := make([]byte, 0, bytes+len(end))
	for i := len(parts) - 1; i >= 0; i-- {
		b = append(b, parts[i]...)
	}
	return lua.LString(append(b, end...))
}
