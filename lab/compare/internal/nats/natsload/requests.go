package natsload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
)

// service is the subject of requests.
const service = "service"

// Requests is an operation: requesters that each send the next request when they have the answer to
// the last, and one responder that returns each request's payload. Each has a connection of its
// own, and each request a reply subject of its own under its requester's inbox.
type Requests struct {
	Size       int
	Requesters int
}

// requester is one caller, behind whichever driver.
type requester interface {
	// call sends a request and checks its answer.
	call(ctx context.Context) error
}

// Measure runs the requests against a server.
func (q Requests) Measure(ctx context.Context, server Server, o measure.Options) (*measure.Measurement, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Warmup+o.Duration+settle, errors.New("not everything was answered"))
	defer cancel()
	w := newCrew(ctx, server.Addr())
	defer w.close()
	if err := respond(w); err != nil {
		return nil, err
	}
	callers := make([]requester, q.Requesters)
	for i := range callers {
		c, err := newCaller(ctx, server.Addr(), i, q.Size)
		if err != nil {
			return nil, fmt.Errorf("requester %d: %w", i, err)
		}
		defer c.nc.Close()
		callers[i] = c
	}
	return measureCalls(w.ctx, callers, q.Size, server, o)
}

// measureCalls lets every caller call, and times each call within the window. The
// window is cut out of a steady state.
func measureCalls(ctx context.Context, callers []requester, size int, server Server, o measure.Options) (*measure.Measurement, error) {
	var (
		running  sync.WaitGroup
		timing   atomic.Bool
		halt     atomic.Bool
		failures = make([]error, len(callers))
		times    = make([]*hdrhistogram.Histogram, len(callers))
	)
	for i, c := range callers {
		times[i] = measure.NewHistogram()
		running.Go(func() { failures[i] = callOn(ctx, c, &timing, &halt, times[i]) })
	}
	_ = lifecycle.Sleep(ctx, o.Warmup)
	m := &measure.Measurement{}
	meter, err := startMeter(server)
	if err == nil {
		timing.Store(true)
		_ = lifecycle.Sleep(ctx, o.Duration)
		timing.Store(false)
		err = meter.Stop(m)
	}
	halt.Store(true)
	running.Wait()
	m.Latency = measure.LatencyOf(measure.Merged(times))
	m.Ops = m.Latency.Count
	m.Bytes = m.Ops * int64(size)
	return m, errors.Join(append(failures, err)...)
}

func callOn(ctx context.Context, c requester, timing, halt *atomic.Bool, times *hdrhistogram.Histogram) error {
	for !halt.Load() {
		timed, began := timing.Load(), time.Now()
		if err := c.call(ctx); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if timed && timing.Load() {
			measure.Record(times, time.Since(began))
		}
	}
	return nil
}

// caller is the raw driver's requester: it knows the answer's bytes beforehand.
type caller struct {
	nc       net.Conn
	in       *bufio.Reader
	inbox    string
	number   int
	payload  []byte
	out      []byte
	expected []byte
	got      []byte
}

func newCaller(ctx context.Context, addr string, i, size int) (*caller, error) {
	nc, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &caller{nc: nc, in: bufio.NewReader(nc), inbox: fmt.Sprintf("_INBOX.r%03d", i), payload: bytes.Repeat([]byte("x"), size)}
	if err := nc.SetDeadline(deadline(ctx)); err != nil {
		nc.Close()
		return nil, err
	}
	if _, err := fmt.Fprintf(nc, "SUB %s.* 1\r\n", c.inbox); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline() // none is the zero time, which is none
	return at
}

func (c *caller) call(context.Context) error {
	c.number++
	size := len(c.payload)
	c.out = fmt.Appendf(c.out[:0], "PUB %s %s.%09d %d\r\n%s\r\n", service, c.inbox, c.number, size, c.payload)
	c.expected = fmt.Appendf(c.expected[:0], "MSG %s.%09d 1 %d\r\n%s\r\n", c.inbox, c.number, size, c.payload)
	if _, err := c.nc.Write(c.out); err != nil {
		return err
	}
	if err := c.skip(); err != nil {
		return err
	}
	c.got = append(c.got[:0], c.expected...)
	if _, err := io.ReadFull(c.in, c.got); err != nil {
		return err
	}
	if !bytes.Equal(c.got, c.expected) {
		return fmt.Errorf("%w: %.80q in place of the answer %.80q", ErrProtocol, c.got, c.expected)
	}
	return nil
}

// skip skips operations other than answers, and answers the server's PINGs.
func (c *caller) skip() error {
	for {
		first, err := c.in.Peek(1)
		if err != nil {
			return err
		}
		if first[0] == 'M' {
			return nil
		}
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		var other Counter
		if err := other.act(line); err != nil {
			return err
		}
		if other.Pings > 0 {
			if _, err := io.WriteString(c.nc, "PONG\r\n"); err != nil {
				return err
			}
		}
	}
}

// responder answers the requests of each read with one write.
type responder struct {
	Frames
	out  []byte
	conn *conn
}

// respond lets one more of the crew answer requests.
func respond(w *crew) error {
	r := &responder{}
	r.Message = func(f Frame) {
		r.out = fmt.Appendf(r.out, "PUB %s %d\r\n", f.Reply, len(f.Payload))
		r.out = append(r.out, f.Payload...)
		r.out = append(r.out, "\r\n"...)
	}
	c, err := w.join("responder", r, nil)
	if err != nil {
		return err
	}
	r.conn = c
	if err := c.send(w.ctx, []byte("SUB "+service+" 1\r\n")); err != nil {
		return err
	}
	return c.ping(w.ctx)
}

// Feed implements parser.
func (r *responder) Feed(p []byte) error {
	if err := r.Frames.Feed(p); err != nil || len(r.out) == 0 {
		return err
	}
	_, err := r.conn.nc.Write(r.out)
	r.out = r.out[:0]
	return err
}
