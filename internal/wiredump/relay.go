package wiredump

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"paddock/internal/netio/listen"
	"paddock/internal/wire/frame"
)

const (
	// maxConnections bounds the connections of a relay; further ones wait in the accept queue.
	maxConnections = 256
	// dialTimeout bounds a dial to the target.
	dialTimeout = 10 * time.Second
	// pipeBuffer is the buffer of a direction. It is small enough that a slow receiver still slows
	// down its sender.
	pipeBuffer = 32 << 10
)

// Relay accepts connections, connects each to a target, forwards the bytes of both directions
// unchanged, and shows the frames. It forwards the end of a direction, and a reset. An output that
// is too slow loses lines, which are counted; it never slows down a connection.
type Relay struct {
	Listener net.Listener // closed by Run
	Network  string       // of the target: tcp or unix
	Target   string
	Output   io.Writer
	Options  Options

	spool *spool
	wait  sync.WaitGroup
}

// Run relays until ctx ends or the output fails. It then closes all connections and waits for its
// goroutines, including the one that writes to Output.
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
	back.Go(func() { p.pass(frame.Acceptor, to, from) })
	p.pass(frame.Dialer, from, to)
	back.Wait()
	p.say(&Line{Event: "closed"})
}

// pass copies one direction until it ends. Frames are shown before they are forwarded, so that a
// request is always above its response.
func (p *passage) pass(sender frame.Role, from, to net.Conn) {
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
			_ = listen.CloseWrite(to) // if the peer is gone, its own direction reports that
			return
		case err != nil:
			p.fail(sender, err)
			reset(from, to)
			return
		}
	}
}

// fail shows the reason why a direction has ended, unless the relay itself has closed it.
func (p *passage) fail(sender frame.Role, err error) {
	if !errors.Is(err, net.ErrClosed) {
		p.sayFrom(sender, &Line{Event: "failed", Reason: err.Error()})
	}
}

func (p *passage) sayFrom(sender frame.Role, l *Line) {
	l.From = sender.String()
	p.say(l)
}

func (p *passage) say(l *Line) {
	seconds := time.Since(p.start).Seconds()
	l.Conn, l.Seconds = p.number, &seconds
	p.relay.spool.add(l)
}

// reset ends both sides with a reset, as the failed side did.
func reset(sides ...net.Conn) {
	for _, c := range sides {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}
