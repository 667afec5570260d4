package natsload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"paddock/lab/compare/internal/harness/measure"
	natscodec "paddock/lab/internal/codec/nats"
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

// Measure runs the requests against a server.
func (q Requests) Measure(ctx context.Context, server Server, o measure.Options) (*measure.Measurement, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Warmup+o.Duration+settle, errors.New("not everything was answered"))
	defer cancel()
	w := newCrew(ctx, server.Addr())
	defer w.close()
	if err := respond(w); err != nil {
		return nil, err
	}
	calls := make([]measure.Call, q.Requesters)
	for i := range calls {
		c, err := newCaller(ctx, server.Addr(), i, q.Size)
		if err != nil {
			return nil, fmt.Errorf("requester %d: %w", i, err)
		}
		defer c.nc.Close()
		calls[i] = c.call
	}
	return measure.Calls(w.ctx, calls, 1, int64(q.Size), o, func() (*measure.Meter, error) { return startMeter(server) })
}

// caller is a requester.
type caller struct {
	receiver
	nc      net.Conn
	inbox   string
	number  int64 // of the present request
	payload []byte
	out, in []byte
	wrong   error
}

func newCaller(ctx context.Context, addr string, i, size int) (*caller, error) {
	inbox := fmt.Sprintf("_INBOX.r%03d", i)
	nc, _, err := natscodec.Dial(ctx, addr, natscodec.Login{}, fmt.Sprintf("SUB %s.* 1\r\n", inbox))
	if err != nil {
		return nil, err
	}
	at, _ := ctx.Deadline() // none is the zero time, which is none
	if err := nc.SetDeadline(at); err != nil {
		nc.Close()
		return nil, err
	}
	c := &caller{nc: nc, inbox: inbox, payload: bytes.Repeat([]byte("x"), size), in: make([]byte, readSize)}
	c.message = c.check
	return c, nil
}

// check holds a message to be the answer to the present request.
func (c *caller) check(op *natscodec.Operation) {
	if want := fmt.Appendf(c.out[:0], "%s.%09d", c.inbox, c.number); !bytes.Equal(op.Subject, want) || !bytes.Equal(op.Payload, c.payload) {
		c.wrong = fmt.Errorf("%w: %.40q on %s, where the answer to %s is due", ErrProtocol, op.Payload, op.Subject, want)
	}
}

// call sends a request, and returns when its answer has come.
func (c *caller) call(context.Context) error {
	c.number++
	c.out = fmt.Appendf(c.out[:0], "PUB %s %s.%09d %d\r\n%s\r\n", service, c.inbox, c.number, len(c.payload), c.payload)
	if _, err := c.nc.Write(c.out); err != nil {
		return err
	}
	for c.messages < c.number {
		n, err := c.nc.Read(c.in)
		if err := errors.Join(err, c.feed(c.in[:n]), c.wrong); err != nil {
			return err
		}
		for ; c.pings > 0; c.pings-- {
			if _, err := io.WriteString(c.nc, "PONG\r\n"); err != nil {
				return err
			}
		}
	}
	if c.messages > c.number {
		return fmt.Errorf("%w: an answer came twice", ErrProtocol)
	}
	return nil
}

// respond lets one more of the crew answer requests: those of each read with one write.
func respond(w *crew) error {
	var out []byte
	c, err := w.join("responder", func(c *conn) {
		c.message = func(op *natscodec.Operation) {
			out = fmt.Appendf(out, "PUB %s %d\r\n", op.Reply, op.Size)
			out = append(append(out, op.Payload...), "\r\n"...)
		}
		c.wake = func() {
			if len(out) > 0 {
				_, _ = c.nc.Write(out) // the requesters miss answers that are lost
				out = out[:0]
			}
		}
	})
	if err != nil {
		return err
	}
	if err := c.send(w.ctx, []byte("SUB "+service+" 1\r\n")); err != nil {
		return err
	}
	return c.ping(w.ctx)
}
