package bridge

import "sync/atomic"

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
