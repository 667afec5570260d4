package wire

import (
	"context"
	"runtime"
	"time"
)

const (
	// maxQueued is how many bytes may wait to be written before calls and posts
	// wait as well. Answers are bounded by slots and ConnBudget instead.
	maxQueued = 256 << 10
	// bulkBatch is how many bytes of streams one write takes: a small frame waits
	// for no more than that.
	bulkBatch = 64 << 10
	// quantum is what a stream may send in its turn when others wait: 16 KiB.
	quantum = 16 << 10
	// inlineRounds is how often a goroutine with output writes for others too, before a writer of
	// its own is started.
	inlineRounds = 2
	// keptOutput is the size up to which an idle connection keeps its buffers.
	keptOutput = 4 << 10
)

// outbox is the state of the writer. There is at most one writer, the goroutine that has set
// writing: one of its own, or a caller that found no other. All fields are guarded by Conn.mu.
//
// Invariant: while ring is not empty, writing is set.
type outbox struct {
	write   func() // Conn.writeLoop, made once: a method that is started allocates
	writing bool
	corked  int
	ring    []*Stream // those with bytes to send, and credit, in their turn
	refs    []ref     // of the next Take
	spare   []byte    // for the next Take

	flights   []ref  // of the present write; the writer's own
	landed    uint32 // Machine.takes of the last buffer that was written
	age       unsentAge
	batchHint batchHint
}

// ref says that body goes into the output at a mark. The body is the stream's
// until it has been written.
type ref struct {
	at     int
	body   []byte
	stream *Stream
}

// full says whether so much waits to be written that calls and posts must wait. A
// connection that has ended is not full: nothing would end the wait. c.mu is held.
func (c *Conn) full() bool { return c.m.Queued() > maxQueued && !c.closed }

// wakeWriter starts a writer if there is output and no writer, unless the output is corked. c.mu is
// held.
func (c *Conn) wakeWriter() {
	if c.out.corked == 0 {
		c.mustWrite()
	}
}

// mustWrite is wakeWriter in spite of a cork, for output that a goroutine waits for. c.mu is held.
func (c *Conn) mustWrite() {
	o := &c.out
	if o.writing || c.closed || !c.m.Pending() && len(o.ring) == 0 {
		return
	}
	o.writing = true
	c.tasks.Add(1)
	go c.out.write()
}

// flushAndUnlock writes the waiting output at once, if there is no other writer and the write does
// not wait. With together, other goroutines may add to it first, if any are likely to. c.mu is
// held, and released.
func (c *Conn) flushAndUnlock(together bool) {
	c.wakeForSlot()
	o := &c.out
	switch {
	case o.writing:
		if together {
			o.batchHint.came()
		}
	case o.corked > 0 || c.closed || !c.m.Pending():
	case !c.sock.canTry():
		c.wakeWriter()
	default:
		o.writing = true
		if together && o.batchHint.likely() {
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
		}
		c.writeInline()
	}
	c.mu.Unlock()
}

// wakeForSlot wakes the goroutines that wait for a slot, if one has become free in any way. c.mu is
// held.
func (c *Conn) wakeForSlot() {
	if c.m.Freed {
		c.m.Freed = false
		c.slotGate.open()
		c.tellSlotFree()
	}
}

// writeInline does the writer's work for as long as it takes no waiting. c.mu is
// held but for the writes.
func (c *Conn) writeInline() {
	for range inlineRounds {
		if c.closed || len(c.out.ring) > 0 {
			break
		}
		buffer, from := c.m.Take(c.out.spare)
		if buffer == nil {
			c.rest()
			return
		}
		c.out.spare = nil
		c.stats.took(&c.m.Tx)
		c.mu.Unlock()
		n, err := c.sock.tryWrite(buffer[from:])
		c.mu.Lock()
		c.stats.wrote(n)
		if err != nil || from+n < len(buffer) || c.sock.held() {
			now := c.now()
			c.out.age.begin(now)
			c.m.Wrote(now, true)
			c.tasks.Add(1)
			go c.writeRest(buffer, from+n, err)
			return
		}
		c.wrote(buffer)
	}
	c.handOver()
}

// writeFor makes the caller the writer until the stream's bytes have left: otherwise it would wait
// for another writer. c.mu is held except during the writes.
func (c *Conn) writeFor(s *Stream) {
	if c.out.writing || c.closed {
		return
	}
	c.out.writing = true
	held, more := true, true
	for held && more && s.inRing {
		held, more = c.writeRound()
	}
	if held {
		c.handOver()
	}
}

// handOver passes the writer's role to a goroutine of its own, or gives it up if nothing is left to
// write. c.mu is held.
//
// A goroutine that hands over never closes the socket itself: closing waits for the reader, and the
// goroutine may be the reader.
func (c *Conn) handOver() {
	if c.closed || c.m.Pending() || len(c.out.ring) > 0 {
		c.tasks.Add(1)
		go c.out.write()
		return
	}
	c.rest()
}

// rest gives the writer's role back. That may end the connection, which then has a
// writer of its own. c.mu is held.
func (c *Conn) rest() {
	c.out.writing = false
	c.out.age.rest()
	c.settled()
}

// wrote ends a write that has sent all of buffer. c.mu is held.
func (c *Conn) wrote(buffer []byte) {
	c.out.spare = buffer
	c.out.landed = c.m.Takes - 1
	c.flushGate.open()
	if c.m.Queued() < maxQueued {
		c.postGate.open()
		c.sendKeyed()
	}
}

// writeRest sends what a write without waiting has left, and goes on as a writer.
func (c *Conn) writeRest(buffer []byte, from int, err error) {
	if err == nil {
		err = c.writeAll(buffer[from:])
	}
	c.mu.Lock()
	if err != nil {
		c.writeFailed(err)
	} else {
		c.wrote(buffer)
	}
	c.mu.Unlock()
	c.writeLoop()
}

// writeLoop is the writer: it has the writer's role, and gives it back when
// nothing is left to write, or hangs up when the connection has ended.
func (c *Conn) writeLoop() {
	defer c.tasks.Done()
	c.mu.Lock()
	held, more := true, true
	for held && more {
		held, more = c.writeRound()
	}
	c.mu.Unlock()
	if held {
		c.hangUp()
	}
}

// writeRound writes once, waiting if it must. held reports whether the caller still has the
// writer's role, which it gives up when nothing is left to write. more is false once the connection
// has ended and its last bytes have left, or never will. c.mu is held except during the write.
func (c *Conn) writeRound() (held, more bool) {
	last := c.closed
	if !last {
		c.pull(bulkBatch)
	}
	buffer, from := c.m.Take(c.out.spare)
	if buffer == nil {
		if !last {
			c.rest()
		}
		return last, false
	}
	c.out.spare = nil
	c.out.refs, c.out.flights = c.out.flights[:0], c.out.refs
	c.stats.took(&c.m.Tx)
	now := c.now()
	c.out.age.begin(now)
	c.m.Wrote(now, true)
	c.mu.Unlock()
	err := c.writeGather(buffer, from, c.out.flights)
	c.mu.Lock()
	c.land()
	if err != nil {
		c.writeFailed(err)
		return true, false
	}
	c.m.Wrote(c.now(), false)
	c.wrote(buffer)
	return true, !last
}

// pull puts data of streams behind what waits already, each in its turn, up to
// room bytes. c.mu is held.
func (c *Conn) pull(room int) {
	o := &c.out
	for len(o.ring) > 0 && room > 0 && c.m.Queued() < maxQueued {
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

// land tells the streams whose bytes have left. c.mu is held.
func (c *Conn) land() {
	for i := range c.out.flights {
		f := &c.out.flights[i]
		f.stream.landed(len(f.body))
		*f = ref{}
	}
}

// writeAll writes b in pieces, so that each of them shows progress to the clock. What the
// socket takes at once is not told to the scheduler, which would look after the thread.
func (c *Conn) writeAll(b []byte) error {
	if c.sock.canTry() {
		n, err := c.sock.tryWrite(b)
		c.mu.Lock()
		c.stats.wrote(n)
		c.mu.Unlock()
		if b = b[n:]; err != nil {
			return err
		}
	}
	for len(b) > 0 || c.sock.held() {
		n, err := c.nc.Write(b[:min(len(b), bulkBatch)])
		c.mu.Lock()
		c.stats.wrote(n)
		b = b[n:]
		c.m.Wrote(c.now(), len(b) > 0)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// trim lets go of large buffers that a busy time has left. c.mu is held.
func (c *Conn) trim() {
	if c.out.writing || c.m.Pending() {
		return
	}
	if cap(c.out.spare) > keptOutput {
		c.out.spare = nil
	}
	c.m.Trim(keptOutput)
}

// Flush waits until all that was sent before has been given to the socket. It
// says nothing about the peer: for that, make a call. The error is that of ctx, or why
// the connection has ended.
func (c *Conn) Flush(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.m.Takes
	if c.m.Pending() {
		c.mustWrite()
	} else {
		target--
	}
	for int32(target-c.out.landed) > 0 {
		if c.closed {
			return c.err
		}
		if err := c.await(ctx, &c.flushGate); err != nil {
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
		c.flushAndUnlock(false)
	}
}

// OldestUnsent is for how long, at most, the oldest byte of the present write has waited for
// the socket to take it; 0 if nothing does.
func (c *Conn) OldestUnsent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.age.at(c.now())
}

// Lag is for how long, at most, the path has shown no sign that it works though it should
// have: OldestUnsent or, if that is longer, for how long a PING has waited without a byte
// from the peer. A connection says PING when it has heard nothing for a third of its Idle.
func (c *Conn) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	return max(c.out.age.at(now), c.m.Unheard(now))
}

// await waits for the gate to open. c.mu is held but for the wait.
func (c *Conn) await(ctx context.Context, g *gate) error {
	changed := g.wait()
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
