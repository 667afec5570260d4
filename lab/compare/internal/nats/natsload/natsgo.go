package natsload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/lab/compare/internal/harness/measure"
)

// flushEvery is how many messages the driver nats.go publishes between two looks
// at its window and at the time.
const flushEvery = 256

// MeasureNATS runs the stream by nats.go: one publisher, and at most one
// subscriber, without anything beside.
func (s Stream) MeasureNATS(ctx context.Context, server Server, o measure.Options) (*measure.Measurement, error) {
	if s.Publishers > 1 || s.Subscribers > 1 || s.Members > 0 || s.Rate > 0 || s.Churn > 0 || s.Stalled > 0 || s.Subjects > 1 {
		return nil, fmt.Errorf("not with nats.go here: %w", errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Warmup+o.Duration+settle, errNotArrived)
	defer cancel()
	r := &clientStream{Stream: s}
	defer r.close()
	if err := r.join(server.Addr()); err != nil {
		return nil, err
	}
	if _, err := r.run(ctx, o.Warmup); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	meter, err := startMeter(server)
	if err != nil {
		return nil, err
	}
	m := &measure.Measurement{}
	m.Ops, err = r.run(ctx, o.Duration)
	m.Bytes = m.Ops * int64(s.Size)
	if err := errors.Join(err, meter.Stop(m)); err != nil {
		return nil, err
	}
	return m, r.verify(ctx)
}

// clientStream is a stream at work by nats.go.
type clientStream struct {
	Stream
	publisher, subscriber *nats.Conn
	window                *window
	received              atomic.Int64
}

func (r *clientStream) join(addr string) (err error) {
	limit := int64(windowBytes / (r.Size + perMessage))
	r.window = newWindow(limit, r.received.Load)
	if r.publisher, err = connect(addr); err != nil || r.Subscribers == 0 {
		return err
	}
	if r.subscriber, err = connect(addr); err != nil {
		return err
	}
	sub, err := r.subscriber.Subscribe("foo", func(*nats.Msg) {
		r.received.Add(1)
		r.window.wake()
	})
	if err != nil {
		return err
	}
	return errors.Join(sub.SetPendingLimits(-1, -1), r.subscriber.Flush())
}

// connect connects as nats.go does by default, but gives up at the first error.
func connect(addr string) (*nats.Conn, error) {
	return nats.Connect("nats://"+addr, nats.NoReconnect(), nats.Timeout(dialTimeout))
}

// run publishes for d and returns how many messages, when all have arrived.
func (r *clientStream) run(ctx context.Context, d time.Duration) (int64, error) {
	payload, before := bytes.Repeat([]byte("x"), r.Size), r.window.sent.Load()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if r.Subscribers == 0 {
			r.window.sent.Add(flushEvery)
		} else if err := r.window.enter(ctx, flushEvery); err != nil {
			return 0, err
		}
		for range flushEvery {
			if err := r.publisher.Publish("foo", payload); err != nil {
				return 0, err
			}
		}
	}
	if err := r.publisher.FlushWithContext(ctx); err != nil {
		return 0, err
	}
	sent := r.window.sent.Load() - before
	if r.Subscribers == 0 {
		return sent, nil
	}
	return sent, r.window.drained(ctx)
}

func (r *clientStream) verify(ctx context.Context) error {
	if r.Subscribers == 0 {
		return nil
	}
	if err := r.subscriber.FlushWithContext(ctx); err != nil {
		return err
	}
	if got, sent := r.received.Load(), r.window.sent.Load(); got != sent {
		return fmt.Errorf("got %d of %d messages", got, sent)
	}
	return nil
}

func (r *clientStream) close() {
	for _, nc := range []*nats.Conn{r.publisher, r.subscriber} {
		if nc != nil {
			nc.Close()
		}
	}
}

// MeasureNATS runs the requests by nats.go, each requester with a connection.
func (q Requests) MeasureNATS(ctx context.Context, server Server, o measure.Options) (*measure.Measurement, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Warmup+o.Duration+settle, errors.New("not everything was answered"))
	defer cancel()
	conns := make([]*nats.Conn, 0, 1+q.Requesters)
	defer func() {
		for _, nc := range conns {
			nc.Close()
		}
	}()
	for range 1 + q.Requesters {
		nc, err := connect(server.Addr())
		if err != nil {
			return nil, err
		}
		conns = append(conns, nc)
	}
	_, err := conns[0].Subscribe(service, func(m *nats.Msg) {
		_ = m.Respond(m.Data) // the requester misses it
	})
	if err := errors.Join(err, conns[0].Flush()); err != nil {
		return nil, err
	}
	callers := make([]requester, q.Requesters)
	for i := range callers {
		callers[i] = &clientCaller{conns[1+i], bytes.Repeat([]byte("x"), q.Size)}
	}
	return measureCalls(ctx, callers, q.Size, server, o)
}

// clientCaller is nats.go's requester.
type clientCaller struct {
	nc      *nats.Conn
	payload []byte
}

func (c *clientCaller) call(ctx context.Context) error {
	m, err := c.nc.RequestWithContext(ctx, service, c.payload)
	if err != nil {
		return err
	}
	if !bytes.Equal(m.Data, c.payload) {
		return fmt.Errorf("%w: the answer is %.40q", ErrProtocol, m.Data)
	}
	return nil
}
