package tunnel

import (
	"errors"
	"io"
	"time"

	"paddock/wire"
)

// upload is the goroutine that sends a request's body while the answer comes.
type upload struct {
	x       *exchange
	proceed chan struct{} // nil: nobody waits for 100
	over    chan struct{} // closed when the answer is: who waits for 100 stops
	done    chan struct{} // closed when it has returned; nil: there is none
	whole   bool          // all of the body was sent; to be read once done is closed
}

// expectWait is how long a target may take to say that it wants a body. One that knows
// nothing of Expect waits for the body itself.
const expectWait = time.Second

// minRate bounds a slow body whose length is known: so many bytes within rateSpan. One
// of unknown length may be a conversation, and as slow as that.
const (
	minRateBytes = 5_000
	rateSpan     = 10 * time.Second
)

// upload begins to send the body. A request that upgrades sends nothing yet: its half
// stays open.
func (x *exchange) upload(st *wire.Stream) *upload {
	u := &upload{x: x, over: make(chan struct{})}
	if x.upgrade != "" {
		return u
	}
	if x.r.ContentLength == 0 {
		_ = st.CloseWrite()
		return u
	}
	if x.expects {
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
		timer := time.NewTimer(expectWait)
		defer timer.Stop()
		select {
		case <-u.proceed:
		case <-timer.C:
		case <-u.over:
			return
		}
	}
	if err := u.send(st); err != nil {
		_ = st.Reset(wire.Cancelled)
	}
}

func (u *upload) send(st *wire.Stream) error {
	b := records.Get().(*[1 + maxRecord]byte)
	defer records.Put(b)
	r, since := u.x.r, minRateBytes
	for {
		if since >= minRateBytes && r.ContentLength > 0 {
			_ = u.x.control.SetReadDeadline(time.Now().Add(rateSpan))
			since = 0
		}
		b[0] = recordBody
		n, err := r.Body.Read(b[1:])
		if since += n; n > 0 {
			if werr := st.WriteMsg(b[:1+n]); werr != nil {
				return nil // the far side wants no more; the answer tells
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

func (u *upload) sendTrailers(st *wire.Stream) error {
	if u.x.r.ContentLength > 0 {
		_ = u.x.control.SetReadDeadline(time.Time{})
	}
	msg := []byte{recordTrailers}
	for name, values := range u.x.r.Trailer {
		if known := lookupField(name); known != otherField {
			continue
		}
		for _, value := range values {
			msg = appendField(msg, name, value)
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

// end waits for the goroutine, once the answer is over: net/http wants the body back.
// One that still reads is woken by a deadline. It says whether the body was sent whole.
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
	_ = st.SetWriteDeadline(longAgo)
	_ = u.x.control.SetReadDeadline(longAgo)
	<-u.done
	if u.x.r.ProtoMajor == 1 { // so long net/http takes the rest, so that no reset overtakes the answer
		_ = u.x.control.SetReadDeadline(time.Now().Add(bodyLinger))
	}
	return u.whole
}

// running says whether the body is still being sent.
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

// bodyLinger is how long the rest of a body is taken that nobody wants.
const bodyLinger = 500 * time.Millisecond

// longAgo is a deadline that wakes whoever waits.
var longAgo = time.Unix(1, 0)
