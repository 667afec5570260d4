package wire

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// defaultBacklog is how many streams may wait for Accept.
const defaultBacklog = 128

// backlogRetry is when a peer may try again that found the backlog full.
const backlogRetry = time.Second

// Listener accepts the streams of a kind that peers open, on all connections that serve its Mux, as
// a net.Listener: http.Serve and the like run over it. Accepted connections are *Stream.
//
// At most 128 streams wait for Accept; further ones are refused with
// RESOURCE_EXHAUSTED. An accepted stream lasts until it is closed, by its owner, by
// a reset of the peer, or with its connection.
type Listener struct {
	kind string

	mu      sync.Mutex
	waiting []*waiter // guarded by mu, oldest first
	closed  bool      // guarded by mu
	changed cond      // guarded by mu; something waits, or the listener is closed
	full    uint64    // guarded by mu; streams that found no room
}

// waiter is a stream that has not been accepted yet.
type waiter struct {
	stream  *Stream
	refused chan struct{} // closed by Close
}

var _ net.Listener = (*Listener)(nil)

// Listener registers a handler of streams that hands them to Accept.
func (m *Mux) Listener(kind string) *Listener {
	l := &Listener{kind: kind}
	m.HandleStream(kind, l.serve)
	return l
}

// Accept waits for a stream. After Close the error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	s, err := l.AcceptStream(context.Background())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AcceptStream is Accept with a context.
func (l *Listener) AcceptStream(ctx context.Context) (*Stream, error) {
	s, err := l.dequeueFirst(ctx)
	if err == nil {
		_ = s.Accept(nil) // for a peer that has opened it with Confirm
	}
	return s, err
}

// dequeueFirst waits for a stream, and removes it from the waiting ones.
func (l *Listener) dequeueFirst(ctx context.Context) (*Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 {
		if l.closed {
			return nil, &net.OpError{Op: "accept", Net: "wire", Addr: l.Addr(), Err: net.ErrClosed}
		}
		if err := l.changed.wait(ctx, &l.mu); err != nil {
			return nil, err
		}
	}
	s := l.waiting[0].stream
	l.waiting = slices.Delete(l.waiting, 0, 1)
	return s, nil
}

// serve is the handler of a stream. It returns when the stream has no owner any more.
func (l *Listener) serve(ctx context.Context, s *Stream) error {
	w := &waiter{s, make(chan struct{})}
	if err := l.enqueue(w); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		l.dequeue(w)
		return nil
	case <-w.refused:
		return errListenerClosed
	}
}

var errListenerClosed = &Error{Code: Unavailable, Msg: "nobody accepts these streams any more", NotStarted: true}

func (l *Listener) enqueue(w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errListenerClosed
	case len(l.waiting) >= defaultBacklog:
		l.full++
		return &Error{
			Code: ResourceExhausted, Msg: "too many streams wait to be accepted",
			NotStarted: true, RetryAfter: backlogRetry,
		}
	}
	l.waiting = append(l.waiting, w)
	l.changed.broadcast()
	return nil
}

// dequeue removes a stream that has ended, if it still waits.
func (l *Listener) dequeue(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(o *waiter) bool { return o == w })
}

// Close refuses the waiting streams, and later ones, with UNAVAILABLE. Accepted streams stay.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.broadcast()
	for _, w := range l.waiting {
		close(w.refused)
	}
	l.waiting = nil
	return nil
}

// Refused returns how many streams found the backlog full.
func (l *Listener) Refused() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Addr has the network "wire" and the kind as address.
func (l *Listener) Addr() net.Addr { return kindAddr(l.kind) }

type kindAddr string

func (kindAddr) Network() string  { return "wire" }
func (a kindAddr) String() string { return string(a) }
