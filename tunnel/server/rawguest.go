package server

import (
	"context"

	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// rawGuest is a visitor of a place for raw connections.
type rawGuest struct {
	s     *Server
	place *place
	open  *message.Channel // what is said of him
	tries attempts
	seat  // once he is let in
}

// enter finds who serves him, and takes a permit. ctx bounds the wait for both.
func (r *rawGuest) enter(ctx context.Context) (err error) {
	r.seat, err = r.s.letIn(ctx, r.place, r, nil, true)
	return err
}

// dial opens the stream of one who is let in, at another member of a group if the first one
// does not take it; release is called at its end, or if there is none.
func (r *rawGuest) dial(ctx context.Context, release func()) (*wire.Stream, error) {
	for {
		r.open.Tunnel = r.holder.id
		conn, over := r.holder.session.choose(release)
		st, err := conn.Open(ctx, message.KindConn, wire.OpenOptions{First: message.AppendChannel(nil, r.open), Over: over})
		if err == nil || !r.again(ctx, conn, err) {
			return st, err
		}
		release = r.permit.Release
	}
}

// far is the stream of one who is there: of a group one that may go elsewhere.
func (r *rawGuest) far(ctx context.Context, st *wire.Stream) relay.Far {
	if !r.place.grouped() {
		return &relay.RawStream{Stream: st}
	}
	return &rawAgain{ctx: ctx, guest: r, now: &relay.RawStream{Stream: st}, changed: make(chan struct{})}
}

// again finds who is asked next. Nothing of him has reached a service.
func (r *rawGuest) again(ctx context.Context, conn *wire.Conn, err error) bool {
	became := fateOf(conn, err)
	if !r.place.grouped() || ctx.Err() != nil || !r.tries.again(&r.seat, became, false) {
		return false
	}
	if became != fateRefused {
		r.s.lost(r.holder.session, conn)
	}
	next, failed := r.s.letIn(ctx, r.place, r, r.tries.before(), false)
	if failed != nil {
		return false
	}
	r.s.resent.Add(1)
	r.seat = next
	return true
}

// suits implements guest.
func (*rawGuest) suits(*holder) error { return nil }

// class implements guest.
func (*rawGuest) class() Class { return Stream }

// needs implements guest.
func (*rawGuest) needs(*holder) (class Class, size int) { return Stream, 2 * message.MaxRecord }
