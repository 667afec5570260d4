package load

import (
	"errors"
	"time"
)

// The errors of Session.Request and Pauser.Pause where there is no request.
var (
	// ErrNotYet says that the next request has not been made yet. It is asked for again
	// soon, and is late until then for the cause Script.
	ErrNotYet = errors.New("load: the next request has not been made yet")
	// ErrOver says that the thread has had all its requests.
	ErrOver = errors.New("load: there are no more requests")
)

// Pauser is a Thread whose connections pause in a closed run before each request, the first
// one too. The request is due when the pause is over.
type Pauser interface {
	Thread
	// Pause gives the pause of the connection that comes next, or ErrNotYet or ErrOver.
	Pause() (time.Duration, error)
}

// unreadyEvery is after how many ns a request that had not been made is asked for again.
const unreadyEvery = int64(50 * time.Microsecond)

// unready is a connection of a closed run whose next request, or the pause before it, has
// not been made yet.
type unready struct {
	due   int64 // ns; of a pause, when it has begun
	pause bool
	pending
}

// pending is a connection that is to get requests, unless it has ended since, or pauses again.
type pending struct {
	c    *conn
	life uint32
}

func (c *conn) pending() pending { return pending{c, c.life} }

func (p pending) void() bool { return p.life != p.c.life }

// pauses reports whether connections pause between requests.
func (l *loop) pauses() bool { return l.stripe == nil && (l.plan.Think > 0 || l.pauser != nil) }

// pause lets c pause from an instant on.
func (l *loop) pause(c *conn, from, now int64) {
	c.life++
	think := l.plan.Think
	if l.pauser != nil {
		more, err := l.pauser.Pause()
		if err != nil {
			if l.without(err, now) {
				l.unready = append(l.unready, unready{from, true, c.pending()})
			}
			return
		}
		think += more
	}
	l.thinking.Add(from+int64(think), c.pending())
}

// without deals with a request that there is not, and reports whether there may be one
// later.
func (l *loop) without(err error, now int64) bool {
	if errors.Is(err, ErrOver) {
		l.left, l.next = 0, never
		return false
	}
	l.dry, l.retryAt = now, now+unreadyEvery
	return true
}

// retry asks again for requests that had not been made, first for the connection that has waited
// longest.
func (l *loop) retry(now int64) {
	if now < l.retryAt || l.stopped {
		return
	}
	waiting := l.unready
	l.unready = nil
	for i, u := range waiting {
		switch {
		case u.void() || !u.c.room():
			continue
		case u.pause:
			l.pause(u.c, u.due, now)
		default:
			l.refill(u.c, u.due, now)
		}
		if len(l.unready) > 0 {
			l.unready = append(l.unready, waiting[i+1:]...)
			return
		}
	}
	l.unready = waiting[:0]
}
