package wiredump

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"paddock/wire"
)

const (
	// maxConnections is how many a relay has at once; more wait to be accepted.
	maxConnections = 256
	// dialTimeout bounds the way to the target.
	dialTimeout = 10 * time.Second
	// pipeBuffer is what a direction holds of the bytes that pass. A receiver that
	// does not read is felt by the sender, as without the relay.
	pipeBuffer = 32 << 10
)

// Relay accepts connections, connects each to a target, passes the bytes of both
// directions on unchanged, and shows the frames. The end of one direction is
// passed on as such, and so is a reset. An output that is slow loses lines, which
// is said; it never holds up a connection.
type Relay struct {
	Listener net.Listener // closed by Run
	Network  string       // of the target: tcp or unix
	Target   string
	Output   io.Writer
	Options  Options

	spool *spool
	wait  sync.WaitGroup
}

// Run relays until ctx ends or the output fails; then it closes all connections
// and waits for its goroutines, the one that writes to Output included.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.spool = newSpool(r.Options.JSON, spoolSize)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := r.spool.run(r.Output); err != nil {
			cancel(err)
		}
	})
	unhook := context.AfterFunc(ctx, func() { _ = r.Listener.Close() })
	err := r.accept(ctx)
	cancel(nil)
	unhook()
	_ = r.Listener.Close()
	r.wait.Wait()
	r.spool.close()
	writer.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func (r *Relay) accept(ctx context.Context) error {
	room := make(chan struct{}, maxConnections)
	for number := uint64(1); ; number++ {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		from, err := r.Listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = from.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		r.wait.Go(func() {
			defer func() { <-room }()
			r.serve(ctx, &passage{number: number, start: time.Now(), relay: r}, from)
		})
	}
}

// passage is one connection through the relay.
type passage struct {
	relay  *Relay
	number uint64
	start  time.Time
	names  names
}

// serve relays one connection to its end.
func (r *Relay) serve(ctx context.Context, p *passage, from net.Conn) {
	defer from.Close()
	dialer := net.Dialer{Timeout: dialTimeout}
	to, err := dialer.DialContext(ctx, r.Network, r.Target)
	if err != nil {
		p.say(&Line{Event: "failed", Reason: err.Error()})
		return
	}
	defer to.Close()
	p.say(&Line{Event: "opened", Reason: from.RemoteAddr().String() + " to " + to.RemoteAddr().String()})
	unhook := context.AfterFunc(ctx, func() {
		_ = from.Close()
		_ = to.Close()
	})
	defer unhook()
	var back sync.WaitGroup
	back.Go(func() { p.pass(wire.Acceptor, to, from) })
	p.pass(wire.Dialer, from, to)
	back.Wait()
	p.say(&Line{Event: "closed"})
}

// pass copies one direction until it ends. The frames are shown before they are
// passed on, so that a question is always above its answer.
func (p *passage) pass(sender wire.Role, from, to net.Conn) {
	d := reader{
		options: p.relay.Options, names: &p.names, from: sender, live: true,
		emit: func(l *Line) { p.sayFrom(sender, l) },
	}
	buf := make([]byte, pipeBuffer)
	var passed uint64
	for {
		n, err := from.Read(buf)
		d.feed(buf[:n])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				p.fail(sender, err)
				reset(from, to)
				return
			}
			passed += uint64(n)
		}
		switch {
		case err == io.EOF:
			d.end()
			p.sayFrom(sender, &Line{Event: "end", Offset: int64(passed), Count: passed})
			closeWrite(to)
			return
		case err != nil:
			p.fail(sender, err)
			reset(from, to)
			return
		}
	}
}

// fail tells why a direction has ended, unless it was closed by the relay itself:
// at its own end, or because the other direction has failed.
func (p *passage) fail(sender wire.Role, err error) {
	if !errors.Is(err, net.ErrClosed) {
		p.sayFrom(sender, &Line{Event: "failed", Reason: err.Error()})
	}
}

func (p *passage) sayFrom(sender wire.Role, l *Line) {
	l.From = sender.String()
	p.say(l)
}

func (p *passage) say(l *Line) {
	seconds := time.Since(p.start).Seconds()
	l.Conn, l.Seconds = p.number, &seconds
	p.relay.spool.add(l)
}

// closeWrite passes the end of a direction on.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the peer is gone: its direction will tell
	}
}

// reset ends both sides without the handshake of an orderly end, as the side did
// that failed.
func reset(sides ...net.Conn) {
	for _, c := range sides {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}
