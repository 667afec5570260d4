package server

import "time"

const (
	// paceBytes is how much of an answer must come until it has told how fast it does. It
	// is a part of a large one, of which some may be under way at a time.
	paceBytes = 256 << 10
	// paceShort is the size below which a piece of an answer of unknown length says that
	// there was no more: its target is waited for, and not the link.
	paceShort = 1 << 10
	// paceStall is how long nothing may come: then it is the target that is waited for, which
	// may last for ever.
	paceStall = 2 * time.Second
	// paceTaken is how long the visitor may take for what has come: then it is he who is
	// waited for.
	paceTaken = 100 * time.Millisecond
)

// pace tells a promoted exchange's permit when enough of the answer has come. The head alone
// does not tell: it goes ahead of all bodies, however many of them the link cannot take.
// What comes goes to one goroutine; nil is one to which nothing matters.
type pace struct {
	permit Permit
	failed bool
	known  bool // how long the answer is
	pieces int
	got    int
	timer  *time.Timer // of a stall; nil: it has not begun, or is over
}

// begin hears of the final head.
func (p *pace) begin(permit Permit, failed, known bool) {
	p.permit, p.failed, p.known = permit, failed, known
	p.timer = time.AfterFunc(paceStall, p.tell)
}

func (p *pace) tell() { p.permit.Answered(p.failed) }

// came hears of n bytes of the body. What came along with the head says nothing of what there
// is, as it may have been cut.
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

// awaits hears that the visitor has taken all that has come.
func (p *pace) awaits() {
	if p != nil && p.timer != nil {
		p.within(paceStall)
	}
}

// within tells unless something is heard before d is over.
func (p *pace) within(d time.Duration) {
	if p.timer.Stop() {
		p.timer.Reset(d)
	} else {
		p.timer = nil // it has been told
	}
}

// end hears that the answer has ended, or that no more of it counts.
func (p *pace) end() {
	if p.timer != nil && p.timer.Stop() {
		p.tell()
	}
	p.timer = nil
}
