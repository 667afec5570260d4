package load

// openAtOnce bounds the connections that BusyOpen makes in one turn, which takes time from the
// sends. The next turn goes on.
const openAtOnce = 64

// ahead counts the arrivals up to now, also those whose requests wait.
type ahead struct {
	stripe Stripe
	next   int64 // ns; when the next arrival is due; never = there is none
	number int64 // of its request
}

func newAhead(stripe Stripe, number int64) ahead {
	a := ahead{stripe: stripe, number: number}
	a.advance()
	return a
}

func (a *ahead) advance() {
	a.next = never
	if at, ok := a.stripe.Next(); ok {
		a.next = int64(at)
	}
}

// waiting returns how many requests are due and not sent.
func (l *loop) waiting(now int64) int64 {
	a := &l.ahead
	for a.next <= now && a.next < l.end {
		a.number += l.step
		a.advance()
	}
	return min((a.number-l.number)/l.step, l.left)
}

// open makes connections for the requests that are due, as far as the connections under way have no
// room for them.
func (l *loop) open(now int64) {
	if l.extra == 0 {
		return
	}
	depth := int64(l.plan.Depth)
	needed := (l.waiting(now)+depth-1)/depth - int64(l.coming)
	for range min(needed, int64(l.extra), openAtOnce) {
		l.extra--
		l.dial(l.addConn(), now)
	}
}

// expect notes whether a connection is being made, or will be.
func (l *loop) expect(c *conn, coming bool) {
	if c.coming == coming {
		return
	}
	if c.coming = coming; coming {
		l.coming++
	} else {
		l.coming--
	}
}
