package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"paddock/tunnel"
)

const (
	// DirectTime is how long a ticket is good for, and all that comes before the bytes.
	DirectTime = 10 * time.Second
	// DirectPause is the time for which no channel is requested from a client that failed to make
	// one.
	DirectPause = 10 * time.Second
)

// ErrDirect is why a channel was not taken.
var ErrDirect = errors.New("tunnel: direct channel")

// DirectChannel is a connection that carries the bytes of one stream.
type DirectChannel struct {
	net.Conn          // a socket, or TLS over it
	Socket   net.Conn // beneath
}

// Cut ends it by a reset.
func (c *DirectChannel) Cut() { ResetConn(c.Socket) }

// SecuredBy reports whether a channel has to be TLS, where the link is or is not.
func SecuredBy(p tunnel.Protocol, link bool) bool { return link && p != tunnel.SNI }

// directPiece is how much is carried before it is counted.
const directPiece = 4 << 20

// direct relay carries bytes both ways between a socket and a channel until both directions have
// ended; the rules are those of splice. Between two sockets the kernel moves them, where
// it can (splice(2)).
type directRelay struct {
	ends     [2]net.Conn // the visitor's or the target's, and the channel
	cuts     [2]func()   // end them by a reset
	count    func(from int, n int64)
	linger   time.Duration
	Transfer Transfer
	half     atomic.Bool // one direction has ended
	once     sync.Once
}

func NewDirectRelay(conn net.Conn, channel *DirectChannel, linger time.Duration, count func(from int, n int64)) *directRelay {
	socket := SocketOf(conn)
	return &directRelay{
		ends: [2]net.Conn{socket, channel.Conn}, cuts: [2]func(){func() { ResetConn(socket) }, channel.Cut},
		count: count, linger: linger,
	}
}

// Run returns when both directions have ended, or the direct relay was cut.
func (w *directRelay) Run() error {
	for i, by := range []tunnel.End{tunnel.CutByVisitor, tunnel.CutByTarget} {
		watch := watchResets(w.ends[i], func() { w.cutAs(by) }) // a blocked splice does not report it
		watch.begin()
		defer watch.end()
	}
	up := make(chan error, 1)
	go func() { up <- w.carry(0) }()
	down := w.carry(1)
	return errors.Join(down, <-up)
}

// carry carries from one end to the other.
func (w *directRelay) carry(from int) error {
	src, dst := w.ends[from], w.ends[1-from]
	for {
		n, err := copyPiece(dst, src)
		w.count(from, n)
		if from == 0 {
			w.Transfer.Received.Add(n)
		} else {
			w.Transfer.Sent.Add(n)
		}
		switch {
		case err == nil, errors.Is(err, os.ErrDeadlineExceeded) && n > 0:
			w.moved()
		case errors.Is(err, io.EOF):
			w.half.Store(true)
			w.moved()
			return CloseWrite(dst)
		default:
			w.cutAs(socketsEnd(from, err))
			return fmt.Errorf("%w: %w", ErrCut, err)
		}
	}
}

// copyPiece carries a piece, less at the end, which is io.EOF, or after a failure.
func copyPiece(dst, src net.Conn) (int64, error) {
	if IsSocket(src) && IsSocket(dst) {
		return io.CopyN(dst, src, directPiece)
	}
	b := Records.Get().(*Record)
	defer Records.Put(b)
	n, err := src.Read(b[:])
	if n > 0 {
		if _, bad := dst.Write(b[:n]); bad != nil {
			return 0, bad
		}
	}
	return int64(n), err
}

// IsSocket reports whether the system can carry bytes to and from it by itself.
func IsSocket(conn net.Conn) bool {
	_, ok := conn.(*net.TCPConn)
	return ok
}

// moved restarts the silence timer of the other direction, once one direction has ended.
func (w *directRelay) moved() {
	if w.half.Load() {
		until := time.Now().Add(w.linger)
		for _, end := range w.ends {
			_ = end.SetReadDeadline(until)
		}
	}
}

// Cut ends both ends by a reset, as the far side has asked for. Once is enough.
func (w *directRelay) Cut() { w.cutAs(tunnel.CutByTarget) }

func (w *directRelay) cutAs(end tunnel.End) {
	w.once.Do(func() {
		w.Transfer.Cut(end)
		for _, cut := range w.cuts {
			cut()
		}
	})
}
