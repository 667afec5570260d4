package peers

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// The first byte of a raw connection, which tells its purpose.
const (
	modeEcho = 'e' // messages of SmallSize bytes, each sent back
	modeBulk = 'b' // bytes
)

// readBuffer bounds one read of a receiver of bulk. Four bulk messages were not slower than one on
// loopback, and not faster than sixteen.
const readBuffer = 4 * BulkSize

// Raw is the floor: one TCP connection, or one tls.Conn, and nothing on top. Go's defaults:
// TCP_NODELAY, the kernel's buffers, the dynamic record sizes of crypto/tls.
var Raw = Peer{
	Name:  "raw",
	About: "net.Conn or tls.Conn of the standard library; one stream, nothing multiplexed",
	Serve: func(svc *Service) (func() error, error) {
		ln, served := svc.listener(), make(chan struct{})
		go func() {
			defer close(served)
			if nc, err := ln.Accept(); err == nil {
				_ = serveRaw(nc, svc.Sink) // ends with the connection; missing bytes show in the count
				nc.Close()
			}
		}()
		return func() error {
			err := ln.Close()
			<-served
			return err
		}, nil
	},
	Dial: func(ctx context.Context, t Target) (Session, error) {
		nc, err := dial(ctx, t)
		return &rawSession{Conn: nc}, err
	},
}

// serveRaw receives one connection according to its first byte.
func serveRaw(nc net.Conn, sink *Sink) error {
	buf := make([]byte, readBuffer)
	if _, err := io.ReadFull(nc, buf[:1]); err != nil {
		return err
	}
	switch buf[0] {
	case modeEcho:
		_, err := io.CopyBuffer(struct{ io.Writer }{nc}, struct{ io.Reader }{nc}, buf[:SmallSize])
		return err
	case modeBulk:
		_, err := io.CopyBuffer(sink, struct{ io.Reader }{nc}, buf)
		return err
	}
	return fmt.Errorf("no such mode: %q", buf[0])
}

// rawSession is a connection, which carries one thing.
type rawSession struct {
	net.Conn
	taken  atomic.Bool
	answer [SmallSize]byte
}

func (s *rawSession) start(mode byte) error {
	if s.taken.Swap(true) {
		return unsupported("a bare connection carries one thing")
	}
	_, err := s.Write([]byte{mode})
	return err
}

func (s *rawSession) Requester(context.Context) (Requester, error) { return s, s.start(modeEcho) }

func (*rawSession) Poster(context.Context) (Sender, error) {
	return nil, unsupported("a bare connection has no messages")
}

func (s *rawSession) Bulk(context.Context) (Sender, error) { return bulkSender{s}, s.start(modeBulk) }

func (s *rawSession) Request(_ context.Context, body []byte) ([]byte, error) {
	if _, err := s.Write(body); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(s, s.answer[:])
	return s.answer[:], err
}

// bulkSender sends bytes.
type bulkSender struct{ io.Writer }

func (b bulkSender) Send(_ context.Context, body []byte) error {
	_, err := b.Write(body)
	return err
}
