package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// ExitError is os.exit, called by a script.
type ExitError struct{ Code int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("the script has ended the run by os.exit(%d)", e.Code)
}

// ExitCode returns the argument of os.exit.
func (e *ExitError) ExitCode() int { return e.Code }

// The room of an interpreter.
const (
	callDepth    = 200      // calls within calls
	firstValues  = 1 << 10  // of its stack
	maxValues    = 64 << 10 // to which that grows
	valuesAtOnce = 1 << 10
)

// state is one interpreter, with the script in it. It belongs to one goroutine at a time.
type state struct {
	*lua.LState
	of    *Script
	until deadline   // of the call that runs
	exit  *ExitError // os.exit has been called
	rng   random
	wrk   *lua.LTable

	scratch []byte // in which wrk.format puts a request together
	made    []byte // the last result of request()

	number  int  // of the thread, from 0; -1 = the one of setup and done
	running bool // requests are made
	stopped bool // by thread:stop
	addr    string
}

// newState makes an interpreter and runs the script's file in it.
func newState(of *Script, number int) (*state, error) {
	s := &state{
		of: of, number: number, until: deadline{Context: context.Background()},
		LState: lua.NewState(lua.Options{
			CallStackSize: callDepth, MinimizeStackMemory: true,
			RegistrySize: firstValues, RegistryMaxSize: maxValues, RegistryGrowStep: valuesAtOnce,
		}),
	}
	s.SetContext(&s.until)
	s.open()
	s.setWrk()
	s.Push(s.NewFunctionFromProto(of.proto))
	return s, s.call("the script", loadTime, 0, 0)
}

// compile reads a script.
func compile(name, text string) (*lua.FunctionProto, error) {
	if strings.HasPrefix(text, "#") { // #!/usr/bin/wrk: the line is left out, and counted
		_, text, _ = strings.Cut(text, "\n")
		text = "\n" + text
	}
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		if e, ok := errors.AsType[*parse.Error](err); ok {
			return nil, fmt.Errorf("%s:%d: %s near %q", name, e.Pos.Line, e.Message, e.Token)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	proto, err := lua.Compile(chunk, name)
	if e, ok := errors.AsType[*lua.CompileError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", name, e.Line, e.Message)
	}
	return proto, err
}

// call calls the function that was pushed below its arguments. The error has the file and
// the line.
func (s *state) call(what string, limit time.Duration, args, results int) error {
	s.until.begin(what, limit)
	err := s.PCall(args, results, nil)
	if s.exit != nil {
		return s.exit
	}
	if err == nil {
		return nil
	}
	text := err.Error()
	if e, ok := errors.AsType[*lua.ApiError](err); ok && e.Object != nil {
		text = e.Object.String()
	}
	if !strings.HasPrefix(text, s.of.name+":") {
		text = fmt.Sprintf("%s: %s: %s", s.of.name, what, strings.TrimSpace(text))
	}
	return errors.New(text)
}

// global is a function of the script; nil = it has none of this name.
func (s *state) global(name string) *lua.LFunction {
	f, _ := s.GetGlobal(name).(*lua.LFunction)
	return f
}

// leave is os.exit.
func (s *state) leave(l *lua.LState) int {
	code := 0
	switch v := l.Get(1).(type) {
	case lua.LNumber:
		code = int(v) & 0xff
	case lua.LBool:
		if !bool(v) {
			code = 1
		}
	}
	s.exit = &ExitError{code}
	s.until.err = s.exit
	l.RaiseError("%v", s.exit)
	return 0
}
