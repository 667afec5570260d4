package bridge

import (
	"sync/atomic"
	"time"
)

// State is a bridge at one moment. Counts are those since its start.
type State struct {
	Name      string
	Connected bool
	URL       string    // of the server that is connected, without secrets
	Since     time.Time // of the connection
	Fault     string    // why there is none; "" = there is one, or the first attempt goes on
	Connects  uint64
	Waiting   int64 // bytes that wait for the other server
	In, Out   Traffic
}

// Traffic is what has passed in one direction.
type Traffic struct {
	Messages, Bytes uint64 // bytes are of headers and data
	Dropped         [reasons]uint64
}

// Drops calls f for each reason with its count.
func (t *Traffic) Drops(f func(why Reason, n uint64)) {
	for why := none + 1; why < reasons; why++ {
		f(why, t.Dropped[why])
	}
}

func (b *bridge) state() State {
	s := State{Name: b.cfg.Name, Connects: b.remote.connects.Load(), Waiting: b.queue.waiting(), In: b.traffic[in].read(), Out: b.traffic[out].read()}
	s.In.Dropped[Full] += b.remote.live.Load().dropped()
	if now := b.remote.now.Load(); now != nil {
		s.Connected, s.URL, s.Since, s.Fault = now.fault == "", now.url, now.since, now.fault
	}
	return s
}

func (t *traffic) read() (r Traffic) {
	r.Messages, r.Bytes = t.messages.Load(), t.bytes.Load()
	for i := range t.dropped {
		r.Dropped[i] = t.dropped[i].Load()
	}
	return r
}

// Reason is why a message was dropped.
type Reason uint8

// The reasons. The texts of String are labels of metrics.
const (
	none    Reason = iota
	Full           // as much waited as may
	Loop           // its mark lists one of the two servers
	Hops           // it has passed as many bridges as a message may
	Large          // the receiving server takes no messages of this size
	Denied         // clients of the broker cannot publish on its subject
	Refused        // the bridge's user has no permission to publish on its subject
	Header         // its headers cannot be read, or the other server has none
	Subject        // its subject or reply subject cannot be used on the other side
	Reply          // it is for an inbox that the bridge has not made
	Lost           // the connection broke while it was written, or the bridge ended
	reasons
)

var reasonNames = [reasons]string{"", "full", "loop", "hops", "large", "denied", "refused", "header", "subject", "reply", "lost"}

func (r Reason) String() string { return reasonNames[r] }

// traffic counts the messages of one direction.
type traffic struct {
	messages, bytes atomic.Uint64
	dropped         [reasons]atomic.Uint64
}

func (t *traffic) passed(size int) {
	t.messages.Add(1)
	t.bytes.Add(uint64(size))
}

func (t *traffic) drop(why Reason) { t.dropped[why].Add(1) }
