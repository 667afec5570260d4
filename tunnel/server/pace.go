package server

import "time"

const (
	// paceBytes is the part of an answer from which its speed is known. It is less than a large
	// answer, so that several of those may run at a time.
	paceBytes = 256 << 10
	// paceShort is the size below which a piece of an answer of unknown length shows that no more
	// was available: the target is slow then, not the link.
	paceShort = 1 << 10
	// paceStall is how long nothing may come: then it is the target that is waited for, which
	// may last for ever.
	paceStall = 2 * time.Second
	// paceTaken is the time from which the visitor, not the link, is taken for the cause of a slow
	// answer.
	paceTaken = 100 * time.Millisecond
)

// pace reports to a promoted exchange's permit when enough of the answer has arrived. The head
// alone proves nothing: it travels ahead of all bodies, however many of them the link cannot carry.
// All calls come from one goroutine; nil ignores them.
type pace struct {
	permit Permit
	failed bool
	known  bool // how long the answer is
	pieces int
	got    int
	timer  *time.Timer // of a stall; nil: it has not begun, or is over
}

// begin records the final head.
func (p *pace) begin(permit Permit, failed, known bool) {
	p.permit, p.failed, p.known = permit, failed, known
	p.timer = time.AfterFunc(paceStall, p.tell)
}

func (p *pace) tell() { p.permit.Answered(p.failed) }

// came records n bytes of the body. The bytes that come with the head prove nothing about the
// speed, as the body may have been cut there.
func (p *pace) came(n int) {
	if p == nil || p.timer == nil {
		return
	}
	p.got += n
	p.pieces++
	if p.got >= paceBytes || !p.known && p.pieces > 1 && n < paceShort {
		p.end()
		return
	}
	p.within(paceTaken)
}

// awaits records that the visitor has taken all bytes so far.
func (p *pace) awaits() {
	if p != nil && p.timer != nil {
		p.within(paceStall)
	}
}

// within reports the answer after d, unless there is progress before.
func (p *pace) within(d time.Duration) {
	if p.timer.Stop() {
		p.timer.Reset(d)
	} else {
		p.timer = nil // it has been reported
	}
}

// end records that the answer has ended, or that the rest of it does not count.
func (p *pace) end() {
	if p.timer != nil && p.timer.Stop() {
		p.tell()
	}
	p.timer = nil
}
