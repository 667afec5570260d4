package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

const (
	// maxRefusing bounds the refusals that are being told; beyond it a connection
	// is closed without a word.
	maxRefusing = 64
	// refuseTime is how long a refusal may take to reach the peer.
	refuseTime = time.Second
	// refuseRetry is when a refused peer may come back, plus a random part of as
	// much again, so that not all of them come at once.
	refuseRetry = 5 * time.Second
	// maxNamed is how many connections the error of a shutdown names.
	maxNamed = 8
)

// refuse tells nc that there is no room for it. s.mu is held.
func (s *Server) refuse(nc net.Conn, text string) {
	s.stats.Refused++
	most := maxRefusing
	if s.MaxSockets > 0 {
		most = min(most, max(s.MaxSockets/8, 1))
	}
	if s.refusing >= most {
		_ = nc.Close()
		return
	}
	s.refusing++
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		defer func() {
			s.mu.Lock()
			s.refusing--
			s.mu.Unlock()
		}()
		_ = nc.SetDeadline(time.Now().Add(refuseTime))
		stop := context.AfterFunc(s.ctx, func() { _ = nc.Close() })
		defer stop()
		under := nc
		if s.config.TLS != nil {
			ctx, cancel := context.WithTimeout(s.ctx, refuseTime)
			defer cancel()
			secured, err := s.secure(ctx, nc, nil)
			if err != nil {
				return
			}
			under = secured
			_ = nc.SetDeadline(time.Now().Add(refuseTime))
		}
		sendRefusal(under, &frame.Frame{
			Type: frame.GOAWAY, Code: ResourceExhausted, Text: []byte(text),
			RetryAfter: uint32(refuseRetry.Milliseconds()), Jitter: uint32(refuseRetry.Milliseconds()),
		})
	}()
}

// sendRefusal writes the preface and goaway, and closes nc. It reads the bytes that the peer has
// sent: to close with unread bytes would reset the connection, and the peer might never see the
// reason. nc has a deadline.
func sendRefusal(nc net.Conn, goaway *frame.Frame) {
	defer nc.Close()
	if _, err := nc.Write(frame.AppendFrame([]byte(frame.Preface), goaway)); err != nil {
		return
	}
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(nc, blockSize))
}

// stop accepts no new connections, closes pending and waiting ones, and returns the open ones.
func (s *Server) stop() (open []*Conn) {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		s.cancel()
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	clear(s.listeners)
	open = s.openConns()
	s.queue.Clear(func(nc net.Conn) { _ = nc.Close() })
	for n, c := range s.opening {
		switch {
		case c == nil:
			_ = n.Conn.Close()
		case !c.entering():
			c.Abort(Unavailable)
		}
	}
	return open
}

// Shutdown stops accepting, drains every connection (see Conn.Drain), and closes them. Work that
// was not finished when ctx ended, or Config.DrainTimeout was over, is cut off; the error names
// those connections and the handlers that ran.
func (s *Server) Shutdown(ctx context.Context) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		ended []string
	)
	for _, c := range s.stop() {
		wg.Go(func() {
			err := c.Drain(ctx)
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				mu.Lock()
				ended = append(ended, fmt.Sprintf("%v: %v", c.RemoteAddr(), err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	err := s.wait()
	if n := len(ended); n > 0 {
		if n > maxNamed {
			ended = append(ended[:maxNamed], "...")
		}
		err = errors.Join(fmt.Errorf("wire: %d connections were cut off: %s", n, strings.Join(ended, "; ")), err)
	}
	return err
}

// Close stops accepting and closes every connection. It waits for handlers, whose contexts have
// ended, 5 s at most; the error means that some still run.
func (s *Server) Close() error {
	for _, c := range s.stop() {
		c.Abort(Unavailable)
	}
	return s.wait()
}

// wait waits for all that belongs to the connections.
func (s *Server) wait() error {
	if returnsWithin(closeWait, s.tasks.Wait) {
		return nil
	}
	return fmt.Errorf("wire: handlers still run %v after the end of the server", closeWait)
}
