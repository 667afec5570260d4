package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// tryH2 reports whether an exchange is for HTTP/2, as far as is known.
func (v *visit) tryH2() bool {
	p := v.target.h2
	return p != nil && (p.secure == nil || v.req.Upgrade == nil && !p.isPlain())
}

// h2Visit is an exchange with a target of HTTP/2.
type h2Visit struct {
	*visit
	up      *h2Body // nil: the request has no body
	interim *h2Interims
	wrote   atomic.Bool // the request's head was written
}

// serveH2 carries the exchange, on the goroutine of its handler; up is the body of its request.
// errPlain means that the target uses HTTP/1.1, and that nothing was sent.
func (v *visit) serveH2(up *h2Body) error {
	r, err := v.h2Request(up)
	if err != nil {
		return err
	}
	x := &h2Visit{visit: v, up: up, interim: newH2Interims(v)}
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(v.ctx, &httptrace.ClientTrace{
		Got1xxResponse: x.interim.got,
		WroteHeaders:   func() { x.wrote.Store(true) },
	}))
	defer up.finish()
	defer cancel()
	conn, res, err := x.ask(r.WithContext(ctx))
	x.interim.close()
	if err != nil {
		return err
	}
	defer conn.pool.leave(conn)
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 999 {
		return v.failure(h1.Malformed("status %d", res.StatusCode))
	}
	if res.StatusCode == http.StatusMisdirectedRequest {
		v.misdirected()
	}
	return x.answer(res)
}

// ask sends the request and waits for the head of the answer. It is sent once more if that
// does no harm.
func (v *h2Visit) ask(r *http.Request) (*h2Conn, *http.Response, error) {
	pool, after, begun := v.target.h2, uint64(0), time.Now()
	for again := false; ; again = true {
		c, err := pool.take(v.ctx, after)
		switch {
		case errors.Is(err, errH2Full):
			return nil, nil, v.c.full("every connection to the target is full")
		case err != nil:
			return nil, nil, v.failed(false, err)
		}
		v.wrote.Store(false)
		res, err := c.http.RoundTrip(r)
		if err == nil {
			c.served.Store(true)
			return c, res, nil
		}
		if res := grpcAnswer(r, begun, err); res != nil {
			return c, res, nil
		}
		alive := c.http.Available() > 0
		pool.leave(c)
		if again || !v.harmless(err, c) {
			return nil, nil, v.failure(err)
		}
		if !alive {
			after = pool.newest()
		}
		v.c.counts.retries.Add(1)
	}
}

// h2Reset is the reset of a stream. net/http fills it: its own has these fields.
type h2Reset struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (h2Reset) Error() string { return "tunnel: the target has reset the stream" }

const (
	// refusedStream is the code of a stream whose request was not looked at: RFC 9113
	// section 8.7.
	refusedStream = 7
	// goneAway is the error of a request that came too late for a GOAWAY: it was not
	// looked at either. net/http has no other name for it.
	goneAway = "http2: Transport received Server's graceful shutdown GOAWAY"
)

// harmless reports whether a request may be sent again that got no answer over c: the target
// has not looked at it, or it is idempotent and the connection was an old one that has
// ended. Its body must be at hand.
func (v *h2Visit) harmless(err error, c *h2Conn) bool {
	if v.ctx.Err() != nil || v.interim.any() || !v.up.rewind() {
		return false
	}
	var reset h2Reset
	switch {
	case !v.wrote.Load() || err.Error() == goneAway:
		return true
	case errors.As(err, &reset):
		return reset.Code == refusedStream
	}
	return c.served.Load() && c.hasEnded() && v.flags&message.FlagIdempotent != 0
}

// answer sends the answer: in one piece if it is short and of known length.
func (v *h2Visit) answer(res *http.Response) error {
	toHead := v.flags&message.FlagHead != 0
	text := appendH2Head(nil, res, toHead)
	h := h1.Head{Status: res.StatusCode, Length: res.ContentLength}
	bodiless := h.Bodiless(toHead)
	if v.st != nil {
		if err := v.st.WriteMsg(append([]byte{message.RecordHead}, text...)); err != nil || bodiless {
			return err
		}
		return v.sendBodyH2(v.st, res)
	}
	if bodiless {
		return v.r.Respond(message.AppendAnswer(nil, text, nil))
	}
	var body []byte
	small, _ := v.c.ahead(v.r.Conn(), &h)
	if n := res.ContentLength; n >= 0 && n <= int64(small-len(text)-minAnswer) {
		body = make([]byte, n)
		if _, err := io.ReadFull(res.Body, body); err != nil {
			return v.failure(err)
		}
		if _, err := res.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // trailers come before the end
			return v.failure(errShort)
		}
		if len(res.Trailer) == 0 {
			return v.r.Respond(message.AppendAnswer(nil, text, body))
		}
	}
	st, err := v.r.Promote(message.AppendAnswer(nil, text, body))
	if err != nil {
		return err
	}
	return v.sendBodyH2(st, res)
}

// minAnswer is the size of the fields before the head of a small answer.
const minAnswer = 8

// sendBodyH2 sends body and trailers as records.
func (v *h2Visit) sendBodyH2(st *wire.Stream, res *http.Response) error {
	b := relay.Records.Get().(*relay.Record)
	defer relay.Records.Put(b)
	b[0] = message.RecordBody
	for {
		n, err := res.Body.Read(b[1:])
		if n > 0 {
			if err := st.WriteMsg(b[:1+n]); err != nil {
				return fmt.Errorf("tunnel: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.failure(err)
		}
	}
	text := []byte{message.RecordTrailers}
	for _, name := range sortedNames(res.Trailer) {
		if h1.LookupField(name) == h1.OtherField {
			for _, value := range res.Trailer[name] {
				text = h1.AppendField(text, name, value)
			}
		}
	}
	if len(text) == 1 {
		return nil
	}
	return st.WriteMsg(append(text, "\r\n"...))
}

// cancelledStream is the code of a stream that is not wanted any more.
const cancelledStream = 8

// grpcAnswer returns the status for a gRPC call that the service has reset before it answered: a
// status alone, as a gRPC client derives from such a reset if it is connected directly. Services
// reset when their own clock is the first to find the deadline of the call exceeded. It returns nil
// for other errors, and for requests that are no calls.
func grpcAnswer(r *http.Request, begun time.Time, err error) *http.Response {
	var reset h2Reset
	if !errors.As(err, &reset) || reset.Code != cancelledStream || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return nil
	}
	status, text := "1", "the service has given up the call"
	if limit, ok := grpcTimeout(r.Header.Get("Grpc-Timeout")); ok && time.Since(begun) >= limit {
		status, text = "4", "the time of the call is over"
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{
		"Content-Type": {r.Header.Get("Content-Type")}, "Grpc-Status": {status}, "Grpc-Message": {text},
	}}
}

// grpcUnits are those of a timeout.
var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// grpcTimeout reads the time that a call may take: up to eight digits and a unit.
func grpcTimeout(s string) (limit time.Duration, ok bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	unit, ok := grpcUnits[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if err != nil || !ok {
		return 0, false
	}
	return min(time.Duration(n), time.Duration(1<<63-1)/unit) * unit, true
}
