package wire

import "iter"

// maxWaitingPosts bounds the frames of posts that wait for a handler. The bytes
// are bounded by the post lane's credit, but a post without bytes costs none.
const maxWaitingPosts = 1 << 16

// Posts is what a handler of HandlePosts gets: the bodies of one frame. It and the
// bodies are borrowed until the handler returns.
type Posts struct {
	c     *Conn
	kind  string
	body  []byte
	batch bool
	skip  int
	count int
	last  uint64
}

// Kind is what the posts were sent as.
func (p *Posts) Kind() string { return p.kind }

// Conn is the connection that they came on.
func (p *Posts) Conn() *Conn { return p.c }

// Len is how many there are.
func (p *Posts) Len() int { return p.count }

// Session is that of the peer, nil if it has none.
func (p *Posts) Session() *Session { return p.c.Peer().Session }

// Acknowledged says whether the peer wants to know when the handler has returned.
func (p *Posts) Acknowledged() bool { return p.last != 0 }

// All yields the bodies with their numbers in the session, which are 0 if nobody
// wants to know. Bodies that have been handled on an earlier connection of the
// session are not among them.
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
				body, rest = CutPost(rest)
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

// postLane holds the posts that wait for handlers that are not inline, in their
// order. It is guarded by Conn.mu.
type postLane struct {
	waiting []lanePosts
	arena   []byte // their bodies
	spare   []lanePosts
	spareB  []byte
	running bool
}

type lanePosts struct {
	Posts
	handler *handler
	from    int
	size    int
}

// idle says whether no handler runs or waits.
func (l *postLane) idle() bool { return !l.running }

// close drops what waits.
func (l *postLane) close() { l.waiting, l.arena = nil, nil }

// deliverPosts calls an inline handler, or hands the posts to the connection's
// post goroutine, which keeps their order. The error ends the connection.
func (c *Conn) deliverPosts(d *delivery) error {
	in, h := &c.in, d.handler
	p := Posts{
		c: c, kind: h.kind, body: d.body, batch: d.batch,
		skip: d.skip, count: d.bodies - d.skip, last: d.last,
	}
	if h.posts == nil && h.post == nil || c.allowed(h) != nil {
		c.dropPosts(&p)
		return nil
	}
	if h.inline && d.last == 0 {
		in.inline = p
		c.runPosts(h, &in.inline)
		in.postsDone += len(d.body)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.posts
	if len(l.waiting) >= maxWaitingPosts {
		c.stats.rxDropped += uint64(p.count)
		c.m.PostsDone(len(d.body))
		if d.last == 0 {
			return nil
		}
		c.m.Close(ResourceExhausted) // one that is missing cannot be acknowledged
		return &Error{Code: ResourceExhausted, Msg: "posts wait for their handler"}
	}
	l.waiting = append(l.waiting, lanePosts{Posts: p, handler: h, from: len(l.arena), size: len(d.body)})
	l.arena = append(l.arena, d.body...)
	if !l.running {
		l.running = true
		c.tasks.Add(1)
		go c.postLoop()
	}
	return nil
}

// dropPosts counts posts that nobody serves. For the sender they are done.
func (c *Conn) dropPosts(p *Posts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.rxDropped += uint64(p.count)
	c.m.PostsDone(len(p.body))
	if p.last != 0 && !c.posts.running {
		c.m.Acknowledge(p.last)
	}
}

// postLoop calls the handlers of waiting posts, one after the other, until none
// wait.
func (c *Conn) postLoop() {
	defer c.tasks.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.posts
	for len(l.waiting) > 0 && !c.closed {
		waiting, arena := l.waiting, l.arena
		l.waiting, l.arena, l.spare, l.spareB = l.spare[:0], l.spareB[:0], nil, nil
		for i := range waiting {
			p := &waiting[i]
			p.body = arena[p.from : p.from+p.size]
			c.mu.Unlock()
			c.runPosts(p.handler, &p.Posts)
			c.mu.Lock()
			c.m.PostsDone(p.size)
			if p.last != 0 {
				c.m.Acknowledge(p.last)
			}
			if c.closed {
				break
			}
		}
		clear(waiting)
		if mangle {
			for i := range arena {
				arena[i] = 0xCC
			}
		}
		l.spare, l.spareB = waiting[:0], arena[:0]
		if cap(arena) > keptOutput && len(l.waiting) == 0 {
			l.spare, l.spareB = nil, nil
		}
		c.wakeWriter()
	}
	l.running = false
	c.settled()
}

// runPosts calls a handler. What it returns is counted, and logged if it is a
// panic; for the sender the posts are done, since trying again would not help.
func (c *Conn) runPosts(h *handler, p *Posts) {
	defer func() {
		if cause := recover(); cause != nil {
			_ = c.panicked(h, cause)
			c.failedPosts(1)
		}
	}()
	if h.posts != nil {
		if h.posts(c.ctx, p) != nil {
			c.failedPosts(1)
		}
		return
	}
	failed := 0
	for _, body := range p.All() {
		if h.post(c.ctx, body) != nil {
			failed++
		}
	}
	c.failedPosts(failed)
}

func (c *Conn) failedPosts(n int) {
	if n > 0 {
		c.mu.Lock()
		c.stats.rxFailed += uint64(n)
		c.mu.Unlock()
	}
}
