package peers

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// The first byte of a byte stream, which tells its purpose.
const (
	modeEcho  = 'e' // messages of SmallSize bytes, each sent back
	modePosts = 'p' // messages behind their lengths, u32 little-endian
	modeBulk  = 'b' // bytes
)

// readBuffer bounds one read of a receiver of bulk. Four bulk messages were not slower than one on
// loopback, and not faster than sixteen.
const readBuffer = 4 * BulkSize

// serveStream receives one byte stream according to its first byte. It is the common part of raw
// TCP, yamux and smux, which carry bytes and no messages.
func serveStream(s net.Conn, sink *Sink) error {
	var mode [1]byte
	if _, err := io.ReadFull(s, mode[:]); err != nil {
		return err
	}
	switch mode[0] {
	case modeEcho:
		return serveEcho(s)
	case modePosts:
		return servePosts(s, sink.Counter())
	case modeBulk:
		buf := make([]byte, readBuffer)
		_, err := io.CopyBuffer(sink.Counter(), struct{ io.Reader }{s}, buf)
		return err
	}
	return fmt.Errorf("no such mode: %q", mode[0])
}

func serveEcho(s net.Conn) error {
	buf := make([]byte, SmallSize)
	for {
		if _, err := io.ReadFull(s, buf); err != nil {
			return err
		}
		if _, err := s.Write(buf); err != nil {
			return err
		}
	}
}

func servePosts(s net.Conn, counter *Counter) error {
	r := bufio.NewReaderSize(s, readBuffer)
	buf := make([]byte, SmallSize)
	for {
		head, err := r.Peek(4)
		if err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint32(head))
		if size > len(buf) {
			return fmt.Errorf("a message of %d bytes", size)
		}
		_, _ = r.Discard(4) // it was peeked at
		if _, err := io.ReadFull(r, buf[:size]); err != nil {
			return err
		}
		counter.Add(1, size)
	}
}

// streamSession is a session over anything that opens byte streams.
type streamSession struct {
	open  func() (net.Conn, error)
	close func() error

	mu    sync.Mutex
	posts *streamPoster
}

func (s *streamSession) start(mode byte) (net.Conn, error) {
	stream, err := s.open()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Write([]byte{mode}); err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return stream, nil
}

// Requester has a stream of its own: opening one for each request only costs.
func (s *streamSession) Requester(context.Context) (Requester, error) {
	stream, err := s.start(modeEcho)
	return &streamRequester{stream: stream}, err
}

// Poster returns the one stream of all posters, behind a lock: a stream for each
// of 100 posters was not faster.
func (s *streamSession) Poster(context.Context) (Sender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts == nil {
		stream, err := s.start(modePosts)
		if err != nil {
			return nil, err
		}
		s.posts = &streamPoster{stream: stream}
	}
	return s.posts, nil
}

func (s *streamSession) Bulk(context.Context) (Sender, error) {
	stream, err := s.start(modeBulk)
	return &streamBulk{stream: stream}, err
}

func (s *streamSession) Close() error { return s.close() }

type streamRequester struct {
	stream net.Conn
	answer [SmallSize]byte
}

func (r *streamRequester) Request(_ context.Context, body []byte) ([]byte, error) {
	if _, err := r.stream.Write(body); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(r.stream, r.answer[:])
	return r.answer[:], err
}

type streamPoster struct {
	stream net.Conn

	mu      sync.Mutex
	message [4 + SmallSize]byte
}

// Send puts length and body into one write. It may be called by many goroutines.
func (p *streamPoster) Send(_ context.Context, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	binary.LittleEndian.PutUint32(p.message[:], uint32(len(body)))
	n := copy(p.message[4:], body)
	_, err := p.stream.Write(p.message[:4+n])
	return err
}

type streamBulk struct{ stream net.Conn }

func (b *streamBulk) Send(_ context.Context, body []byte) error {
	_, err := b.stream.Write(body)
	return err
}

// acceptLoop serves every connection of ln in a goroutine of its own. stop
// closes the listener and the connections, and waits for all of it.
func acceptLoop(ln net.Listener, serve func(net.Conn)) (stop func() error) {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		conns   = map[net.Conn]struct{}{}
		stopped bool
	)
	track := func(nc net.Conn) bool {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			conns[nc] = struct{}{}
		}
		return !stopped
	}
	running.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			if !track(nc) {
				nc.Close()
				continue
			}
			running.Go(func() {
				serve(nc)
				nc.Close()
				mu.Lock()
				delete(conns, nc)
				mu.Unlock()
			})
		}
	})
	return func() error {
		err := ln.Close()
		mu.Lock()
		stopped = true
		for nc := range conns {
			nc.Close()
		}
		mu.Unlock()
		running.Wait()
		return err
	}
}

// Raw is the floor: one TCP connection, or one tls.Conn, and nothing on top.
// Go's defaults: TCP_NODELAY, the kernel's buffers; crypto/tls with its dynamic
// record sizes, which is how a tls.Conn is used.
var Raw = Peer{
	Name:  "raw",
	About: "net.Conn or tls.Conn of the standard library; one stream, nothing multiplexed",
	Serve: func(svc *Service) (func() error, error) {
		return acceptLoop(svc.listener(), func(nc net.Conn) {
			_ = serveStream(nc, svc.Sink) // ends with the connection; missing bytes show in the count
		}), nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		if err != nil {
			return nil, err
		}
		var taken atomic.Bool
		return &streamSession{
			open: func() (net.Conn, error) {
				if taken.Swap(true) {
					return nil, unsupported("a bare connection carries one thing")
				}
				return nc, nil
			},
			close: nc.Close,
		}, nil
	},
}
