package script

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// file is one that a script reads. Lines are parts of one text, which all interpreters
// share.
type file struct {
	text   string
	at     int
	closed bool
}

// fileType names the methods of files in the interpreter's registry.
const fileType = "paddock.file"

// openFiles makes the methods of files, and io.stdout and io.stderr.
func (s *state) openFiles() {
	methods := s.NewTable()
	s.set(methods, map[string]lua.LGFunction{"lines": s.lines, "read": s.readFrom, "close": s.closeFile})
	s.NewTypeMetatable(fileType).RawSetString("__index", methods)
	io := s.GetGlobal(lua.IoLibName).(*lua.LTable)
	for _, name := range []string{"stdout", "stderr"} {
		out := s.NewTable()
		s.set(out, map[string]lua.LGFunction{
			"write": func(l *lua.LState) int {
				l.Remove(1)
				return s.write(l)
			},
			"flush":   func(*lua.LState) int { return 0 },
			"setvbuf": func(*lua.LState) int { return 0 },
		})
		io.RawSetString(name, out)
	}
}

// openFile is io.open, for reading.
func (s *state) openFile(l *lua.LState) int {
	name, mode := l.CheckString(1), l.OptString(2, "r")
	if mode != "r" && mode != "rb" {
		l.RaiseError("io.open with the mode %q %v", mode, errUnused)
	}
	text, err := s.of.readFile(name)
	if err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	l.Push(s.value(&file{text: text}, fileType))
	return 1
}

// linesOf is io.lines.
func (s *state) linesOf(l *lua.LState) int {
	text, err := s.of.readFile(l.CheckString(1))
	if err != nil {
		l.RaiseError("%v", err)
	}
	l.Push(l.NewFunction((&file{text: text}).next))
	return 1
}

func checkFile(l *lua.LState) *file {
	f := check[*file](l, 1, "a file is expected")
	if f.closed {
		l.RaiseError("the file has been closed")
	}
	return f
}

func (s *state) lines(l *lua.LState) int {
	l.Push(l.NewFunction(checkFile(l).next))
	return 1
}

// next gives the next line, or nil.
func (f *file) next(l *lua.LState) int {
	l.Push(f.line())
	return 1
}

func (f *file) line() lua.LValue {
	if f.at >= len(f.text) {
		return lua.LNil
	}
	line, _, ended := strings.Cut(f.text[f.at:], "\n")
	f.at += len(line)
	if ended {
		f.at++
	}
	return lua.LString(line)
}

// readFrom is file:read.
func (s *state) readFrom(l *lua.LState) int {
	f := checkFile(l)
	if l.GetTop() == 1 {
		l.Push(f.line())
		return 1
	}
	n := l.GetTop()
	for i := 2; i <= n; i++ {
		l.Push(f.read(l, l.Get(i)))
	}
	return n - 1
}

func (f *file) read(l *lua.LState, format lua.LValue) lua.LValue {
	switch text := strings.TrimPrefix(format.String(), "*"); {
	case format.Type() == lua.LTNumber:
		return f.bytes(int(format.(lua.LNumber)))
	case strings.HasPrefix(text, "a"):
		rest := f.text[f.at:]
		f.at = len(f.text)
		return lua.LString(rest)
	case strings.HasPrefix(text, "l"):
		return f.line()
	case strings.HasPrefix(text, "n"):
		return f.number()
	}
	l.RaiseError("file:read of %q %v", format.String(), errUnused)
	return lua.LNil
}

func (f *file) bytes(n int) lua.LValue {
	if f.at >= len(f.text) {
		return lua.LNil
	}
	n = min(max(n, 0), len(f.text)-f.at)
	f.at += n
	return lua.LString(f.text[f.at-n : f.at])
}

func (f *file) number() lua.LValue {
	rest := strings.TrimLeft(f.text[f.at:], " \t\r\n")
	word := rest
	if i := strings.IndexAny(rest, " \t\r\n,;"); i >= 0 {
		word = rest[:i]
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return lua.LNil
	}
	f.at = len(f.text) - len(rest) + len(word)
	return lua.LNumber(n)
}

func (s *state) closeFile(l *lua.LState) int {
	checkFile(l).closed = true
	l.Push(lua.LTrue)
	return 1
}
