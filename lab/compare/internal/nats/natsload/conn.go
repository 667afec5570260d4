package natsload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"paddock/lab/compare/internal/harness/measure"
	natscodec "paddock/lab/internal/codec/nats"
)

// dial connects to a server without a login. The greeting is over: the server's next bytes are
// messages, or a PING.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	nc, _, err := natscodec.Dial(ctx, addr, natscodec.Login{}, "")
	return nc, err
}

// conn is a connection whose reader runs until it is closed. Any goroutine may write to it; each
// write has whole operations.
type conn struct {
	receiver
	nc       net.Conn
	name     string
	received atomic.Int64  // messages
	answers  chan struct{} // PONGs
	wake     func()        // called after each read; may be nil
}

// crew is the connections of one measurement. An error of one of them ends the context of all.
type crew struct {
	ctx     context.Context
	fail    context.CancelCauseFunc
	addr    string
	conns   []*conn
	readers sync.WaitGroup
	closing atomic.Bool
}

func newCrew(ctx context.Context, addr string) *crew {
	c := &crew{addr: addr}
	c.ctx, c.fail = context.WithCancelCause(ctx)
	return c
}

// join connects one more. prepare, if not nil, sets how it receives.
func (w *crew) join(name string, prepare func(*conn)) (*conn, error) {
	nc, err := dial(w.ctx, w.addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &conn{nc: nc, name: name, answers: make(chan struct{}, 16)}
	if prepare != nil {
		prepare(c)
	}
	w.conns = append(w.conns, c)
	w.readers.Go(func() {
		if err := c.receive(); !w.closing.Load() {
			w.fail(fmt.Errorf("%s: %w", name, err))
		}
	})
	return c, nil
}

// close ends every connection and waits for the readers.
func (w *crew) close() {
	w.closing.Store(true)
	for _, c := range w.conns {
		c.nc.Close()
	}
	w.readers.Wait()
	w.fail(nil)
}

// readSize bounds one read.
const readSize = 128 << 10

// receive takes the server's output until the connection ends, and returns why.
func (c *conn) receive() error {
	buf := make([]byte, readSize)
	for {
		n, err := c.nc.Read(buf)
		if failed := c.feed(buf[:n]); failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		c.received.Store(c.messages)
		if c.wake != nil {
			c.wake()
		}
		for ; c.pings > 0; c.pings-- {
			if _, err := io.WriteString(c.nc, "PONG\r\n"); err != nil {
				return err
			}
		}
		for ; c.pongs > 0; c.pongs-- {
			c.answers <- struct{}{} // not more than were asked for
		}
	}
}

// ping returns when the server has answered, and so has handled the earlier output of this
// connection.
func (c *conn) ping(ctx context.Context) error {
	if _, err := io.WriteString(c.nc, "PING\r\n"); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	select {
	case <-c.answers:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s waits for its PONG: %w", c.name, context.Cause(ctx))
	}
}

// send writes whole operations. Its error includes why ctx ended: the reader may have the server's
// -ERR by then, which tells more than a failed write.
func (c *conn) send(ctx context.Context, operations []byte) error {
	if _, err := c.nc.Write(operations); err != nil {
		return fmt.Errorf("%s: %w", c.name, errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

// startMeter begins a window in which the machine's processor time counts too.
func startMeter(server Server) (*measure.Meter, error) {
	runtime.GC() // the garbage of the warm-up is not part of the window
	return measure.StartMachineMeter(server)
}
