package server

import (
	"bytes"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// Served is a request that was answered by the target; or, at its end, a relayed connection: a raw
// one, or one that an answer of 101 has upgraded.
type Served struct {
	Protocol  tunnel.Protocol // of the tunnel
	Tunnel    string          // where visitors find it
	Identity  string          // of the client
	Peer      string          // the visitor's address
	Host      string          // as the visitor asked for it, "" of TCP
	Method    string          // "" of a raw connection, as Path and RequestID
	Path      string          // without its query, which may hold secrets
	RequestID string          // that the target was given
	Status    int             // 101: the connection went on as something else
	Received  int64           // bytes of the request's body, or from the visitor on such a connection
	Sent      int64           // bytes of the answer's body, or to the visitor on it
	Took      time.Duration
	End       tunnel.End // of a connection that was carried as it is; "" of a request
	Direct    bool       // it had a channel of its own
}

// served counts an answered exchange, with the bytes of its body, and calls the hook.
func (x *exchange) served(sent int64) {
	x.s.served.Add(1)
	v := x.told()
	if v == nil {
		return
	}
	v.Received, v.Sent, v.Took = max(x.r.Length, 0), sent, time.Since(x.began)
	if x.up != nil && x.up.done != nil {
		v.Received = x.up.received
	}
	x.s.Hooks.Served(*v)
}

// told returns the description of an exchange when its head is answered, nil without a hook.
func (x *exchange) told() *Served {
	if x.s.Hooks.Served == nil {
		return nil
	}
	r := x.r
	return &Served{
		Protocol: tunnel.HTTP, Tunnel: x.lease.where, Identity: x.lease.identity, Peer: r.peer.String(), Host: string(r.Host), Method: string(r.Method),
		Path: r.Path(), RequestID: x.id, Status: x.head.Status,
	}
}

// carried reports a relayed connection that has ended.
func (s *Server) carried(c *lease, open *message.Channel, over *relay.Transfer, st *wire.Stream, began time.Time, direct bool) {
	if s.Hooks.Served == nil {
		return
	}
	s.Hooks.Served(Served{
		Protocol: c.at.Protocol, Tunnel: c.where, Identity: c.identity, Peer: open.Visitor.String(), Host: string(open.Name),
		Received: over.Received.Load(), Sent: over.Sent.Load(), Took: time.Since(began), End: s.endOf(over, st), Direct: direct,
	})
}

// endOf is how a connection ended over a stream.
func (s *Server) endOf(over *relay.Transfer, st *wire.Stream) tunnel.End {
	switch end := over.Ended(); {
	case end == tunnel.Closed:
		return end
	case s.ctx.Err() != nil:
		return tunnel.CutStopped
	case st.Conn().Err() != nil:
		return tunnel.CutLost
	default:
		return end
	}
}

// noteID keeps the request's id, which is in the head that the target receives, if there is a hook.
func (x *exchange) noteID(text []byte) {
	if x.s.Hooks.Served == nil {
		return
	}
	if _, rest, ok := bytes.Cut(text, []byte("\r\nX-Request-Id: ")); ok {
		id, _, _ := bytes.Cut(rest, []byte{'\r'})
		x.id = string(id)
	}
}
