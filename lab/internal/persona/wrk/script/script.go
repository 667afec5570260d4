// Package script runs Lua scripts that were written for wrk.
//
// wrk calls request() whenever a connection is about to send. Here a goroutine of each thread calls
// request() and delay() ahead of time, and the results wait in a bounded ring: the thread that
// makes the load neither runs Lua nor waits for it. An empty ring makes a late send, with the cause
// load.Script. A script that looks at answers, with response(), cannot run ahead; it may run
// inline, which is slow and labelled so.
//
// A script gets the libraries of Lua 5.1 and wrk's own functions: a load generator need not defend
// itself against the script of its user. A call that takes too long ends, see deadline.go.
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"paddock/load"
	"paddock/load/http1"
)

// Options say how a script is run.
type Options struct {
	URL     string
	Args    []string      // arguments of init: the URL, and the user's arguments behind it
	Header  []http1.Field // of wrk.headers
	Threads int
	Inline  bool // call the script where requests are sent, and answers received
	Seed    uint64
	Print   io.Writer // where print and io.write go; nil = nowhere

	limit time.Duration // of one call of request, delay or response; 0 = requestTime
}

// ErrResponse says that a script wants answers.
var ErrResponse = errors.New("it has a function response(), which has to run between answers and requests and so cannot go ahead of them")

// Script is a loaded script, with an interpreter for each thread. Its methods are for one
// goroutine, except for those of the Codec.
type Script struct {
	name   string
	proto  *lua.FunctionProto
	url    *url.URL
	header []http1.Field
	args   []string
	seed   uint64
	inline bool
	limit  time.Duration // of one call of request, delay or response

	main    *state
	threads []*state
	dynamic bool // there is a request()
	delays  bool
	answers bool // there is a response()
	depth   int  // requests of the first call

	ahead   []*ahead        // nil = nothing is made ahead
	failing context.Context // ends when the script has failed during the run
	fail    context.CancelCauseFunc

	printing sync.Mutex // guards out
	out      io.Writer
}

// Load runs a script's text up to where the run begins: its top level in each interpreter,
// setup and init for each thread, and the first requests. An error has the file and the
// line.
func Load(name, text string, o Options) (*Script, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	s := &Script{
		name: name, url: u, header: o.Header, args: o.Args, seed: o.Seed, inline: o.Inline,
		limit: cmp.Or(o.limit, requestTime), out: o.Print,
	}
	s.failing, s.fail = context.WithCancelCause(context.Background())
	if s.proto, err = compile(name, text); err != nil {
		return nil, err
	}
	if s.main, err = newState(s, -1); err != nil {
		return nil, err
	}
	for i := range o.Threads {
		if err := s.addThread(i); err != nil {
			return nil, err
		}
	}
	return s, s.begin()
}

// addThread makes the interpreter of one thread.
func (s *Script) addThread(i int) error {
	t, err := newState(s, i)
	if err != nil {
		return err
	}
	s.threads = append(s.threads, t)
	t.wrk.RawSetString("thread", t.thread(t))
	if f := s.main.global("setup"); f != nil {
		s.main.Push(f)
		s.main.Push(s.main.thread(t))
		if err := s.main.call("setup", loadTime, 1, 0); err != nil {
			return err
		}
	}
	if f := t.global("init"); f != nil {
		args := t.NewTable()
		for i, a := range s.args {
			args.RawSet(lua.LNumber(i), lua.LString(a)) // from 0, as of wrk
		}
		t.Push(f)
		t.Push(args)
		if err := t.call("init", loadTime, 1, 0); err != nil {
			return err
		}
	}
	return t.setRequest()
}

// begin makes the first requests.
func (s *Script) begin() error {
	t := s.threads[0]
	s.dynamic, s.delays, s.answers = t.global("request") != nil, t.global("delay") != nil, t.global("response") != nil
	if s.answers && !s.inline {
		return fmt.Errorf("%s: %w", s.name, ErrResponse)
	}
	for _, t := range s.threads {
		t.running = true
		a := newAhead(t)
		if err := a.first(); err != nil {
			return err
		}
		s.ahead = append(s.ahead, a)
	}
	s.depth = s.ahead[0].depth
	return nil
}

// Depth is how many requests the first call has given: they are sent without waiting for
// answers.
func (s *Script) Depth() int { return s.depth }

// Address is where setup wants connections to go, host:port; "" = where the URL says. All
// threads go there: the error says that setup wants more than one.
func (s *Script) Address() (string, error) {
	for _, t := range s.threads {
		if t.addr != s.threads[0].addr {
			return "", fmt.Errorf("%s: setup gives the threads different addresses, %q and %q: a run here is of one service", s.name, s.threads[0].addr, t.addr)
		}
	}
	return s.threads[0].addr, nil
}

// fillTime is for how long a run waits for its rings to fill.
const fillTime = time.Second

// Codec is the protocol as the script speaks it. It begins to make requests, and returns
// when there is no room for more, or after a second.
func (s *Script) Codec() load.Codec {
	codec := &http1.Codec{Requests: s}
	if s.inline {
		return &inline{codec, s}
	}
	if s.dynamic || s.delays {
		for _, a := range s.ahead {
			a.start()
		}
		s.fill()
	}
	return codec
}

// fill waits until the rings are full.
func (s *Script) fill() {
	enough := time.NewTimer(fillTime)
	defer enough.Stop()
	for _, a := range s.ahead {
		select {
		case <-a.filled:
		case <-enough.C:
			return
		}
	}
}

// Thread returns the requests of one thread.
func (s *Script) Thread(part, _ int) http1.Source {
	a := s.ahead[part]
	if s.delays {
		return pausing{a}
	}
	return a
}

// Failing ends when the script fails during the run; Err says why.
func (s *Script) Failing() context.Context { return s.failing }

// Err is why the script has failed during the run; nil = it has not.
func (s *Script) Err() error { return context.Cause(s.failing) }

// Stop ends the making of requests, and waits for it.
func (s *Script) Stop() {
	for _, a := range s.ahead {
		a.end()
	}
}

// print writes the output of one call.
func (s *Script) print(text string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.out != nil {
		_, _ = io.WriteString(s.out, text)
	}
}

// Title names the script in reports, before the URL.
func (s *Script) Title() string {
	how := "ahead of time"
	if s.inline {
		how = "inline, which is slow"
	}
	return fmt.Sprintf("%s, run %s, to ", s.name, how)
}
