package server

import (
	"errors"
	"sync/atomic"

	"paddock/wire"
)

const (
	// maxAttempts bounds how often one request is sent, the first time included.
	maxAttempts = 3
	// retryPart is of how many exchanges one may be sent again, in the long run.
	retryPart = 10
)

// leeway bounds what the members of a group are sent that another member did not serve: else
// one that fails all its visitors would double what the others have to do. It has room
// for all that one of them may have under way when it is lost.
type leeway struct {
	parts atomic.Int64
	most  int64
}

func (l *leeway) init(exchanges int) {
	l.most = retryPart * int64(exchanges)
	l.parts.Store(l.most)
}

// earn hears of an exchange that was let in.
func (l *leeway) earn() {
	if l.parts.Load() < l.most {
		l.parts.Add(1)
	}
}

// take is for one that is to be sent again.
func (l *leeway) take() bool {
	if l.parts.Add(-retryPart) < 0 {
		l.parts.Add(retryPart)
		return false
	}
	return true
}

// fate is what is known of a request that was not answered.
type fate uint8

const (
	fateOther    fate = iota // it was, or may be the cause
	fateRefused              // nobody has begun with it; the client is there
	fateNotSent              // it has not left: the connection has ended
	fateMaybeRun             // the connection ended, and it may have been done
)

// fateOf is what an error says. conn is where the request was sent.
func fateOf(conn *wire.Conn, err error) fate {
	var e *wire.Error
	switch {
	case errors.Is(err, wire.ErrNotSent):
		return fateNotSent
	case errors.Is(err, wire.ErrMaybeSent), conn.Err() != nil && errors.Is(err, conn.Err()):
		return fateMaybeRun
	case errors.Is(err, wire.ErrDraining):
		return fateRefused
	case !errors.As(err, &e) || !e.NotStarted:
		return fateOther
	}
	switch e.Code {
	case wire.ResourceExhausted, wire.Unavailable, wire.DeadlineExceeded, wire.NotFound:
		return fateRefused
	}
	return fateOther
}

// attempts are those of one visitor.
type attempts struct {
	n      int                     // beside the first
	unsure bool                    // one of them may have been done
	past   [maxAttempts - 1]*claim // who has refused
	passed int                     // of these
}

// again says whether there may be another one at the place, and notes what became of the last.
// What may have been done is done again at most once, and only if that does no harm: a
// request that kills who serves it must not kill all. Without a group there is only the same
// client, over its next connection.
func (a *attempts) again(at *seat, became fate, harmless bool) bool {
	p := at.claim.place
	switch {
	case became == fateOther, a.n == maxAttempts-1:
		return false
	case became == fateMaybeRun && (a.unsure || !harmless):
		return false
	case !p.grouped() && (became == fateRefused || a.n > 0):
		return false
	case p.grouped() && !p.leeway.take():
		return false
	}
	a.n++
	a.unsure = a.unsure || became == fateMaybeRun
	if became == fateRefused {
		a.past[a.passed] = at.claim
		a.passed++
	}
	return true
}

// before are those who are not asked again.
func (a *attempts) before() []*claim { return a.past[:a.passed] }
