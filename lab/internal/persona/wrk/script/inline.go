package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"paddock/load"
	"paddock/load/http1"
)

// maxAnswer bounds an answer that is passed to a script, including its head and framing.
const maxAnswer = 16 << 20

// inline is HTTP/1 of which the script makes each request when it is sent, and gets each
// answer when it is complete. It runs on the thread that makes the load.
type inline struct {
	*http1.Codec
	of *Script
}

// Name is "http/1.1 inline".
func (c *inline) Name() string { return c.Codec.Name() + " inline" }

// Thread returns the state of a thread.
func (c *inline) Thread(part, of int) load.Thread {
	source := &calls{t: c.of.threads[part], ahead: c.of.ahead[part]}
	t := &inlineThread{Thread: (&http1.Codec{Requests: source}).Thread(part, of), calls: source}
	if c.of.delays {
		return &inlinePausing{t}
	}
	return t
}

// calls are the requests of a script that is called for each.
type calls struct {
	t     *state
	ahead *ahead // holds the first ones
	list  []http1.Message
	began bool
	form  http1.Form // of the last
}

// Thread returns itself: it is of one thread.
func (c *calls) Thread(int, int) http1.Source { return c }

// Make gives the next request.
func (c *calls) Make(int64) (http1.Message, error) {
	if len(c.list) == 0 {
		if err := c.call(); err != nil {
			return http1.Message{}, err
		}
	}
	m := c.list[0]
	c.list, c.form = c.list[1:], m.Form
	return m, nil
}

func (c *calls) call() (err error) {
	switch {
	case c.t.stopped || c.t.of.Err() != nil:
		return load.ErrOver
	case !c.began:
		b := c.ahead.next
		c.began = true
		for _, p := range b.messages {
			c.list = append(c.list, http1.Message{Bytes: b.bytes[p.begin:p.end:p.end], Head: p.head, Form: p.form})
		}
		return nil
	}
	c.list, err = c.t.text()
	return c.check(err)
}

// check ends the run for an error of the script.
func (c *calls) check(err error) error {
	if err != nil {
		c.t.of.fail(err)
		return load.ErrOver
	}
	return nil
}

// inlineThread makes the sessions of one thread.
type inlineThread struct {
	load.Thread
	calls *calls
}

// Session returns the state of a connection.
func (t *inlineThread) Session() load.Session {
	return &inlineSession{Session: t.Thread.Session(), calls: t.calls}
}

// inlinePausing is a thread whose script has a delay().
type inlinePausing struct{ *inlineThread }

// Pause calls it.
func (p *inlinePausing) Pause() (time.Duration, error) {
	c := p.calls
	if c.t.stopped || c.t.of.Err() != nil {
		return 0, load.ErrOver
	}
	d, err := c.t.delay()
	return d, c.check(err)
}

// inlineSession is one connection. It keeps the bytes of the answers until the script has
// had them.
type inlineSession struct {
	load.Session
	calls *calls
	forms []http1.Form // of the requests that wait
	bytes []byte
	long  bool // the answer was longer than maxAnswer
}

// Request gives the next one.
func (s *inlineSession) Request(r *load.Request) error {
	if err := s.Session.Request(r); err != nil {
		return err
	}
	s.forms = append(s.forms, s.calls.form)
	return nil
}

// Receive passes complete answers to the script.
func (s *inlineSession) Receive(in []byte, answers *load.Answers) (used int, err error) {
	had := len(answers.List)
	used, err = s.Session.Receive(in, answers)
	s.keep(in[:used])
	s.tell(len(answers.List) - had)
	return used, err
}

// End takes the end of the stream.
func (s *inlineSession) End(answers *load.Answers) error {
	had := len(answers.List)
	err := s.Session.End(answers)
	s.tell(len(answers.List) - had)
	return err
}

func (s *inlineSession) keep(b []byte) {
	s.long = s.long || len(s.bytes)+len(b) > maxAnswer
	if s.calls.t.of.answers && !s.long {
		s.bytes = append(s.bytes, b...)
	}
}

var errLongAnswer = fmt.Errorf("an answer of more than %d MiB, which is not given to response()", maxAnswer>>20)

// tell calls response() for so many answers.
func (s *inlineSession) tell(n int) {
	t := s.calls.t
	if !t.of.answers {
		s.forms = s.forms[:copy(s.forms, s.forms[min(n, len(s.forms)):])]
		return
	}
	for range n {
		err := errLongAnswer
		if !s.long {
			err = s.tellOne(t)
		}
		if s.calls.check(err) != nil {
			return
		}
	}
}

var errAnswer = errors.New("an answer could not be read again for response()")

func (s *inlineSession) tellOne(t *state) error {
	form := s.forms[0]
	s.forms = s.forms[:copy(s.forms, s.forms[1:])]
	request := &http.Request{Method: "GET"}
	if form&http1.NoBody != 0 {
		request.Method = "HEAD"
	}
	for {
		head, _, ok := bytes.Cut(s.bytes, []byte("\r\n\r\n"))
		left := bytes.NewReader(s.bytes)
		in := bufio.NewReader(left)
		r, err := http.ReadResponse(in, request)
		if !ok || err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		err = nil
		if final := r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols; final {
			err = t.response(r.StatusCode, string(head), body)
			request = nil
		}
		s.bytes = s.bytes[:copy(s.bytes, s.bytes[len(s.bytes)-left.Len()-in.Buffered():])]
		if err != nil || request == nil {
			return err
		}
	}
}

// response calls response(status, headers, body). The headers are named as the service
// spells them.
func (s *state) response(status int, head string, body []byte) error {
	headers := s.NewTable()
	_, fields, _ := strings.Cut(head, "\r\n")
	for field := range strings.SplitSeq(fields, "\r\n") {
		if name, value, ok := strings.Cut(field, ":"); ok {
			headers.RawSetString(name, lua.LString(strings.Trim(value, " \t")))
		}
	}
	s.Push(s.global("response"))
	s.Push(lua.LNumber(status))
	s.Push(headers)
	s.Push(lua.LString(body))
	return s.call("response", s.of.limit, 3, 0)
}
