package handshake

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// maxGlances bounds the connections that Next examines, and maxTries the networks for which it
// calls place.
const maxGlances, maxTries = 256, 8

// ErrQueueTimeout ends the wait of a connection in an AcceptQueue.
var ErrQueueTimeout = errors.New("handshake: timed out in the accept queue")

// AcceptQueue holds connections for which a PendingSet has no room yet. When a server restarts, all
// its clients reconnect at once. A refused client has computed its half of a handshake in vain, and
// retries. A queued connection costs only a socket: the server reads nothing from it, and no
// goroutine waits for it.
//
// Networks take turns. Within a network the order is that of arrival, among the peers that have
// sent something. A silent peer gets no room while others wait.
//
// An AcceptQueue has no lock: one goroutine at a time calls its methods.
type AcceptQueue struct {
	// Silence bounds the wait of a silent peer, and Limit any wait.
	Silence, Limit time.Duration
	// Heard reports whether a peer has sent something, and whether it has closed the connection. If
	// Heard is nil, all peers count as having sent something.
	Heard func(net.Conn) (spoken, gone bool)

	lines map[netip.Prefix]*line
	turn  []netip.Prefix // the networks with a line, in the order of their turns
	n     int
}

// line holds the connections of one network, in the order of arrival.
type line struct{ of []standing }

// standing is a queued connection.
type standing struct {
	conn  net.Conn
	since time.Time
}

// Len returns the number of connections.
func (r *AcceptQueue) Len() int { return r.n }

// Enter adds a connection to a queue of at most most. If there is no room, it removes the last
// connection of the network with the longest line, out, if that line is longer than the new
// connection's would be; else in is false.
func (r *AcceptQueue) Enter(conn net.Conn, most int) (in bool, out net.Conn) {
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

func (r *AcceptQueue) count(of netip.Prefix) int {
	if l := r.lines[of]; l != nil {
		return len(l.of)
	}
	return 0
}

// Next passes a connection whose peer has sent something to place, and reports whether place has
// accepted one. It calls dropped for connections that leave the queue for another reason: the peer
// has disconnected (io.EOF), was silent for too long (os.ErrDeadlineExceeded), or has waited for
// too long (ErrQueueTimeout).
func (r *AcceptQueue) Next(place func(net.Conn) bool, dropped func(net.Conn, error)) bool {
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

// look examines a queued connection; why is nil if it stays in the queue.
func (r *AcceptQueue) look(s standing, now time.Time) (spoken bool, why error) {
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
		return false, ErrQueueTimeout
	}
	return spoken, nil
}

// Clear removes all connections.
func (r *AcceptQueue) Clear(dropped func(net.Conn)) {
	for _, l := range r.lines {
		for _, s := range l.of {
			dropped(s.conn)
		}
	}
	r.lines, r.turn, r.n = nil, nil, 0
}
