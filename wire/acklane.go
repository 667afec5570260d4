package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

const (
	defaultMaxUnacked      = 1 << 16
	defaultMaxUnackedBytes = 16 << 20
	// ackBatch is how many posts go to a connection at once.
	ackBatch = 256
	// ackChunk is the size of a buffer that many bodies are copied into. It is free when the last
	// of them is acknowledged.
	ackChunk = 32 << 10
	// maxAckKinds bounds the kinds of acknowledged posts: a connection has 1,024.
	maxAckKinds = 256
)

// ackLane keeps the acknowledged posts of a client until the peer has handled them, over one
// connection after the other. On each of them the numbers go on, one by one, from the number that
// was acknowledged when it began (base).
type ackLane struct {
	maxPosts, maxBytes int

	mu      sync.Mutex        // guards all below; never held while a connection's is
	kinds   map[string]string // those in use
	posts   []ackPost         // from first on; the first of them has number acked+1
	first   int
	bytes   int
	chunk   []byte
	acked   uint64
	told    uint64 // by the peer of the present connection; ahead of last if an earlier process sent more
	last    uint64 // number given out
	ever    uint64 // highest number that any connection may have carried
	turn    uint64 // of the present connection; earlier ones have no say
	next    uint64 // for the present connection
	filler  string // a kind
	resent  uint64
	stalled time.Duration
	ended   error
	room    cond
	work    cond
	done    cond
}

type ackPost struct {
	kind string
	body []byte
}

func (l *ackLane) begin(base, sentBefore uint64, maxPosts, maxBytes int) {
	l.maxPosts, l.maxBytes, l.kinds = maxPosts, maxBytes, map[string]string{}
	l.acked, l.told, l.last, l.ever = base, base, base, max(base, sentBefore)
}

func (l *ackLane) post(ctx context.Context, kind string, body []byte) (number uint64, err error) {
	if len(body) > int(frame.LimitFrame.Before) {
		return 0, fmt.Errorf("%w: %d bytes in a post to be acknowledged", ErrTooLarge, len(body))
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own, ok := l.kinds[kind]
	if !ok {
		if !frame.ValidKindName(kind) || len(l.kinds) >= maxAckKinds {
			return 0, fmt.Errorf("%w: %q", ErrKind, kind)
		}
		own = kind
		l.kinds[own] = own
	}
	for l.ended == nil && l.full(len(body)) {
		began := time.Now()
		err := l.room.wait(ctx, &l.mu)
		l.stalled += time.Since(began)
		if err != nil {
			return 0, err
		}
	}
	if l.ended != nil {
		return 0, &lostError{cause: l.ended}
	}
	if cap(l.chunk)-len(l.chunk) < len(body) {
		l.chunk = make([]byte, 0, max(ackChunk, len(body)))
	}
	at := len(l.chunk)
	l.chunk = append(l.chunk, body...)
	l.posts = append(l.posts, ackPost{own, l.chunk[at:len(l.chunk):len(l.chunk)]})
	l.bytes += len(body)
	l.last++
	l.work.broadcast()
	l.advance()
	return l.last, nil
}

func (l *ackLane) full(n int) bool {
	waiting := len(l.posts) - l.first
	return waiting >= l.maxPosts || waiting > 0 && l.bytes+n > l.maxBytes
}

// attach begins the turn of a connection, which ends that of the one before. base is for its HELLO.
func (l *ackLane) attach() (turn, base, ever uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	l.told = l.acked // the next peer may know less
	l.next = l.acked + 1
	l.work.broadcast()
	return l.turn, l.acked, l.ever
}

// take returns the next posts of one kind for a connection, in dst. If there are none it returns a
// channel that is closed when there may be some. It returns neither once the connection's turn is
// over. Posts that the peer has acknowledged on this connection keep their numbers and lose their
// bodies.
func (l *ackLane) take(turn uint64, dst [][]byte) (kind string, bodies [][]byte, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn != l.turn || l.ended != nil {
		return "", nil, nil
	}
	if l.next > l.last {
		return "", nil, l.work.next()
	}
	if l.next <= l.acked {
		for ; l.next <= l.acked && len(dst) < ackBatch; l.next++ {
			dst = append(dst, nil)
		}
		return l.filler, dst, nil
	}
	i := l.first + int(l.next-l.acked) - 1
	kind = l.posts[i].kind
	for ; i < len(l.posts) && len(dst) < ackBatch && l.posts[i].kind == kind; i++ {
		dst = append(dst, l.posts[i].body)
	}
	before := l.next
	l.next += uint64(len(dst))
	if l.ever >= before {
		l.resent += min(l.ever, l.next-1) - before + 1
	}
	l.ever = max(l.ever, l.next-1)
	return kind, dst, nil
}

// pump sends all waiting posts over a connection, until the connection ends or its turn is over.
//
// It waits until the peer has sent the state of its session: an acknowledgement of posts that were
// never sent can be recognized only before more are sent.
func (l *ackLane) pump(conn *Conn, turn uint64) {
	if conn.Admitted(conn.ctx) != nil {
		return
	}
	var room [ackBatch][]byte
	for {
		kind, bodies, changed := l.take(turn, room[:0])
		switch {
		case changed != nil:
			select {
			case <-changed:
			case <-conn.Done():
				return
			}
		case len(bodies) == 0:
			return
		default:
			if _, err := conn.postAll(conn.ctx, kind, bodies, true); err != nil {
				if errors.Is(err, ErrKind) || errors.Is(err, ErrTooLarge) { // the next one may do better
					conn.config.Logger.Error("wire: acknowledged posts cannot be sent", "kind", kind, "err", err)
					conn.Abort(Internal)
				}
				return
			}
		}
	}
}

// listen receives the peer's acknowledgements, until the connection ends or its turn is over.
func (l *ackLane) listen(conn *Conn, turn uint64) {
	for number := uint64(0); ; {
		if number = conn.Acked(); !l.acknowledged(turn, number) {
			return
		}
		if conn.WaitAcked(conn.ctx, number+1) != nil {
			return
		}
	}
}

// acknowledged drops the posts up to number. It returns false if the turn is over.
func (l *ackLane) acknowledged(turn, number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn != l.turn || l.ended != nil {
		return false
	}
	l.told = max(l.told, number)
	l.advance()
	return true
}

// advance drops the posts that the peer has acknowledged. l.mu is held.
func (l *ackLane) advance() {
	if l.acked >= min(l.told, l.last) {
		return
	}
	for ; l.acked < l.told && l.first < len(l.posts); l.acked++ {
		p := &l.posts[l.first]
		l.filler = p.kind
		l.bytes -= len(p.body)
		*p = ackPost{}
		l.first++
	}
	if l.first == len(l.posts) {
		l.posts, l.first = l.posts[:0], 0
	} else if l.first > len(l.posts)/2 {
		left := copy(l.posts, l.posts[l.first:])
		clear(l.posts[left:])
		l.posts, l.first = l.posts[:left], 0
	}
	l.room.broadcast()
	l.done.broadcast()
}

func (l *ackLane) known() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

func (l *ackLane) wait(ctx context.Context, number uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.acked < number {
		if l.ended != nil {
			return l.ended
		}
		if err := l.done.wait(ctx, &l.mu); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until all posts are acknowledged.
func (l *ackLane) settle(ctx context.Context) error {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if err := l.wait(ctx, last); err != nil {
		return fmt.Errorf("wire: drain: %w", err)
	}
	return nil
}

func (l *ackLane) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = err
	}
	l.room.broadcast()
	l.work.broadcast()
	l.done.broadcast()
}

func (l *ackLane) count(s *ClientStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Unacked, s.UnackedBytes = len(l.posts)-l.first, l.bytes
	s.Resent, s.Stalled = l.resent, l.stalled
}
