package wire

import (
	"errors"
	"iter"
	"time"

	"paddock/internal/wire/frame"
)

// maxWaitingPosts bounds the frames of posts that wait for a handler. The post lane's credit bounds
// their bytes, but a post without bytes costs none.
const maxWaitingPosts = 1 << 16

// ackDelay is how long an acknowledgement waits for others to ride with it.
const ackDelay = 50 * time.Millisecond

// Posts holds the bodies of one frame, for a handler of HandlePosts. It and the bodies are borrowed
// until the handler returns.
type Posts struct {
	c     *Conn
	kind  string
	body  []byte
	batch bool
	skip  int
	count int
	last  uint64
}

// Kind returns the kind of the posts.
func (p *Posts) Kind() string { return p.kind }

// Conn returns the connection of the posts.
func (p *Posts) Conn() *Conn { return p.c }

// Len returns the number of posts.
func (p *Posts) Len() int { return p.count }

// Session returns the session of the peer, nil if it has none.
func (p *Posts) Session() *Session { return p.c.Peer().Session }

// Acknowledged reports whether the peer wants to know when the handler has returned.
func (p *Posts) Acknowledged() bool { return p.last != 0 }

// All yields the bodies with their numbers in the session. The numbers are 0 for posts without
// acknowledgement. Bodies that were handled on an earlier connection of the session are left out.
func (p *Posts) All() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		number := uint64(0)
		if p.last != 0 {
			number = p.last - uint64(p.count) + 1
		}
		rest := p.body
		for i := range p.skip + p.count {
			body := rest
			if p.batch {
				body, rest = frame.CutPost(rest)
			}
			if i < p.skip {
				continue
			}
			if !yield(number, body) {
				return
			}
			if number != 0 {
				number++
			}
		}
	}
}

// postLane holds the received posts that wait for their handlers, in their order. Posts without
// acknowledgement do not wait for an inline handler. Conn.mu guards it.
type postLane struct {
	c       *Conn
	waiting []lanePosts
	arena   []byte // their bodies
	spare   []lanePosts
	spareB  []byte
	running bool
	kind    string // of the handler that runs
}

var errPostsWait = &Error{Code: ResourceExhausted, Msg: "posts wait for their handler"}

type lanePosts struct {
	Posts
	handler *handler
	from    int
	size    int
}

// close drops the waiting posts. Conn.mu is held.
func (l *postLane) close() {
	l.drop(l.waiting)
	l.waiting, l.arena = nil, nil
}

// drop counts posts that will find no handler, because the connection has ended. Acknowledged ones
// come again. Conn.mu is held.
func (l *postLane) drop(waiting []lanePosts) {
	for i := range waiting {
		l.c.stats.dropPosts(&waiting[i].Posts)
	}
}

// deliver calls an inline handler, or hands the posts to the connection's post goroutine, which
// keeps their order. The error ends the connection.
func (l *postLane) deliver(d *delivery) error {
	c, h := l.c, d.handler
	p := Posts{
		c: c, kind: h.kind, body: d.body, batch: d.batch,
		skip: d.skip, count: d.bodies - d.skip, last: d.last,
	}
	if err := l.refused(h); err != nil {
		return l.refuse(&p, err)
	}
	if h.inline && d.last == 0 {
		c.in.inline = p
		l.call(h, &c.in.inline)
		c.in.answers.postsDone += len(d.body)
		return nil
	}
	c.mu.Lock()
	if len(l.waiting) >= maxWaitingPosts {
		c.mu.Unlock()
		return l.refuse(&p, errPostsWait)
	}
	defer c.mu.Unlock()
	l.waiting = append(l.waiting, lanePosts{Posts: p, handler: h, from: len(l.arena), size: len(d.body)})
	l.arena = append(l.arena, d.body...)
	if !l.running {
		l.running = true
		c.tasks.Add(1)
		go l.run()
	}
	return nil
}

// refuse counts posts that find no handler. If their sender wants an acknowledgement, they are not
// done, and no later ones may be acknowledged before them: the connection ends with err.
func (l *postLane) refuse(p *Posts, err *Error) error {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.dropPosts(p)
	c.m.PostsDone(len(p.body))
	if !p.Acknowledged() {
		return nil
	}
	c.m.Close(err.Code)
	return err
}

// run calls the handlers of waiting posts, one after the other, until none wait.
func (l *postLane) run() {
	c := l.c
	defer c.tasks.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	flushed := c.now()
	for len(l.waiting) > 0 && !c.closed {
		waiting, arena := l.waiting, l.arena
		l.waiting, l.arena, l.spare, l.spareB = l.spare[:0], l.spareB[:0], nil, nil
		for i := range waiting {
			p := &waiting[i]
			p.body, l.kind = arena[p.from:p.from+p.size], p.kind
			c.mu.Unlock()
			handled := l.handle(p)
			c.mu.Lock()
			c.m.PostsDone(p.size)
			if p.last != 0 && handled {
				c.m.Acknowledge(p.last)
			}
			if c.m.PostDue || c.m.AckDue > 0 && c.now()-flushed >= ackDelay {
				flushed = c.now()
				c.out.wake() // the peer learns of handled posts while others still run
			}
			if c.closed {
				l.drop(waiting[i+1:])
				break
			}
		}
		clear(waiting)
		spoil(arena)
		l.spare, l.spareB = waiting[:0], arena[:0]
		if cap(arena) > keptOutput && len(l.waiting) == 0 {
			l.spare, l.spareB = nil, nil
		}
		c.out.wake()
	}
	l.running = false
	c.settled()
}

// refused returns the reason why posts of a kind find no handler.
func (l *postLane) refused(h *handler) *Error {
	if !h.servesPosts() {
		return &Error{Code: Unimplemented, Msg: "no handler for posts of " + h.kind}
	}
	e, _ := errors.AsType[*Error](l.c.handlers.allowed(h))
	return e
}

// handle runs the handler of posts that have waited, and reports whether all of them have been
// handled. If not, the session counts those before the first one that was not.
func (l *postLane) handle(p *lanePosts) (handled bool) {
	c := l.c
	if p.last == 0 || c.lane == nil {
		return l.call(p.handler, &p.Posts)
	}
	if !c.lane.begin(c, &p.Posts) {
		return false
	}
	handled = l.call(p.handler, &p.Posts)
	number := p.last
	if !handled {
		number -= uint64(p.count)
	}
	c.lane.end(c.m.PeerHello.Session.Epoch, number)
	return handled
}

// call calls a handler. Its errors are counted, and a panic is logged. For the sender the posts are
// done, since trying again would not help. But an error after the end of the connection may be
// because of that end: then this post and the later ones are not handled, and remain in p; of a
// frame for a handler of HandlePosts all posts remain.
func (l *postLane) call(h *handler, p *Posts) (handled bool) {
	c := l.c
	for p.count > 0 {
		done, failed, ended := l.callSome(h, p)
		if failed > 0 {
			c.mu.Lock()
			c.stats.rxFailed += uint64(failed)
			c.mu.Unlock()
		}
		if ended {
			p.cut(done)
			return false
		}
		if done == p.count {
			return true
		}
		p.cut(done + 1) // the one that has panicked
	}
	return true
}

// callSome calls a handler until it panics, or fails after the connection has ended, which ended
// reports. It returns how many bodies were handled before that.
func (l *postLane) callSome(h *handler, p *Posts) (done, failed int, ended bool) {
	c := l.c
	defer func() {
		if cause := recover(); cause != nil {
			_ = c.handlers.panicked(h, cause)
			failed++
		}
	}()
	if h.posts != nil {
		done = p.count // also if it panics
		if h.posts(c.ctx, p) != nil {
			if failed++; c.ctx.Err() != nil {
				return 0, failed, true
			}
		}
		return done, failed, false
	}
	for _, body := range p.All() {
		if h.post(c.ctx, body) != nil {
			if failed++; c.ctx.Err() != nil {
				return done, failed, true
			}
		}
		done++
	}
	return done, failed, false
}

// cut takes n bodies off the front.
func (p *Posts) cut(n int) {
	if p.batch {
		for range p.skip + n {
			_, p.body = frame.CutPost(p.body)
		}
		p.skip = 0
	}
	p.count -= n
}
