package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"paddock/wire"
)

// exchange is the side of an exchange that asks.
type exchange struct {
	c      *wire.Conn
	served *exchangeService
	noted  uint32
}

type exchangeCheck struct {
	name string
	run  func(context.Context) error
}

// checks are those of exchange.py's Suite, in its order.
func (x *exchange) checks() []exchangeCheck {
	return []exchangeCheck{
		{"echo", x.echo},
		{"reuse", x.reuse},
		{"errors", x.errors},
		{"deadline", x.deadline},
		{"cancel", x.cancel},
		{"body", x.body},
		{"promotion", x.promotion},
		{"streams", x.streams},
		{"confirm", x.confirm},
		{"stop", func(ctx context.Context) error { return x.breakOff(ctx, wire.Cancelled, (*wire.Stream).Close) }},
		{"reset", func(ctx context.Context) error {
			return x.breakOff(ctx, 4102, func(s *wire.Stream) error { return s.Reset(4102) })
		}},
		{"hang", x.hang},
		{"posts", x.posts},
	}
}

// codeOf is the code that the peer has given, 0 if the error is not of the peer.
func codeOf(err error) wire.Code {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// refused returns nil if err has the code, and says so of having been started.
func refused(err error, code wire.Code, notStarted bool) error {
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != code || e.NotStarted != notStarted {
		return fmt.Errorf("got %+v, want %v, not started: %v", err, code, notStarted)
	}
	return nil
}

// call is a call whose answer is known.
func (x *exchange) call(ctx context.Context, kind string, body []byte, want string) error {
	got, err := x.c.Call(ctx, kind, body)
	if err != nil || string(got) != want {
		return fmt.Errorf("%s of %d bytes: %d bytes %.40q, %v; want %d bytes %.40q", kind, len(body), len(got), got, err, len(want), want)
	}
	return nil
}

func (x *exchange) echo(ctx context.Context) error {
	for _, size := range []int{0, 1, 100, 10_000, 16_000} {
		if err := x.call(ctx, "echo", pattern(size), string(pattern(size))); err != nil {
			return err
		}
	}
	return nil
}

// reuse makes many calls at once: indexes are used again, generations go up.
func (x *exchange) reuse(ctx context.Context) error {
	failures := make(chan error, 100)
	var callers sync.WaitGroup
	for n := range cap(failures) {
		callers.Go(func() {
			for i := range 8 {
				body := strconv.Itoa(n) + "/" + strconv.Itoa(i)
				if err := x.call(ctx, "echo", []byte(body), body); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	callers.Wait()
	close(failures)
	return <-failures
}

func (x *exchange) errors(ctx context.Context) error {
	_, err := x.c.Call(ctx, "fail", nil)
	var e *wire.Error
	if !errors.As(err, &e) || e.Msg != "no such vehicle" || !bytes.Equal(e.Details, []byte{0xa1, 1, 2}) {
		return fmt.Errorf("got %+v", err)
	}
	if err := refused(err, wire.NotFound, false); err != nil {
		return err
	}
	_, err = x.c.Call(ctx, "nobody", nil)
	if err := refused(err, wire.Unimplemented, true); err != nil {
		return err
	}
	s, err := x.c.Open(ctx, "nobody", wire.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Read(make([]byte, 1))
	return refused(err, wire.Unimplemented, true)
}

func (x *exchange) deadline(ctx context.Context) error {
	minute, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	left, err := x.c.Call(minute, "left", nil)
	ms, bad := strconv.Atoi(string(left))
	if err != nil || bad != nil || ms <= 30_000 || ms > 60_000 {
		return fmt.Errorf("%q ms left of 60,000, %v", left, err)
	}
	if err := x.call(context.WithoutCancel(ctx), "left", nil, "none"); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := x.c.Call(soon, "wait", nil); !errors.Is(err, context.DeadlineExceeded) && codeOf(err) != wire.DeadlineExceeded {
		return fmt.Errorf("after the deadline: %v", err)
	}
	return nil
}

// cancel gives up more calls than the peer lets run at once: all of their slots
// must come back.
func (x *exchange) cancel(ctx context.Context) error {
	for range 3 {
		ctx, cancel := context.WithCancel(ctx)
		results := make(chan error, 64)
		for range cap(results) {
			go func() {
				_, err := x.c.Call(ctx, "wait", nil)
				results <- err
			}()
		}
		cancel()
		for range cap(results) {
			if err := <-results; !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a cancelled call: %v", err)
			}
		}
	}
	return x.echo(ctx)
}

// body sends a request whose body goes on for longer than every window.
func (x *exchange) body(ctx context.Context) error {
	body := pattern(700_000)
	answer, err := x.c.CallStream(ctx, "sum", body[:1000], wire.CallOptions{More: true})
	if err != nil {
		return err
	}
	defer answer.Stream.Close()
	if _, err := answer.Stream.Write(body[1000:]); err != nil {
		return err
	}
	if err := answer.Stream.CloseWrite(); err != nil {
		return err
	}
	head, err := answer.Stream.Accepted(ctx)
	if err != nil || string(head) != summary(body) {
		return fmt.Errorf("%q, %v; want %q", head, err, summary(body))
	}
	early, err := x.c.CallStream(ctx, "fail", body[:1000], wire.CallOptions{More: true})
	if err != nil {
		return err
	}
	defer early.Stream.Close()
	_, err = early.Stream.Accepted(ctx)
	return refused(err, wire.NotFound, false)
}

func (x *exchange) promotion(ctx context.Context) error {
	answer, err := x.c.CallStream(ctx, "pour", []byte("700000"), wire.CallOptions{})
	if err != nil {
		return err
	}
	defer answer.Stream.Close()
	if all, err := io.ReadAll(answer.Stream); err != nil || string(answer.Head) != "700000" || !bytes.Equal(all, pattern(700_000)) {
		return fmt.Errorf("%q and %d bytes, %v", answer.Head, len(all), err)
	}
	if err := x.call(ctx, "pour", []byte("300000"), "300000"+string(pattern(300_000))); err != nil { // gathered
		return err
	}
	endless, err := x.c.CallStream(ctx, "pour", []byte("100000000"), wire.CallOptions{})
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, endless.Stream, 200_000); err != nil {
		return err
	}
	return endless.Stream.Reset(wire.Cancelled)
}

// streams runs two at once, each with more than the windows in both directions.
func (x *exchange) streams(ctx context.Context) error {
	failures := make(chan error, 2)
	for _, size := range []int{800_000, 500_000} {
		go func() { failures <- x.mirrored(ctx, pattern(size), wire.OpenOptions{}) }()
	}
	if err := errors.Join(<-failures, <-failures); err != nil {
		return err
	}
	return x.mirrored(ctx, nil, wire.OpenOptions{First: []byte("with OPEN")})
}

// mirrored opens a mirror, and holds that all comes back that was sent.
func (x *exchange) mirrored(ctx context.Context, data []byte, o wire.OpenOptions) error {
	s, err := x.c.Open(ctx, "mirror", o)
	if err != nil {
		return err
	}
	defer s.Close()
	wrote := make(chan error, 1)
	go func() {
		_, err := s.Write(data)
		wrote <- errors.Join(err, s.CloseWrite())
	}()
	got, err := io.ReadAll(s)
	if want := append(o.First, data...); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
	}
	return <-wrote
}

func (x *exchange) confirm(ctx context.Context) error {
	if err := x.mirrored(ctx, pattern(1000), wire.OpenOptions{Confirm: true}); err != nil {
		return err
	}
	_, err := x.c.Open(ctx, "refuse", wire.OpenOptions{Confirm: true})
	if codeOf(err) != wire.PermissionDenied {
		return fmt.Errorf("refusal before bytes: %v", err)
	}
	s, err := x.c.Open(ctx, "refuse", wire.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Read(make([]byte, 1)); codeOf(err) != wire.PermissionDenied {
		return fmt.Errorf("refusal: %v", err)
	}
	return nil
}

// breakOff ends a stream that the peer goes on writing to; the peer's writer must
// see code.
func (x *exchange) breakOff(ctx context.Context, code wire.Code, end func(*wire.Stream) error) error {
	s, err := x.c.Open(ctx, "drip", wire.OpenOptions{})
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, s, 200_000); err != nil {
		return err
	}
	if err := end(s); err != nil {
		return err
	}
	want := strconv.Itoa(int(code))
	return x.until(ctx, "dripped", want)
}

// until asks until the answer is as it will be, or ctx ends.
func (x *exchange) until(ctx context.Context, kind, want string) error {
	for {
		got, err := x.c.Call(ctx, kind, nil)
		if err != nil {
			return fmt.Errorf("%s: %q, %v; want %q", kind, got, err, want)
		}
		if string(got) == want {
			return nil
		}
		runtime.Gosched()
	}
}

func (x *exchange) hang(ctx context.Context) error {
	s, err := x.c.Open(ctx, "hang", wire.OpenOptions{First: []byte("x")})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Read(make([]byte, 1)); codeOf(err) != 4100 {
		return fmt.Errorf("got %v, want code 4100", err)
	}
	return nil
}

// posts are more than the lane holds, alone and in batches, with and without ACK.
func (x *exchange) posts(ctx context.Context) error {
	next := func(size int) []byte {
		body := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+size), x.noted)
		x.noted++
		return body[:4+size]
	}
	for range 300 {
		alone, batch := next(3000), [][]byte{next(100), next(0), next(0), next(100)}
		if err := errors.Join(x.c.Post(ctx, "note", alone), x.c.PostBatch(ctx, "note", batch)); err != nil {
			return err
		}
	}
	var last uint64
	for range 50 {
		var err error
		if last, err = x.c.PostAck(ctx, "note", next(50)); err != nil {
			return err
		}
	}
	if err := x.c.WaitAcked(ctx, last); err != nil || last != 50 || x.c.Acked() != last {
		return fmt.Errorf("%d of %d acknowledged, %v", x.c.Acked(), last, err)
	}
	return x.call(ctx, "noted", nil, fmt.Sprintf("%d 0", x.noted))
}

// end is the end of an exchange: one side keeps a stream open and asks the other
// one to drain; that takes no new work, lets the stream end, and closes.
func (x *exchange) end(ctx context.Context, begins bool) error {
	if err := x.call(ctx, "done", nil, ""); err != nil {
		return err
	}
	for _, asked := range []struct {
		what string
		by   chan struct{}
		skip bool
	}{{"done", x.served.done, false}, {"drain", x.served.drain, begins}} {
		if asked.skip {
			continue
		}
		select {
		case <-asked.by:
		case <-ctx.Done():
			return fmt.Errorf("the peer does not say %s: %v", asked.what, ctx.Err())
		case <-x.c.Done():
			return fmt.Errorf("the peer does not say %s: %v", asked.what, x.c.Err())
		}
	}
	if !begins {
		return x.c.Drain(ctx)
	}
	s, err := x.c.Open(ctx, "mirror", wire.OpenOptions{First: []byte("still ")})
	if err != nil {
		return err
	}
	if err := x.call(ctx, "drain", nil, ""); err != nil {
		return err
	}
	select {
	case <-x.c.GoingAway():
	case <-ctx.Done():
		return fmt.Errorf("no GOAWAY: %v", ctx.Err())
	}
	if _, err := x.c.Call(ctx, "echo", nil); !errors.Is(err, wire.ErrDraining) {
		return fmt.Errorf("a call while the peer drains: %v", err)
	}
	if _, err := s.Write([]byte("here")); err != nil {
		return err
	}
	if err := s.CloseWrite(); err != nil {
		return err
	}
	if got, err := io.ReadAll(s); err != nil || string(got) != "still here" {
		return fmt.Errorf("a stream while the peer drains: %q, %v", got, err)
	}
	select {
	case <-x.c.Done():
	case <-ctx.Done():
		return fmt.Errorf("the connection does not end: %v", ctx.Err())
	}
	if err := x.c.Err(); !errors.Is(err, wire.ErrClosed) {
		return fmt.Errorf("the connection ends with %v", err)
	}
	return nil
}
