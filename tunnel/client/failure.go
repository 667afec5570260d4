package client

import (
	"context"
	"errors"
	"net"

	"paddock/internal/netio/h1"
	"paddock/wire"
)

// Failure is a visitor that the local service of a tunnel has failed: it refused the connection, or
// ended it without a complete answer.
type Failure struct {
	Tunnel string // its name
	// Request is the request as the service was to get it: the head, and as much of the body
	// as was there. It is borrowed until OnFailed returns, and nil for a raw connection.
	Request []byte
	Reached bool // there was a connection to the service
	Err     error
}

// targetError is a failure of a target: the error for the server, and its cause, which stays at the
// client.
type targetError struct {
	told  *wire.Error
	cause error
}

func (e *targetError) Error() string {
	if e.cause == nil {
		return e.told.Msg
	}
	return e.told.Msg + ": " + e.cause.Error()
}

func (e *targetError) Unwrap() error { return e.told }

// failed logs a failure, within the bound of logbound, and calls OnFailed. h is the head of the
// request, nil for a raw connection.
func (c *Client) failed(b *target, h *h1.Head, f *Failure) {
	f.Tunnel = b.Name
	if left, ok := c.fails.Take(); ok {
		log := c.log.With("tunnel", b.Name)
		if h != nil {
			log = log.With("method", logged(string(h.Method)), "host", logged(string(h.Host)), "path", logged(h.Path()))
		}
		log.Warn("tunnel: a visitor is not served, as the local service fails", "left_out", left, "error", f.Err)
	}
	if c.config.OnFailed != nil {
		c.config.OnFailed(*f)
	}
}

// logged cuts a visitor's input to the length that a line of the log keeps.
func logged(s string) string {
	const most = 256
	return s[:min(len(s), most)]
}

// failed reports an exchange that the target has failed, and returns the error. The end of a
// visitor or of the client is no failure.
func (v *visit) failed(reached bool, err error) error {
	if of := (*targetError)(nil); errors.As(err, &of) && v.ctx.Err() == nil {
		v.c.failed(v.target, &v.req, &Failure{Request: v.whole, Reached: reached, Err: err})
	}
	return err
}

// dialRaw connects to the target for a raw connection.
func (c *Client) dialRaw(ctx context.Context, b *target) (net.Conn, error) {
	conn, err := b.dial(ctx)
	if err != nil && ctx.Err() == nil {
		c.failed(b, nil, &Failure{Err: err})
	}
	return conn, err
}

// misdirected logs once for each tunnel that the service answers 421, as services do that take
// only names of their own machine.
func (v *visit) misdirected() {
	if v.target.HostHeader != "" || v.target.warned.Swap(true) {
		return
	}
	v.c.log.Warn("tunnel: the local service answers 421: it does not take this host", "tunnel", v.target.Name, "host", logged(string(v.req.Host)),
		"remedy", "--host-header localhost, or host_header: localhost in a file, gives it a name of this machine; whatever it lets programs of this machine do, visitors may do then")
}
