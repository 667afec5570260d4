package natsload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout bounds one connect with its greeting.
const dialTimeout = 10 * time.Second

// greeting is the first output of every connection.
const greeting = `CONNECT {"verbose":false,"pedantic":false,"protocol":1,"headers":true,"no_responders":true,` +
	`"lang":"bench","version":"1"}` + "\r\nPING\r\n"

// dial connects and waits for the server's PONG, and for the bytes behind the first one.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := greet(nc); err != nil {
		nc.Close()
		return nil, fmt.Errorf("greeting: %w", err)
	}
	return nc, nil
}

func greet(nc net.Conn) error {
	if err := nc.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(nc, 2<<10)
	for _, ping := range []string{greeting, "PING\r\n"} {
		if _, err := io.WriteString(nc, ping); err != nil {
			return err
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.HasPrefix(line, "-ERR") {
				return fmt.Errorf("%w %s", ErrServer, strings.TrimSpace(line[4:]))
			}
			if strings.HasPrefix(line, "PONG") {
				break
			}
		}
	}
	return nc.SetDeadline(time.Time{})
}

// conn is a connection whose reader runs until it is closed. It writes from any
// goroutine, whole operations each time.
type conn struct {
	nc       net.Conn
	name     string
	received atomic.Int64 // messages
	pongs    chan struct{}
	parse    parser
	wake     func() // called after received has grown; nil without
}

// parser takes the bytes of a connection: a [Counter] or [Frames].
type parser interface {
	Feed(p []byte) error
	// tally returns the counts so far.
	tally() (messages, pings, pongs int64)
}

func (c *Counter) tally() (messages, pings, pongs int64) { return c.Messages, c.Pings, c.Pongs }

// The receiver of whole messages counts them itself.
func (f *Frames) tally() (messages, pings, pongs int64) { return -1, f.Pings, f.Pongs }

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

// join connects one more, whose reader feeds p.
func (w *crew) join(name string, p parser, wake func()) (*conn, error) {
	nc, err := dial(w.ctx, w.addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &conn{nc: nc, name: name, pongs: make(chan struct{}, 16), parse: p, wake: wake}
	w.conns = append(w.conns, c)
	w.readers.Go(func() {
		if err := c.read(); !w.closing.Load() {
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

// read feeds the parser until the connection ends, and returns why.
func (c *conn) read() error {
	buf := make([]byte, readSize)
	var ponged, pinged int64
	for {
		n, err := c.nc.Read(buf)
		if failed := c.parse.Feed(buf[:n]); failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		messages, pings, pongs := c.parse.tally()
		if messages >= 0 {
			c.received.Store(messages)
		}
		if c.wake != nil {
			c.wake()
		}
		for ; pinged < pings; pinged++ {
			if _, err := io.WriteString(c.nc, "PONG\r\n"); err != nil {
				return err
			}
		}
		for ; ponged < pongs; ponged++ {
			c.pongs <- struct{}{} // not more than were asked for
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
	case <-c.pongs:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s waits for its PONG: %w", c.name, context.Cause(ctx))
	}
}

// send writes whole operations. The server's last words before it closed tell more than the error
// of the write.
func (c *conn) send(ctx context.Context, operations []byte) error {
	if _, err := c.nc.Write(operations); err != nil {
		return fmt.Errorf("%s: %w", c.name, errors.Join(err, context.Cause(ctx)))
	}
	return nil
}
