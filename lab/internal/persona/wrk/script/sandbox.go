package script

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// open opens the libraries of scripts: base, string, table and math of Lua, and those functions of
// os and io that have no effect beyond the run.
func (s *state) open() {
	for name, open := range map[string]lua.LGFunction{"": lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath} {
		s.Push(s.NewFunction(open))
		s.Push(lua.LString(name))
		s.LState.Call(1, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "load", "loadstring", "require", "module", "getfenv", "setfenv", "newproxy", "_printregs"} {
		s.SetGlobal(name, s.unused(name))
	}
	s.set(nil, map[string]lua.LGFunction{"print": s.print, "collectgarbage": func(l *lua.LState) int { l.Push(lua.LNumber(0)); return 1 }})
	s.library(lua.OsLibName, map[string]lua.LGFunction{
		"getenv": s.getenv, "time": now, "clock": clock, "exit": s.leave,
	}, "execute", "remove", "rename", "tmpname", "setlocale", "date", "difftime")
	s.library(lua.IoLibName, map[string]lua.LGFunction{
		"open": s.openFile, "lines": s.linesOf, "write": s.write,
	}, "popen", "read", "input", "output", "tmpfile", "close", "type")
	s.openFiles()
	s.set(s.GetGlobal(lua.MathLibName).(*lua.LTable), map[string]lua.LGFunction{"random": s.rng.number, "randomseed": s.rng.seed})
	s.rng.start(s.of.seed, uint64(s.number+1))
}

// set gives a table functions; nil = the globals.
func (s *state) set(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, f := range functions {
		if t == nil {
			s.SetGlobal(name, s.NewFunction(f))
		} else {
			t.RawSetString(name, s.NewFunction(f))
		}
	}
}

// library makes a library of functions; unused ones fail with an error.
func (s *state) library(name string, functions map[string]lua.LGFunction, unused ...string) {
	t := s.NewTable()
	s.set(t, functions)
	for _, u := range unused {
		t.RawSetString(u, s.unused(name+"."+u))
	}
	s.SetGlobal(name, t)
}

// errUnused is the error of a function of Lua that is not available.
var errUnused = errors.New("is not available to scripts here")

func (s *state) unused(name string) *lua.LFunction {
	return s.NewFunction(func(l *lua.LState) int {
		l.RaiseError("%s %v", name, errUnused)
		return 0
	})
}

// print writes its arguments as Lua's does.
func (s *state) print(l *lua.LState) int {
	var b strings.Builder
	for i := range l.GetTop() {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(l.ToStringMeta(l.Get(i + 1)).String())
	}
	b.WriteByte('\n')
	s.of.print(b.String())
	return 0
}

// write is io.write.
func (s *state) write(l *lua.LState) int {
	for i := range l.GetTop() {
		s.of.print(l.CheckString(i + 1))
	}
	return 0
}

func (s *state) getenv(l *lua.LState) int {
	if value, ok := s.of.environment(l.CheckString(1)); ok {
		l.Push(lua.LString(value))
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

// now is os.time without a table.
func now(l *lua.LState) int {
	if l.GetTop() > 0 && l.Get(1) != lua.LNil {
		l.RaiseError("os.time of a table %v", errUnused)
	}
	l.Push(lua.LNumber(time.Now().Unix()))
	return 1
}

var began = time.Now()

// clock is os.clock: s since the program's start.
func clock(l *lua.LState) int {
	l.Push(lua.LNumber(time.Since(began).Seconds()))
	return 1
}

// environment is a variable of the process.
func (o *Script) environment(name string) (string, bool) {
	if o.environ == nil {
		return os.LookupEnv(name)
	}
	for _, v := range o.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// random is the generator of one interpreter: its numbers are the same in each run.
type random struct{ *rand.Rand }

func (r *random) start(seed, stream uint64) { r.Rand = rand.New(rand.NewPCG(seed, stream)) }

// seed is math.randomseed.
func (r *random) seed(l *lua.LState) int {
	r.start(uint64(int64(l.CheckNumber(1))), 0)
	return 0
}

// number is math.random.
func (r *random) number(l *lua.LState) int {
	low, high := int64(1), int64(0)
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(r.Float64()))
		return 1
	case 1:
		high = l.CheckInt64(1)
	default:
		low, high = l.CheckInt64(1), l.CheckInt64(2)
	}
	if low > high || high-low == math.MaxInt64 || high-low < 0 {
		l.ArgError(l.GetTop(), fmt.Sprintf("there is no number from %d to %d", low, high))
	}
	l.Push(lua.LNumber(low + r.Int64N(high-low+1)))
	return 1
}
