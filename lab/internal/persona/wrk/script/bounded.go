package script

import (
	lua "github.com/yuin/gopher-lua"
)

// bound puts bounds on the functions of Lua that make long strings of short ones, and large
// tables of small ones, in one step of the interpreter.
func (s *state) bound() {
	text := s.GetGlobal(lua.StringLibName).(*lua.LTable)
	s.bounded(text, "rep", func(l *lua.LState) {
		if n := l.CheckInt64(2); n > 0 {
			size := len(l.CheckString(1))
			if size > 0 && n > int64(maxString/size) {
				l.RaiseError("%v", errLongString)
			}
			s.charge(l, size*int(n))
		}
	})
	s.bounded(text, "format", func(l *lua.LState) {
		bytes := 0
		for i := 1; i <= l.GetTop(); i++ {
			if v, ok := l.Get(i).(lua.LString); ok {
				bytes += len(v)
			}
		}
		if format := l.CheckString(1); wide(format) {
			l.RaiseError("a width of more than two digits in the format %q", format[:min(len(format), 100)])
		}
		s.charge(l, bytes)
	})
	s.bounded(text, "gsub", s.boundReplacement)
	tables := s.GetGlobal(lua.TabLibName).(*lua.LTable)
	s.bounded(tables, "insert", func(l *lua.LState) {
		if l.GetTop() == 3 {
			s.keep(l, l.Get(2), l.CheckTable(1))
		}
	})
	s.bounded(s.G.Global, "rawset", func(l *lua.LState) { s.keep(l, l.Get(2), l.CheckTable(1)) })
	s.bounded(tables, "concat", func(l *lua.LState) {
		t, between, bytes := l.CheckTable(1), len(l.OptString(2, "")), 0
		for i := 1; i <= t.Len() && bytes <= maxString; i++ {
			if v, ok := t.RawGetInt(i).(lua.LString); ok {
				bytes += len(v)
			}
			bytes += between
		}
		s.charge(l, bytes)
	})
}

// bounded lets a check go before a function of a table.
func (s *state) bounded(t *lua.LTable, name string, check func(l *lua.LState)) {
	f := t.RawGetString(name).(*lua.LFunction)
	t.RawSetString(name, s.NewFunction(func(l *lua.LState) int {
		check(l)
		n := l.GetTop()
		l.Insert(f, 1)
		l.Call(n, lua.MultRet)
		return l.GetTop()
	}))
}

// wide reports whether a format has a width or a precision of three digits, as Lua refuses
// it.
func wide(format string) bool {
	digits := 0
	for i, within := 0, false; i < len(format); i++ {
		switch c := format[i]; {
		case c == '%':
			within, digits = !within, 0
		case !within:
		case c >= '0' && c <= '9':
			if digits++; digits > 2 && format[i-digits+1] != '0' {
				return true
			}
		case c == '.' || c == '-' || c == '+' || c == ' ' || c == '#':
			digits = 0
		default:
			within = false
		}
	}
	return false
}

// boundReplacement counts what gsub puts in the place of what it finds.
func (s *state) boundReplacement(l *lua.LState) {
	text, bytes := l.CheckString(1), 0
	switch by := l.Get(3).(type) {
	case lua.LString:
		most := min(int64(len(text))+1, max(l.OptInt64(4, maxString), 0)) // times that it is put
		if len(by) > 0 && most > int64(maxString/len(by)) {
			l.RaiseError("%v", errLongString)
		}
		s.charge(l, int(most)*len(by))
	case *lua.LFunction, *lua.LTable:
		l.Replace(3, l.NewFunction(func(l *lua.LState) int {
			n := l.GetTop()
			var v lua.LValue
			if t, ok := by.(*lua.LTable); ok {
				v = l.GetTable(t, l.Get(1))
			} else {
				l.Insert(by, 1)
				l.Call(n, 1)
				v = l.Get(-1)
			}
			if bytes += len(v.String()); bytes > maxString {
				l.RaiseError("%v", errLongString)
			}
			s.charge(l, 0)
			l.Push(v)
			return 1
		}))
	}
}
