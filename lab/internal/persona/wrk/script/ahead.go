package script

import (
	"fmt"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"paddock/load"
	"paddock/load/http1"
)

// The ring of a thread: at most ringBytes of requests that wait, in batches, each of which
// goes round between the script and the thread that sends.
const (
	ringBytes     = 4 << 20
	batches       = 16
	batchBytes    = ringBytes / batches
	batchRequests = 1024
)

// batch is requests that were made.
type batch struct {
	bytes    []byte
	messages []place
	pauses   []time.Duration // before each, if there is a delay()
}

// place is where a request is in its batch.
type place struct {
	begin, end, head int
	form             http1.Form
}

// room reports whether one more request may be put into it.
func (b *batch) room() bool { return len(b.bytes) < batchBytes && len(b.messages) < batchRequests }

// reset makes it empty. It keeps its memory, but for that of a large request.
func (b *batch) reset() {
	if cap(b.bytes) > 2*batchBytes {
		b.bytes = nil
	}
	b.bytes, b.messages, b.pauses = b.bytes[:0], b.messages[:0], b.pauses[:0]
}

// ahead makes the requests of one thread before they are sent. It is the thread's http1.Source: the
// fields below "of the sender" belong to the sender, and the others to the goroutine of run.
type ahead struct {
	t     *state
	depth int      // requests of the first call
	next  *batch   // that is filled
	spare []*batch // that are empty
	size  int      // bytes in the batches that are in use

	full  chan *batch   // to be sent; closed at the end. As many as there are batches: it never blocks
	free  chan *batch   // sent. Likewise
	stop  chan struct{} // closed by tellStop
	ended sync.WaitGroup

	filled     chan struct{} // closed when there is no room any more, or no more requests
	tellStop   func()
	tellFilled func()

	// Of the sender.
	pending []*batch // the first one is sent from
	at      int      // the next request in it
	pauses  []time.Duration
	pauseAt int // the next of them
	over    bool
	only    *batch // the one request of a script without request(), each time; nil = there is one
}

func newAhead(t *state) *ahead {
	stop, filled := make(chan struct{}), make(chan struct{})
	a := &ahead{
		t: t, full: make(chan *batch, batches), free: make(chan *batch, batches), next: &batch{},
		stop: stop, tellStop: sync.OnceFunc(func() { close(stop) }), filled: filled, tellFilled: sync.OnceFunc(func() { close(filled) }),
	}
	for range batches - 1 {
		a.spare = append(a.spare, &batch{})
	}
	return a
}

// first makes the first request, on the caller's goroutine.
func (a *ahead) first() error {
	if err := a.make(); err != nil {
		return err
	}
	a.depth = len(a.next.messages)
	if s := a.t.of; !s.dynamic && !s.delays {
		a.only = a.next
	}
	return nil
}

// start begins to make requests.
func (a *ahead) start() { a.ended.Go(a.run) }

// end ends it, and waits for it.
func (a *ahead) end() {
	a.tellStop()
	a.ended.Wait()
}

// run makes requests until end, until the script stops its thread, or until it fails. It
// owns the interpreter meanwhile.
func (a *ahead) run() {
	defer a.tellFilled()
	defer close(a.full)
	for !a.t.stopped {
		if !a.next.room() || len(a.next.messages) > 0 && len(a.full) == 0 { // or the sender may wait
			if !a.handOver() {
				return
			}
		}
		if err := a.make(); err != nil {
			a.t.of.fail(err)
			return
		}
		select {
		case <-a.stop:
			return
		default:
		}
	}
	if len(a.next.messages) > 0 {
		a.full <- a.next
	}
}

// handOver gives a batch to the sender, and takes an empty one; false = it is to end.
func (a *ahead) handOver() bool {
	a.size += len(a.next.bytes)
	a.full <- a.next
	for len(a.spare) == 0 || a.size > ringBytes-batchBytes {
		a.tellFilled()
		select {
		case b := <-a.free:
			a.size -= len(b.bytes)
			b.reset()
			a.spare = append(a.spare, b)
		case <-a.stop:
			return false
		}
	}
	last := len(a.spare) - 1
	a.next, a.spare = a.spare[last], a.spare[:last]
	return true
}

// make calls the script for one text of requests, and puts them into the batch.
func (a *ahead) make() error {
	list, pause, err := a.t.request()
	if err != nil {
		return err
	}
	b := a.next
	for i, m := range list {
		begin := len(b.bytes)
		b.bytes = append(b.bytes, m.Bytes...)
		b.messages = append(b.messages, place{begin, len(b.bytes), m.Head, m.Form})
		if i == 0 && a.t.of.delays {
			b.pauses = append(b.pauses, pause)
		}
	}
	return nil
}

// request calls delay() and request(). The requests are valid until the next call.
func (s *state) request() (list []http1.Message, pause time.Duration, err error) {
	if s.of.delays {
		if pause, err = s.delay(); err != nil {
			return nil, 0, err
		}
	}
	list, err = s.text()
	return list, pause, err
}

// text calls request().
func (s *state) text() ([]http1.Message, error) {
	f := s.global("request")
	if f == nil {
		f, _ = s.wrk.RawGetString("request").(*lua.LFunction)
	}
	s.Push(f)
	if err := s.call("request", s.of.limit, 0, 1); err != nil {
		return nil, err
	}
	v := s.Get(-1)
	s.Pop(1)
	text, ok := v.(lua.LString)
	if !ok {
		return nil, fmt.Errorf("%s: request() has returned a %s, not the text of a request", s.of.name, v.Type())
	}
	s.made = append(s.made[:0], text...)
	list, err := split(s.made)
	if err != nil {
		return nil, fmt.Errorf("%s: the result of request(): %w", s.of.name, err)
	}
	return list, nil
}

// maxDelay bounds the result of delay().
const maxDelay = 24 * time.Hour

// delay calls delay(), which gives whole milliseconds.
func (s *state) delay() (time.Duration, error) {
	s.Push(s.global("delay"))
	if err := s.call("delay", s.of.limit, 0, 1); err != nil {
		return 0, err
	}
	v := s.Get(-1)
	s.Pop(1)
	ms, ok := v.(lua.LNumber)
	if !ok || !(ms >= 0 && ms <= lua.LNumber(maxDelay.Milliseconds())) {
		return 0, fmt.Errorf("%s: delay() has returned %s, not a number of milliseconds from 0 to a day", s.of.name, v.String())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// Make gives the thread's next request, whatever its number in the run.
//
// hot: guarded by BenchmarkAhead.
func (a *ahead) Make(int64) (http1.Message, error) {
	if a.only != nil {
		a.at %= len(a.only.messages)
		return a.take(a.only), nil
	}
	for len(a.pending) == 0 || a.at == len(a.pending[0].messages) {
		if len(a.pending) > 0 {
			a.free <- a.pending[0]
			a.pending, a.at = a.pending[:copy(a.pending, a.pending[1:])], 0
		}
		if len(a.pending) == 0 {
			if err := a.fetch(); err != nil {
				return http1.Message{}, err
			}
		}
	}
	return a.take(a.pending[0]), nil
}

func (a *ahead) take(b *batch) http1.Message {
	p := b.messages[a.at]
	a.at++
	return http1.Message{Bytes: b.bytes[p.begin:p.end:p.end], Head: p.head, Form: p.form}
}

// fetch takes a batch that is ready.
func (a *ahead) fetch() error {
	if a.over {
		return load.ErrOver
	}
	select {
	case b, ok := <-a.full:
		if !ok {
			a.over = true
			return load.ErrOver
		}
		a.pending = append(a.pending, b)
		if a.pauseAt > len(a.pauses)/2 {
			a.pauses, a.pauseAt = a.pauses[:copy(a.pauses, a.pauses[a.pauseAt:])], 0
		}
		a.pauses = append(a.pauses, b.pauses...)
		return nil
	default:
		return load.ErrNotYet
	}
}

// pausing is the source of a script with a delay().
type pausing struct{ *ahead }

// Pause gives the next pause.
func (p pausing) Pause() (time.Duration, error) {
	a := p.ahead
	for a.pauseAt == len(a.pauses) {
		if err := a.fetch(); err != nil {
			return 0, err
		}
	}
	a.pauseAt++
	return a.pauses[a.pauseAt-1], nil
}
