package tunnel

import (
	"bytes"
	"time"
)

// Served is a request of which the visitor got the target's answer.
type Served struct {
	Tunnel    string // where visitors find it
	Identity  string // of the client
	Peer      string // the visitor's address
	Host      string // that he asked for
	Method    string
	Path      string // without its query, which may hold secrets
	RequestID string // that the target was given
	Status    int    // 101: the connection goes on as something else
	Received  int64  // bytes of his body
	Sent      int64  // bytes of the answer's; of one that goes on as something else none are counted
	Took      time.Duration
}

// served counts an exchange whose visitor got the answer, with so many bytes of body, and
// tells of it.
func (x *exchange) served(sent int64) {
	x.s.served.Add(1)
	if x.s.Hooks.Served == nil {
		return
	}
	r := x.r
	received := max(r.Length, 0)
	if x.up != nil && x.up.done != nil {
		received = x.up.received
	}
	x.s.Hooks.Served(Served{
		Tunnel: x.claim.where, Identity: x.claim.identity, Peer: r.peer.String(), Host: string(r.Host), Method: string(r.Method),
		Path: r.Path(), RequestID: x.id, Status: x.head.Status, Received: received, Sent: sent, Took: time.Since(x.began),
	})
}

// noteID keeps the request's id, which is in the head that the target gets, if somebody is
// to be told.
func (x *exchange) noteID(text []byte) {
	if x.s.Hooks.Served == nil {
		return
	}
	if _, rest, ok := bytes.Cut(text, []byte("\r\nX-Request-Id: ")); ok {
		id, _, _ := bytes.Cut(rest, []byte{'\r'})
		x.id = string(id)
	}
}
