package wire

import (
	"context"
	"runtime"
	"time"
)

const (
	// maxQueued bounds the bytes that wait to be written. Above it calls, posts and streams wait.
	// Answers do not: slots and ConnBudget bound these.
	maxQueued = 256 << 10
	// bulkBatch bounds the bytes of streams in one write: a small frame waits for no more.
	bulkBatch = 64 << 10
	// quantum bounds the bytes that a stream sends in its turn while other streams wait.
	quantum = 16 << 10
	// inlineRounds is the most writes that a goroutine makes after it has added output. The outbox
	// starts a goroutine for what is left then.
	inlineRounds = 2
	// keptOutput is the size up to which an idle connection keeps its buffers.
	keptOutput = 4 << 10
)

// outbox is the writer's side of a connection. There is at most one writer, the goroutine that has
// set writing: one that the outbox has started, or a caller that found no other. Conn.mu guards all
// fields, and is held in all methods unless their comment says otherwise.
//
// Invariant: while ring is not empty, writing is set.
type outbox struct {
	c       *Conn
	write   func() // writeLoop, made once: a method that is started allocates
	writing bool
	corked  int
	ring    []*Stream // streams with bytes to send, and credit, in their turn
	refs    []ref     // of the next Take
	spare   []byte    // for the next Take

	inFlight  []ref  // of the present write; the writer's own
	lastTake  uint32 // Machine.Takes just before the last written buffer was taken
	wrotePart cond   // a buffer was written
	age       unsentAge
	batchHint batchHint
}

// ref places body in the output at a mark. body is a part of the slice that a Stream.Write was
// given. That Write returns only when body has been written.
type ref struct {
	at     int
	body   []byte
	stream *Stream
}

// full reports whether so many bytes wait to be written that calls and posts must wait. A
// connection that has ended is not full, because nothing would end the wait.
func (o *outbox) full() bool { return o.c.m.Queued() > maxQueued && !o.c.closed }

// wake starts a writer if there is output and no writer, unless the output is corked.
func (o *outbox) wake() {
	if o.corked == 0 {
		o.mustWake()
	}
}

// mustWake is wake in spite of a cork, for output that a goroutine waits for.
func (o *outbox) mustWake() {
	if !o.writing && !o.c.closed && (o.c.m.Pending() || len(o.ring) > 0) {
		o.start()
	}
}

// start starts a writer, which has the writer's role at once.
func (o *outbox) start() {
	o.writing = true
	o.c.tasks.Add(1)
	go o.write()
}

// flushAndUnlock writes the waiting output at once, if there is no other writer and the write does
// not wait. With together, other goroutines may add to it first, if any are likely to. It releases
// Conn.mu.
func (o *outbox) flushAndUnlock(together bool) {
	c := o.c
	c.slots.tell()
	switch {
	case o.writing:
		if together {
			o.batchHint.came()
		}
	case o.corked > 0 || c.closed || !c.m.Pending():
	case !c.sock.canTry():
		o.wake()
	default:
		o.writing = true
		if together && o.batchHint.likely() {
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
		}
		o.writeInline()
	}
	c.mu.Unlock()
}

// writeInline does the writer's work until it would have to wait. Conn.mu is released during the
// writes.
func (o *outbox) writeInline() {
	c := o.c
	for range inlineRounds {
		if c.closed || len(o.ring) > 0 {
			break
		}
		buffer, from := c.m.Take(o.spare)
		if buffer == nil {
			o.rest()
			return
		}
		o.spare = nil
		c.stats.took(&c.m.Tx)
		c.mu.Unlock()
		n, err := c.sock.tryWrite(buffer[from:])
		c.mu.Lock()
		c.stats.wrote(n)
		if err != nil || from+n < len(buffer) || c.sock.held() {
			o.began()
			c.tasks.Add(1)
			go o.writeRest(buffer, from+n, err)
			return
		}
		o.wrote(buffer)
	}
	o.handOver()
}

// began notes that a write has begun which is not done yet.
func (o *outbox) began() {
	now := o.c.now()
	o.age.begin(now)
	o.c.m.Wrote(now, true)
}

// ended notes that a write which had begun has sent all of buffer.
func (o *outbox) ended(buffer []byte) {
	o.c.m.Wrote(o.c.now(), false)
	o.wrote(buffer)
}

// writeFor makes the caller the writer until the stream's bytes have left: otherwise it would wait
// for another writer. Conn.mu is released during the writes.
func (o *outbox) writeFor(s *Stream) {
	if o.writing || o.c.closed {
		return
	}
	o.writing = true
	held, more := true, true
	for held && more && s.inRing {
		held, more = o.writeRound()
	}
	if held {
		o.handOver()
	}
}

// handOver passes the writer's role to a goroutine of its own, or gives it up if nothing is left to
// write.
//
// A goroutine that hands over never closes the socket itself: closing waits for the reader, and the
// goroutine may be the reader.
func (o *outbox) handOver() {
	if o.c.closed || o.c.m.Pending() || len(o.ring) > 0 {
		o.start()
		return
	}
	o.rest()
}

// rest gives the writer's role back. That may end a connection that drains. Then a new writer is
// started to close the socket.
func (o *outbox) rest() {
	o.writing = false
	o.age.rest()
	o.c.settled()
}

// wrote follows a write that has sent all of buffer: the buffer is free, and callers that waited
// for the write go on.
func (o *outbox) wrote(buffer []byte) {
	o.spare = buffer
	o.lastTake = o.c.m.Takes - 1
	o.wrotePart.broadcast()
	if o.c.m.Queued() < maxQueued {
		o.c.sends.refill()
	}
}

// writeRest sends the rest of a buffer after a write that did not wait, and goes on as the writer.
// Conn.mu is not held.
func (o *outbox) writeRest(buffer []byte, from int, err error) {
	c := o.c
	if err == nil {
		err = o.writeAll(buffer[from:])
	}
	c.mu.Lock()
	if err != nil {
		c.writeFailed(err)
	} else {
		o.ended(buffer)
	}
	c.mu.Unlock()
	o.writeLoop()
}

// writeLoop is the writer's goroutine. It gives the writer's role back when nothing is left to
// write, or closes the socket when the connection has ended. Conn.mu is not held.
func (o *outbox) writeLoop() {
	c := o.c
	defer c.tasks.Done()
	c.mu.Lock()
	held, more := true, true
	for held && more {
		held, more = o.writeRound()
	}
	c.mu.Unlock()
	if held {
		_ = c.nc.Close() // which ends the reader too
		close(c.done)
	}
}

// writeRound writes once, waiting if it must. held reports whether the caller still has the
// writer's role, which it gives up when nothing is left to write. more is false once the connection
// has ended and its last bytes have left, or never will. Conn.mu is released during the write.
func (o *outbox) writeRound() (held, more bool) {
	c := o.c
	last := c.closed
	if !last {
		o.pull(bulkBatch)
	}
	buffer, from := c.m.Take(o.spare)
	if buffer == nil {
		if !last {
			o.rest()
		}
		return last, false
	}
	o.spare = nil
	o.refs, o.inFlight = o.inFlight[:0], o.refs
	c.stats.took(&c.m.Tx)
	o.began()
	c.mu.Unlock()
	err := o.writeGather(buffer, from)
	c.mu.Lock()
	for i := range o.inFlight {
		f := &o.inFlight[i]
		f.stream.written(len(f.body))
		*f = ref{}
	}
	if err != nil {
		c.writeFailed(err)
		return true, false
	}
	o.ended(buffer)
	return true, !last
}

// pull appends data of streams to the waiting output, up to room bytes, each stream in its turn.
func (o *outbox) pull(room int) {
	for len(o.ring) > 0 && room > 0 && o.c.m.Queued() < maxQueued {
		s := o.ring[0]
		most := room
		if len(o.ring) > 1 {
			most = min(quantum, room)
		}
		o.ring = append(o.ring[:0], o.ring[1:]...)
		n, more := s.send(most)
		room -= n
		if more {
			o.ring = append(o.ring, s)
		} else {
			s.inRing = false
		}
	}
}

// writeGather writes buffer[from:] with the bodies of inFlight in place. Conn.mu is not held.
func (o *outbox) writeGather(buffer []byte, from int) error {
	if len(o.inFlight) == 0 {
		return o.writeAll(buffer[from:])
	}
	if first := o.inFlight[0].at; first-from > bulkBatch { // a gathering write shows no progress
		if err := o.writeAll(buffer[from:first]); err != nil {
			return err
		}
		from = first
	}
	s := &o.c.sock
	s.vector = s.vector[:0]
	for _, r := range o.inFlight {
		s.vector = append(s.vector, buffer[from:r.at], r.body)
		from = r.at
	}
	if from < len(buffer) {
		s.vector = append(s.vector, buffer[from:])
	}
	if s.tls == nil && s.tcp == nil {
		for _, b := range s.vector {
			if err := o.writeAll(b); err != nil {
				return err
			}
		}
		return nil
	}
	n, err := s.writeVector()
	o.count(n)
	return err
}

// writeAll writes b in pieces, so that the clock sees progress. b may be a part of what the caller
// writes, which calls ended behind all of it. The first write does not wait, and Go's scheduler
// does not hear of it (package nowait says why). Conn.mu is not held.
func (o *outbox) writeAll(b []byte) error {
	c := o.c
	if c.sock.canTry() {
		n, err := c.sock.tryWrite(b)
		o.count(n)
		if b = b[n:]; err != nil {
			return err
		}
	}
	for len(b) > 0 || c.sock.held() {
		n, err := c.nc.Write(b[:min(len(b), bulkBatch)])
		c.mu.Lock()
		c.stats.wrote(n)
		b = b[n:]
		c.m.Wrote(c.now(), true)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// count counts a write of n bytes. Conn.mu is not held.
func (o *outbox) count(n int) {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	o.c.stats.wrote(n)
}

// trim releases large buffers that a busy time has left.
func (o *outbox) trim() {
	if o.writing || o.c.m.Pending() {
		return
	}
	if cap(o.spare) > keptOutput {
		o.spare = nil
	}
	o.c.m.Trim(keptOutput)
}

// Flush waits until all output that was sent before has been given to the socket. It promises
// nothing about the peer: for that, make a call. The error is that of ctx, or the reason why the
// connection has ended.
func (c *Conn) Flush(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.m.Takes
	if c.m.Pending() {
		c.out.mustWake()
	} else {
		target--
	}
	for int32(target-c.out.lastTake) > 0 {
		if c.closed {
			return c.err
		}
		if err := c.out.wrotePart.wait(ctx, &c.mu); err != nil {
			return err
		}
	}
	return nil
}

// Cork holds back output until uncork is called, so that related frames leave in one write. Output
// that a goroutine must wait for leaves all the same, and takes the rest along: a call, a long
// Write, a post without room, Flush.
func (c *Conn) Cork() (uncork func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.corked++
	once := true
	return func() {
		c.mu.Lock()
		if once {
			once = false
			c.out.corked--
		}
		c.out.flushAndUnlock(false)
	}
}

// OldestUnsent returns an upper bound of the time for which the oldest byte of the present write
// has waited for the socket to take it; 0 if no byte waits.
func (c *Conn) OldestUnsent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.age.at(c.now())
}

// Lag returns an upper bound of the time for which the path has shown no sign that it works though
// it should have: OldestUnsent or, if that is longer, the time for which a PING has waited without
// a byte from the peer. A connection sends PING when it has heard nothing for a third of its Idle.
func (c *Conn) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	return max(c.out.age.at(now), c.m.Unheard(now))
}

// A goroutine about to flush a small write yields once, so that others can append to the same
// buffer and share the system call. A goroutine that is alone gains nothing from it, and each
// yield makes the scheduler wake another thread to look for work.
const (
	// aloneTurns is the number of consecutive yields without a second writer after which
	// yielding stops. With many writers, a run that long does not occur.
	aloneTurns = 16
	// aloneProbe is the interval, in turns, at which yielding is then tried again.
	aloneProbe = 64
)

// batchHint predicts whether other goroutines will append to a buffer that is about to be
// written. It is guarded by Conn.mu.
type batchHint struct {
	alone uint32 // turns since another goroutine appended
}

// likely begins a turn and reports whether a yield is worthwhile.
func (h *batchHint) likely() bool {
	h.alone++
	return h.alone <= aloneTurns || h.alone%aloneProbe == 0
}

// came records that another goroutine has appended.
func (h *batchHint) came() { h.alone = 0 }
