package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// maxVisitorHead bounds the head of a visitor's request: what we add to it and what
	// the link allows leave room for more.
	maxVisitorHead = 32 << 10
	// HTTP/2 buffers what a visitor sends before it is read. These are the windows of one
	// stream and of a connection, and how many streams it has.
	h2StreamBuffer, h2ConnBuffer, h2Streams = 128 << 10, 512 << 10, 128
	// shutdown is how long the visitors of a front may take to finish.
	shutdown = 10 * time.Second
)

// Serve serves visitors on l, which it closes in the end: HTTP/1.1 and HTTP/2, in plain
// text, or with config as ServeTLS does. It returns nil after Close.
func (s *Server) Serve(l net.Listener, config *tls.Config) error {
	if config != nil {
		return s.ServeTLS(l, config)
	}
	s.init()
	return s.serve(s.visitors(l))
}

// serve serves visitors on l as Serve does.
func (s *Server) serve(l net.Listener) error {
	front := s.front()
	served := make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		defer close(served)
		ctx, cancel := context.WithTimeout(context.Background(), shutdown)
		defer cancel()
		if front.Shutdown(ctx) != nil {
			_ = front.Close()
		}
	})
	err := front.Serve(l)
	if stop() {
		return err
	}
	<-served
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// front is the http.Server of visitors, with every limit that its zero value lacks.
func (s *Server) front() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            s.limits.Head,
		IdleTimeout:                  s.limits.Idle,
		MaxHeaderBytes:               maxVisitorHead,
		Protocols:                    protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          h2Streams,
			MaxReceiveBufferPerStream:     h2StreamBuffer,
			MaxReceiveBufferPerConnection: h2ConnBuffer,
			WriteByteTimeout:              s.limits.Stall,
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}
