package script

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// threadType names the methods of threads in the interpreter's registry.
const threadType = "paddock.thread"

// openThreads makes the methods of threads.
func (s *state) openThreads() {
	methods := map[string]*lua.LFunction{
		"get": s.NewFunction(s.getGlobal), "set": s.NewFunction(s.setGlobal), "stop": s.NewFunction(s.stopThread),
	}
	m := s.NewTypeMetatable(threadType)
	s.set(m, map[string]lua.LGFunction{
		"__index": func(l *lua.LState) int {
			name := l.CheckString(2)
			switch f := methods[name]; {
			case f != nil:
				l.Push(f)
			case name == "addr":
				l.Push(lua.LString(checkThread(l).target(l)))
			default:
				l.Push(lua.LNil)
			}
			return 1
		},
		"__newindex": func(l *lua.LState) int {
			if name := l.CheckString(2); name != "addr" {
				l.RaiseError("a thread has no field %q to set; thread:set sets a global of its script", name)
			}
			checkThread(l).addr = l.CheckString(3)
			return 0
		},
	})
}

// thread is t as a value of interpreter s.
func (s *state) thread(t *state) lua.LValue { return s.value(t, threadType) }

func checkThread(l *lua.LState) *state { return check[*state](l, 1, "a thread is expected") }

// getGlobal is thread:get.
func (s *state) getGlobal(l *lua.LState) int {
	t := checkThread(l)
	v, err := move(t.GetGlobal(l.CheckString(2)), s.LState, 0)
	if err != nil {
		l.RaiseError("thread:get(%q): %v", l.CheckString(2), err)
	}
	l.Push(v)
	return 1
}

// setGlobal is thread:set.
func (s *state) setGlobal(l *lua.LState) int {
	t := checkThread(l)
	v, err := move(l.Get(3), t.LState, 0)
	if err != nil {
		l.RaiseError("thread:set(%q): %v", l.CheckString(2), err)
	}
	t.SetGlobal(l.CheckString(2), v)
	return 0
}

// stopThread is thread:stop, of a thread's own.
func (s *state) stopThread(l *lua.LState) int {
	t := checkThread(l)
	if t != s || !t.running {
		l.RaiseError("thread:stop is for a thread that runs, by its own script")
	}
	t.stopped = true
	return 0
}

// maxNesting bounds the tables within tables that are moved.
const maxNesting = 32

var (
	errNesting = errors.New("tables within tables, too deep")
	errMove    = errors.New("only booleans, numbers, strings and tables of them go from one thread's script to another")
)

// move copies a value to another interpreter.
func move(v lua.LValue, to *lua.LState, depth int) (lua.LValue, error) {
	switch x := v.(type) {
	case lua.LBool, lua.LNumber, lua.LString, *lua.LNilType:
		return v, nil
	case *lua.LTable:
		if depth == maxNesting {
			return nil, errNesting
		}
		t := to.NewTable()
		for k, v := range entries(x) {
			key, err := move(k, to, depth+1)
			if err != nil {
				return nil, err
			}
			value, err := move(v, to, depth+1)
			if err != nil {
				return nil, err
			}
			t.RawSet(key, value)
		}
		return t, nil
	}
	return nil, errMove
}
