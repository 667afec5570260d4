package bus

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// SlowPolicy is the treatment of a network client that reads more slowly than messages for it
// arrive, once Config.MaxPending bytes are pending. In every policy a client that takes no byte for
// Config.WriteDeadline is closed, and only messages are ever dropped. In the policies that drop
// messages, PINGs, PONGs and errors have 64 KiB beyond the bound, and a client with more of them is
// closed.
type SlowPolicy uint8

const (
	// SlowClose closes the client.
	SlowClose SlowPolicy = iota
	// SlowDropNew drops the message that finds no room, and counts it.
	SlowDropNew
	// SlowDropOld drops the oldest messages that are not in a write, and counts them. A
	// subscription with a maximum keeps its count.
	SlowDropOld
	// SlowStall makes a publisher wait, at most 10 ms for each of its batches, from three quarters
	// of Config.MaxPending on. At Config.MaxPending it closes the client.
	SlowStall
)

// maxStall bounds the time for which a publisher waits under [SlowStall] for one batch.
const maxStall = 10 * time.Millisecond

func (p SlowPolicy) String() string {
	switch p {
	case SlowClose:
		return "close"
	case SlowDropNew:
		return "drop-new"
	case SlowDropOld:
		return "drop-old"
	case SlowStall:
		return "stall"
	default:
		return fmt.Sprintf("policy %d", uint8(p))
	}
}

// stallAt returns the number of pending bytes from which publishers wait under SlowStall.
func (s *Server) stallAt() int64 { return s.cfg().MaxPending / 4 * 3 }

// makeRoom finds room for n bytes in an output at its bound, by the policy. It returns false if the
// message is not taken. c.mu is held.
func (w *writer) makeRoom(n int) bool {
	cfg, counters, delivered := w.c.srv.cfg(), &w.c.srv.counters, &w.c.delivered
	switch cfg.SlowConsumers {
	case SlowDropNew:
		counters.droppedNew.Add(1)
		delivered.dropped++
		return false
	case SlowDropOld:
		if !w.dropFor(n) {
			counters.droppedOld.Add(1)
			delivered.dropped++
			return false
		}
		return true
	default:
		w.c.closeFor(SlowConsumerPendingBytes)
		return false
	}
}

// dropFor drops old messages so that n bytes find room, or none if they would find none. c.mu is
// held.
func (w *writer) dropFor(n int) bool {
	over := int(w.pending) + n - int(w.c.srv.cfg().MaxPending)
	if !w.canDrop(over, w.mayDrop) {
		return false
	}
	messages, payload, _ := w.dropOldest(over, w.takeBack)
	counters, delivered := &w.c.srv.counters, &w.c.delivered
	counters.droppedOld.Add(uint64(messages))
	counters.withdrawn.Add(uint64(messages))
	counters.withdrawnBytes.Add(uint64(payload))
	delivered.dropped += uint64(messages)
	delivered.msgs -= uint64(messages)
	delivered.bytes -= uint64(payload)
	return true
}

// mayDrop reports whether a pending message may be dropped. A message that counts toward a
// subscription's maximum may not: the client would wait for it. c.mu is held.
func (w *writer) mayDrop(line []byte) bool { return w.droppable(line) != nil }

// takeBack does the same, and takes the message from the deliveries of its subscription.
func (w *writer) takeBack(line []byte) bool {
	s := w.droppable(line)
	if s != nil && s.delivered > 0 { // another subscription may have had its sid
		s.delivered--
	}
	return s != nil
}

// droppable returns the subscription of a pending message that may be dropped, by its first line;
// else nil. c.mu is held.
func (w *writer) droppable(line []byte) *subscription {
	if len(line) < len("HMSG x") {
		return nil
	}
	_, after, _ := bytes.Cut(line[len("MSG x"):], []byte{' '})
	if line[0] == 'H' {
		_, after, _ = bytes.Cut(line[len("HMSG x"):], []byte{' '})
	}
	sid, _, _ := bytes.Cut(after, []byte{' '})
	if s := w.c.subs[string(sid)]; s != nil && s.max == 0 {
		return s
	}
	return nil
}

// awaitRoom lets a publisher wait, until the time given at the latest, for an output that is nearly
// full.
func (w *writer) awaitRoom(until time.Time) {
	c := w.c
	c.mu.Lock()
	if c.reason != 0 || w.pending < c.srv.stallAt() {
		c.mu.Unlock()
		return
	}
	if w.room == nil {
		w.room = make(chan struct{})
	}
	room := w.room
	c.delivered.stalls++
	c.mu.Unlock()
	c.srv.counters.stalls.Add(1)
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-room:
	case <-timer.C:
	}
}

const (
	// congestedAt is the number of pending bytes from which publishers may wait for a client, or
	// half of [Config.MaxPending] if that is less.
	congestedAt = 8 << 20
	// A client that takes less than paceBytes in paceTime is not waited for.
	paceTime  = 250 * time.Millisecond
	paceBytes = 1 << 20
)

// congestedClient is a network client with more than congestedAt bytes pending.
type congestedClient struct {
	*client
	since   time.Time // of the present paceTime
	written uint64    // at that time
	slow    bool      // it took less than paceBytes in one
}

// Congested reports whether a network client that gets messages of l has 8 MiB pending, or half of
// [Config.MaxPending] if that is less, and still takes at least 4 MiB a second. If a publisher of a
// burst pauses while it is true, a client that reads is not closed, and the publisher does not wait
// for one that does not read. The first call begins to watch.
func (l *Local) Congested() bool {
	l.watching.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	congested, now := false, time.Now()
	l.congested = slices.DeleteFunc(l.congested, func(c congestedClient) bool { return !c.isCongested() })
	for i := range l.congested {
		g := &l.congested[i]
		g.update(now)
		congested = congested || !g.slow
	}
	return congested
}

// watch adds clients with much pending output to the list that Congested checks.
func (l *Local) watch(clients []*client) {
	for _, c := range clients {
		g := congestedClient{client: c}
		if !g.isCongested() {
			continue
		}
		g.update(time.Now())
		l.mu.Lock()
		if !slices.ContainsFunc(l.congested, func(other congestedClient) bool { return other.client == c }) {
			l.congested = append(l.congested, g)
		}
		l.mu.Unlock()
	}
}

func (c *congestedClient) isCongested() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason == 0 && c.out.pending >= min(congestedAt, c.srv.cfg().MaxPending/2)
}

// update judges the client at the end of each paceTime.
func (c *congestedClient) update(now time.Time) {
	if now.Sub(c.since) < paceTime {
		return
	}
	c.mu.Lock()
	written := c.out.written
	c.mu.Unlock()
	c.slow = !c.since.IsZero() && written-c.written < paceBytes
	c.since, c.written = now, written
}
