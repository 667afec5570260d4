package wire

import (
	"errors"
	"math"
	"time"

	"paddock/internal/wire/frame"
)

// linger is how long a stream that was closed here may stay open at the peer.
const linger = 60 * time.Second

// slotTable holds the work in the slots of a connection. Calls and streams share the slots of a
// side, and so they share the table. Conn.mu guards it, and is held in all methods unless their
// comment says otherwise.
type slotTable struct {
	c      *Conn
	ours   []local               // by index of slot, from 1
	theirs []remote              // likewise
	late   map[*Request]struct{} // requests whose handlers still run, and whose slots have other work
	onFree map[frame.Slot]func() // called when the slot of ours is free
	free   cond                  // a slot may be free, or a limit has grown
}

// local is the work that this side has begun in a slot; remote is the peer's.
type (
	local struct {
		call   *call
		stream *Stream
		until  time.Duration // when a stream that was closed is reset; 0: it was not
	}
	remote struct {
		request *Request
		stream  *Stream
	}
)

// begin returns the entry of a slot of ours, emptied.
func (t *slotTable) begin(id frame.Slot) *local {
	i := int(id.Index())
	for len(t.ours) < i {
		t.ours = append(t.ours, local{})
	}
	l := &t.ours[i-1]
	if l.stream != nil {
		t.c.windows.keepLate(l.stream)
	}
	*l = local{}
	return l
}

// serve returns the entry of a slot of the peer's, without the work of an earlier generation.
func (t *slotTable) serve(id frame.Slot) *remote {
	i := int(id.Index())
	for len(t.theirs) < i {
		t.theirs = append(t.theirs, remote{})
	}
	t.vacate(id)
	return &t.theirs[i-1]
}

// vacate takes the work of an earlier generation out of the entry of a slot of the peer's. Its
// handler may still run, since a slot is free once the answer and the body have ended.
func (t *slotTable) vacate(id frame.Slot) {
	e := t.peers(id)
	if e == nil {
		return
	}
	if r := e.request; r != nil && r.slot != id {
		if t.late == nil {
			t.late = map[*Request]struct{}{}
		}
		t.late[r] = struct{}{}
		e.request = nil
	}
	if s := e.stream; s != nil && s.id != id {
		t.c.windows.keepLate(s)
		e.stream = nil
	}
}

// own returns the entry of a slot of ours, nil if there is none.
func (t *slotTable) own(id frame.Slot) *local {
	if i := int(id.Index()); id.Side() == t.c.role && i <= len(t.ours) {
		return &t.ours[i-1]
	}
	return nil
}

// peers returns the entry of a slot of the peer's, nil if there is none.
func (t *slotTable) peers(id frame.Slot) *remote {
	if i := int(id.Index()); id.Side() != t.c.role && i <= len(t.theirs) {
		return &t.theirs[i-1]
	}
	return nil
}

// stream returns the stream in a live slot, nil if there is none. The entry may still have that of
// an earlier generation.
func (t *slotTable) stream(id frame.Slot) (s *Stream) {
	if l := t.own(id); l != nil {
		s = l.stream
	} else if r := t.peers(id); r != nil {
		s = r.stream
	}
	if s != nil && s.id != id {
		return nil
	}
	return s
}

// streams calls f for each stream.
func (t *slotTable) streams(f func(*Stream)) {
	for _, l := range t.ours {
		if l.stream != nil {
			f(l.stream)
		}
	}
	for _, r := range t.theirs {
		if r.stream != nil {
			f(r.stream)
		}
	}
}

// cancel ends the context of the request in a slot of the peer's, if its handler runs.
func (t *slotTable) cancel(id frame.Slot, err error) {
	if r := t.peers(id); r != nil && r.request != nil && r.request.slot == id {
		r.request.ctx.end(err)
	}
}

// finish ends work of the peer's whose handler has returned err. A handler that has answered, or
// has closed its stream, may return late, when the slot has other work.
func (t *slotTable) finish(id frame.Slot, work remote, err error) {
	if t.c.closed {
		return
	}
	if e := t.peers(id); e != nil && *e == work {
		if err != nil {
			_ = t.c.m.Fail(id, asError(err))
		}
		t.c.m.Done(id)
		*e = remote{}
	} else {
		delete(t.late, work.request)
	}
	t.c.settled()
}

// whenFree registers a function to call when a slot of ours is free. A nil function is ignored.
func (t *slotTable) whenFree(id frame.Slot, free func()) {
	if free == nil {
		return
	}
	if t.onFree == nil {
		t.onFree = map[frame.Slot]func(){}
	}
	t.onFree[id] = free
	t.c.m.Watch(id)
}

// tell wakes the goroutines that wait for a slot, if one has become free in any way, and calls the
// functions of whenFree.
func (t *slotTable) tell() {
	m := t.c.m
	if !m.Freed {
		return
	}
	m.Freed = false
	t.free.broadcast()
	for _, id := range m.Watched {
		free := t.onFree[id]
		delete(t.onFree, id)
		free()
	}
	m.Watched = m.Watched[:0]
}

// linger notes that the slot of a closed stream must be free in time. A slot of the peer's is the
// peer's affair.
func (t *slotTable) linger(s *Stream) {
	l := t.own(s.id)
	if l == nil || l.stream != s { // the connection has ended, or the slot
		return
	}
	now := t.c.now()
	l.until = now + linger
	if t.c.beat.due > l.until {
		t.c.beat.set(l.until, now)
	}
}

// expire resets streams that were closed here long ago and still live at the peer, or cancels their
// requests, and returns the time at which the next one is due.
func (t *slotTable) expire(now time.Duration) (next time.Duration) {
	next = math.MaxInt64
	for i := range t.ours {
		switch l := &t.ours[i]; {
		case l.until == 0:
		case now >= l.until:
			if id := l.stream.id; errors.Is(t.c.m.Reset(id, Cancelled), ErrSlot) {
				_ = t.c.m.Cancel(id)
			}
			l.until = 0
		default:
			next = min(next, l.until)
		}
	}
	return next
}

// fail ends all work with the reason for which the connection has ended.
func (t *slotTable) fail(err error) {
	t.free.broadcast()
	for _, l := range t.ours {
		if l.call != nil {
			sent := t.c.flushed || l.call.takes != t.c.m.Takes
			l.call.finish(&lostError{cause: err, sent: sent && !t.c.m.Untouched})
		}
	}
	for _, r := range t.theirs {
		if r.request != nil {
			r.request.ctx.end(err)
		}
	}
	for r := range t.late {
		r.ctx.end(err)
	}
	t.late = nil
	t.streams(func(s *Stream) { s.failLocked(err) })
	t.ours = nil
	for _, free := range t.onFree {
		free()
	}
	t.onFree, t.c.m.Watched = nil, nil
}
