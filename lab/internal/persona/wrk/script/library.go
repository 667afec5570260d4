package script

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// open replaces the functions of Lua's libraries that are about this process: the output goes to
// the reports' streams, os.exit ends the run, and math.random draws the same in each run.
func (s *state) open() {
	s.set(nil, map[string]lua.LGFunction{"print": s.print})
	s.library(lua.OsLibName, map[string]lua.LGFunction{"exit": s.leave})
	s.library(lua.IoLibName, map[string]lua.LGFunction{"write": s.write})
	s.library(lua.MathLibName, map[string]lua.LGFunction{"random": s.rng.number, "randomseed": s.rng.seed})
	s.rng.start(s.of.seed, uint64(s.number+1))
	none := func(*lua.LState) int { return 0 }
	for _, name := range []string{"stdout", "stderr"} {
		out := s.NewTable()
		s.set(out, map[string]lua.LGFunction{"write": s.writeTo, "flush": none, "setvbuf": none})
		s.GetGlobal(lua.IoLibName).(*lua.LTable).RawSetString(name, out)
	}
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

func (s *state) library(name string, functions map[string]lua.LGFunction) {
	s.set(s.GetGlobal(name).(*lua.LTable), functions)
}

// print writes its arguments as Lua's does.
func (s *state) print(l *lua.LState) int {
	words := make([]string, l.GetTop())
	for i := range words {
		words[i] = l.ToStringMeta(l.Get(i + 1)).String()
	}
	s.of.print(strings.Join(words, "\t") + "\n")
	return 0
}

// write is io.write.
func (s *state) write(l *lua.LState) int {
	for i := range l.GetTop() {
		s.of.print(l.CheckString(i + 1))
	}
	return 0
}

// writeTo is the method write of io.stdout.
func (s *state) writeTo(l *lua.LState) int {
	l.Remove(1)
	return s.write(l)
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
