package server

import (
	"errors"
	"io"
	"sync"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// upload is the goroutine that sends a request's body while the answer comes.
type upload struct {
	x        *exchange
	proceed  chan struct{} // nil: 100 is not awaited
	over     chan struct{} // closed with the answer: ends the wait for 100
	done     chan struct{} // closed when it has returned; nil: there is none
	whole    bool          // all of the body was sent; to be read once done is closed
	err      error         // why reading it has failed; likewise
	received int64         // bytes of it that were read; likewise

	mu       sync.Mutex
	ended    bool // guarded by mu: the visitor is not waited for any more
	answered bool // guarded by mu: there is an answer, or the beginning of one
}

// expectWait is the time that a target has to ask for a body. One that does not support Expect
// waits for the body itself.
const expectWait = time.Second

// minRate bounds a slow body: this many bytes within rateSpan. A body of unknown length may be a
// conversation, and slow; but if no bytes pass in either direction within talkSpan, it is none.
// Streams of calls may pause for longer on both sides.
const (
	minRateBytes = 5_000
	rateSpan     = 10 * time.Second
	talkSpan     = 60 * time.Second
)

// upload begins to send the body. A request that upgrades sends nothing yet: its half
// stays open.
func (x *exchange) upload(st *wire.Stream) *upload {
	u := &upload{x: x, over: make(chan struct{})}
	if x.upgrade != "" {
		return u
	}
	if x.r.BodySize() == 0 {
		_ = st.CloseWrite()
		return u
	}
	if x.r.Expects {
		x.proceed = make(chan struct{})
		u.proceed = x.proceed
	}
	u.done = make(chan struct{})
	go u.run(st)
	return u
}

// run sends until the body ends, or reading or writing fails.
func (u *upload) run(st *wire.Stream) {
	defer close(u.done)
	if u.proceed != nil {
		select {
		case <-u.proceed:
		case <-time.After(expectWait):
		case <-u.over:
			return
		}
		u.x.t.proceed()
	}
	if err := u.send(st); err != nil {
		u.mu.Lock()
		if !u.ended {
			u.err = err
		}
		u.mu.Unlock()
		_ = st.Reset(wire.Cancelled)
	}
}

func (u *upload) send(st *wire.Stream) error {
	b := relay.Records.Get().(*relay.Record)
	defer relay.Records.Put(b)
	span, since := rateSpan, minRateBytes
	if u.talks() {
		span = talkSpan
	}
	for {
		if since >= minRateBytes {
			u.readWithin(span)
			since = 0
		}
		b[0] = message.RecordBody
		n, err := u.x.t.Read(b[1:])
		u.received += int64(n)
		if since += n; n > 0 {
			if werr := st.WriteMsg(b[:1+n]); werr != nil {
				return nil // the client has closed the stream; its answer has the cause
			}
		}
		if errors.Is(err, io.EOF) {
			return u.sendTrailers(st)
		}
		if err != nil {
			return err
		}
	}
}

// talks reports whether the body may be one half of a conversation.
func (u *upload) talks() bool { return u.x.r.BodySize() < 0 }

// readWithin bounds the next reads, unless the visitor is not waited for any more or may take
// unlimited time.
func (u *upload) readWithin(span time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.ended && !(u.talks() && (u.answered || u.x.r.calls())) {
		u.x.t.readUntil(time.Now().Add(span))
	}
}

// answer records that the answer begins.
func (u *upload) answer() {
	if u == nil || u.done == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.answered = true; u.talks() && !u.ended {
		u.x.t.readUntil(time.Time{})
	}
}

func (u *upload) sendTrailers(st *wire.Stream) error {
	msg := []byte{message.RecordTrailers}
	for _, f := range u.x.t.trailers() {
		if u.x.forward.CopiesTrailer(&f) {
			msg = h1.AppendField(msg, f.Name, f.Value)
		}
	}
	if len(msg) > 1 {
		if err := st.WriteMsg(append(msg, "\r\n"...)); err != nil {
			return nil
		}
	}
	u.whole = st.CloseWrite() == nil
	return nil
}

// end waits for the goroutine, once the answer is over: net/http needs the body back. A blocked
// read is woken by a deadline. It reports whether the body was sent completely.
func (u *upload) end(st *wire.Stream) (whole bool) {
	close(u.over)
	if u.done == nil {
		return true
	}
	select {
	case <-u.done:
		return u.whole
	default:
	}
	_ = st.SetWriteDeadline(relay.LongAgo)
	u.mu.Lock()
	u.ended = true
	u.x.t.readUntil(relay.LongAgo)
	u.mu.Unlock()
	<-u.done
	if !u.x.r.http2 { // so long net/http takes the rest, so that no reset overtakes the answer
		u.x.t.readUntil(time.Now().Add(bodyLinger))
	}
	return u.whole
}

// running reports whether the body is still being sent.
func (u *upload) running() bool {
	if u == nil || u.done == nil {
		return false
	}
	select {
	case <-u.done:
		return false
	default:
		return true
	}
}

const (
	// bodyLinger is the time for which the unwanted rest of a body is read.
	bodyLinger = 500 * time.Millisecond
	// answerLinger is the time that a visitor has to notice an answer in the middle of its body,
	// and to end: a few of the longest round trips.
	answerLinger = 5 * time.Second
)
