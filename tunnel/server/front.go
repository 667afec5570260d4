package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/listen"
	"paddock/tunnel/internal/relay"
)

const (
	// HTTP/2 buffers a visitor's bytes before they are read. These are the windows of one stream
	// and of a connection, and the number of its streams. A permit counts the first for each body
	// that is not short (exchange.needs).
	h2StreamBuffer, h2ConnBuffer, h2Streams = 128 << 10, 512 << 10, 128
	// shutdown is how long the visitors of a front may take to finish.
	shutdown = 10 * time.Second
)

// Serve serves visitors on l, which it closes in the end: HTTP/1.1 and, without NoHTTP2,
// HTTP/2, in plain text, or with config as ServeTLS does. It returns nil after Close.
func (s *Server) Serve(l net.Listener, config *tls.Config) error {
	if config != nil {
		return s.ServeTLS(l, config)
	}
	s.init()
	f := s.front(l.Addr())
	return f.serve(l, func(conn net.Conn, first []byte) {
		c := newH1Conn(f, conn, "", false)
		c.take(first)
		c.serve()
	})
}

// front is a listener of visitors. HTTP/1.1 is its own (h1Conn), HTTP/2 that of net/http.
type front struct {
	s        *Server
	http2    *http.Server
	handed   *listen.Handover
	clock    clock
	stopping atomic.Bool
	visits   sync.WaitGroup // a goroutine for each connection that net/http does not have

	mu    sync.Mutex
	conns map[*h1Conn]struct{} // guarded by mu
}

// front makes one. Its http.Server has every limit that the zero value lacks.
func (s *Server) front(at net.Addr) *front {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &front{s: s, handed: listen.NewHandover(at), conns: map[*h1Conn]struct{}{}, http2: &http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            s.limits.Head,
		IdleTimeout:                  s.limits.Idle,
		MaxHeaderBytes:               h1.MaxVisitorHead,
		Protocols:                    protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          h2Streams,
			MaxReceiveBufferPerStream:     h2StreamBuffer,
			MaxReceiveBufferPerConnection: h2ConnBuffer,
			MaxReadFrameSize:              relay.H2Frame,
			WriteByteTimeout:              s.limits.Stall,
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}}
}

// serve calls visit with each connection of l and the bytes read from it, until the server or l
// closes. Current connections may then finish, except those of SNI visitors, which end with the
// server.
func (f *front) serve(l net.Listener, visit func(conn net.Conn, first []byte)) error {
	s := f.s
	stop := context.AfterFunc(s.ctx, func() { _ = l.Close() })
	defer stop()
	var http2 sync.WaitGroup
	http2.Go(func() { _ = f.http2.Serve(f.handed) }) // ends with its Shutdown
	s.accept(&visitors{l, s}, &f.visits, func(conn net.Conn) {
		if first, ok := conn.(*visitor).introduced(); ok {
			visit(conn, first)
		}
	})
	_ = l.Close()
	f.drain()
	http2.Wait()
	if s.ctx.Err() == nil {
		return net.ErrClosed
	}
	return nil
}

// drain waits for current HTTP connections, up to shutdown.
func (f *front) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdown)
	defer cancel()
	f.stopping.Store(true)
	f.each((*h1Conn).stop)
	cut := context.AfterFunc(ctx, func() {
		f.each(func(c *h1Conn) {
			c.cancel()
			_ = c.conn.Close()
		})
	})
	if f.http2.Shutdown(ctx) != nil {
		_ = f.http2.Close()
	}
	f.visits.Wait()
	cut()
}

// each calls fn for the connections of HTTP/1.1.
func (f *front) each(fn func(*h1Conn)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		fn(c)
	}
}

// enter adds a connection. It returns false if the front stops: the caller then closes it.
func (f *front) enter(c *h1Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = struct{}{}
	return !f.stopping.Load()
}

func (f *front) leave(c *h1Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// handOver hands a connection over to net/http, or closes it after the front has closed.
func (f *front) handOver(conn net.Conn) {
	if !f.handed.Give(conn) {
		_ = conn.Close()
	}
}
