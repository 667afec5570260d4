package handshake

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// maxGlances is at how many of those who wait Next looks, and maxTries for how many networks
// it asks whether there is a place.
const maxGlances, maxTries = 256, 8

// ErrStoodTooLong ends the wait of a connection in a Room.
var ErrStoodTooLong = errors.New("handshake: no place has become free in time")

// Room is where connections wait for which a Crowd has no place yet. When a server comes back
// all its clients come with it; who is sent away then has made his half of a handshake for
// nothing, comes again, and is one more in the next crowd. In a Room he costs a socket:
// nothing is read of him, and no goroutine waits for him.
//
// Networks take turns, and of one network it is who came first, among those who have said
// something. Who says nothing gets no place while others wait.
//
// A Room has no lock: one goroutine at a time calls its methods.
type Room struct {
	// Silence is how long one may say nothing, Limit how long one waits at most.
	Silence, Limit time.Duration
	// Heard says whether a peer has said something, and whether he has gone; nil does not
	// know, and takes all for those who have spoken.
	Heard func(net.Conn) (spoken, gone bool)

	lines map[netip.Prefix]*line
	turn  []netip.Prefix // the networks that have a line; the next one is the first
	n     int
}

// line are those of one network, who came first in front.
type line struct{ of []standing }

// standing is one who waits.
type standing struct {
	conn  net.Conn
	since time.Time
}

// Len is how many wait.
func (r *Room) Len() int { return r.n }

// Enter lets a connection wait, among at most so many. Where there is no room for it, the
// last one of the network with the longest line has to go, out, if that is longer than its own
// would be; else in is false.
func (r *Room) Enter(conn net.Conn, most int) (in bool, out net.Conn) {
	from, _ := Network(conn.RemoteAddr())
	if r.n >= most {
		longest := from
		for network, l := range r.lines {
			if len(l.of) > r.count(longest) {
				longest = network
			}
		}
		if r.count(longest) <= r.count(from)+1 {
			return false, nil
		}
		l := r.lines[longest]
		out = l.of[len(l.of)-1].conn
		l.of = l.of[:len(l.of)-1]
		r.n--
	}
	l := r.lines[from]
	if l == nil {
		if r.lines == nil {
			r.lines = map[netip.Prefix]*line{}
		}
		l = new(line)
		r.lines[from] = l
		r.turn = append(r.turn, from)
	}
	l.of = append(l.of, standing{conn, time.Now()})
	r.n++
	return true, out
}

func (r *Room) count(of netip.Prefix) int {
	if l := r.lines[of]; l != nil {
		return len(l.of)
	}
	return 0
}

// Next gives a place to somebody who has spoken, and says whether it could. place is asked
// whether there is one for a connection, which then does not wait any more. dropped is told
// who does not wait any more either, and why: he has left (io.EOF), has said nothing
// (os.ErrDeadlineExceeded), or it was too long (ErrStoodTooLong).
func (r *Room) Next(place func(net.Conn) bool, dropped func(net.Conn, error)) bool {
	now, tries := time.Now(), 0
	for range min(r.n, maxGlances) {
		from := r.turn[0]
		l := r.lines[from]
		s := l.of[0]
		spoken, why := r.look(s, now)
		placed := why == nil && spoken && place(s.conn)
		if why != nil || placed || !spoken {
			l.of[0], l.of = standing{}, l.of[1:]
		}
		if why != nil || placed {
			r.n--
		} else if !spoken {
			l.of = append(l.of, s)
		}
		r.turn = r.turn[1:]
		if len(l.of) > 0 {
			r.turn = append(r.turn, from)
		} else {
			delete(r.lines, from)
		}
		switch {
		case why != nil:
			dropped(s.conn, why)
		case placed:
			return true
		case spoken:
			if tries++; tries == min(len(r.turn), maxTries) {
				return false
			}
		}
	}
	return false
}

// look says how it stands with one who waits; why is nil if he may go on.
func (r *Room) look(s standing, now time.Time) (spoken bool, why error) {
	spoken, gone := true, false
	if r.Heard != nil {
		spoken, gone = r.Heard(s.conn)
	}
	switch waited := now.Sub(s.since); {
	case gone:
		return false, io.EOF
	case !spoken && waited >= r.Silence:
		return false, os.ErrDeadlineExceeded
	case waited >= r.Limit:
		return false, ErrStoodTooLong
	}
	return spoken, nil
}

// Clear has nobody wait any more.
func (r *Room) Clear(dropped func(net.Conn)) {
	for _, l := range r.lines {
		for _, s := range l.of {
			dropped(s.conn)
		}
	}
	r.lines, r.turn, r.n = nil, nil, 0
}
