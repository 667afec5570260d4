package wireapi

import (
	"context"
	"errors"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/lookup"
	"paddock/internal/process/keyring"
	"paddock/wire"
)

// update serves pos.update: the posts of a frame are one batch. It returns, and the posts are
// acknowledged, once all of them have been applied and their events published, or were rejected.
// Meanwhile the sender's credit runs out, so no position is dropped for lack of room.
func (a *API) update(ctx context.Context, posts *wire.Posts) error {
	g, err := a.permit(posts.Conn(), keyring.PositionsWrite)
	if err != nil {
		return a.refuse(posts, err)
	}
	dec := ingest.Decoder{MaxAhead: a.cfg.MaxAhead}
	dec.Arrived, dec.Present = a.cfg.Pipeline.Times()
	if g.OfFleets() {
		dec.Sees = g.Fleet
		if only := g.Fleets(); len(only) == 1 {
			dec.Fleet = only[0]
		}
	}
	batch := &ingest.Batch{Positions: make([]track.Position, 0, posts.Len())}
	i := 0
	dec.Door, batch.Door = a.cfg.Door, a.cfg.Door
	for number, body := range posts.All() {
		dec.Binary(batch, i, body)
		batch.Handled = handled(posts, number)
		i++
	}
	a.counts.positions.Add(uint64(i))
	// Received positions are applied even if their connection ends meanwhile.
	result, err := a.cfg.Pipeline.Submit(context.WithoutCancel(ctx), batch)
	if (errors.Is(err, ingest.ErrClosed) || result.Overloaded > 0) && posts.Acknowledged() {
		return a.unapplied(posts.Conn(), err)
	}
	return err
}

var errUnapplied = errors.New("the positions were not applied")

// unapplied waits for the end of a connection whose posts were not applied: to return earlier, or
// without an error, would count them as handled. A drain ends it once its subscriber has the last
// events. Else it is ended here if the platform goes on: its disk was full, or its cluster had no
// leader. The client comes back, and sends its posts again.
func (a *API) unapplied(c *wire.Conn, err error) error {
	if err == nil && !a.draining.Load() {
		c.Abort(wire.Unavailable)
	}
	<-c.Done()
	return errors.Join(errUnapplied, err)
}

// refuse ends a connection that may not send positions: returning would acknowledge them.
func (a *API) refuse(posts *wire.Posts, err error) error {
	a.counts.denied.Add(uint64(posts.Len()))
	code := wire.PermissionDenied
	if e, ok := errors.AsType[*wire.Error](err); ok {
		code = e.Code
	}
	posts.Conn().Abort(code)
	<-posts.Conn().Done()
	return err
}

// handled returns the progress of the posts' session with a post of this number; nil without one.
func handled(posts *wire.Posts, number uint64) *ingest.Handled {
	s := posts.Session()
	if s == nil || number == 0 {
		return nil
	}
	return &ingest.Handled{Session: s.ID, Epoch: s.Epoch, Index: s.Index, Count: number}
}

// skip serves pos.skip: numbers of positions that the sender has dropped.
func (a *API) skip(ctx context.Context, posts *wire.Posts) error {
	if _, err := a.permit(posts.Conn(), keyring.PositionsWrite); err != nil {
		return a.refuse(posts, err)
	}
	a.counts.skipped.Add(uint64(posts.Len()))
	batch := &ingest.Batch{}
	for number := range posts.All() {
		batch.Handled = handled(posts, number)
	}
	if batch.Handled == nil {
		return nil
	}
	_, err := a.cfg.Pipeline.Submit(context.WithoutCancel(ctx), batch)
	return err
}

var lookups = sync.Pool{New: func() any { return new(lookup.Lookup) }}

// keptAnswer is the largest buffer of an answer that is reused.
const keptAnswer = 64 << 10

// search serves fence.search. A long answer continues as a stream; its memory counts until the peer
// has received it.
func (a *API) search(_ context.Context, r *wire.Request) error {
	a.handlers.add(1)
	defer a.handlers.add(-1)
	g, err := a.permit(r.Conn(), keyring.Lookup)
	if err != nil {
		return err
	}
	a.counts.searches.Add(1)
	if r.Stream() != nil {
		return &wire.Error{Code: wire.OutOfRange, Msg: "body: larger than a frame; send it in parts"}
	}
	lease := a.large.Lease()
	defer lease.Release()
	l := lookups.Get().(*lookup.Lookup)
	defer func() {
		l.End()
		if l.Hold, l.Sees = nil, nil; cap(l.Answer) > keptAnswer {
			l.Answer = nil
		}
		lookups.Put(l)
	}()
	if l.Hold = lease.Hold; g.OfSets() {
		l.Sees = g.Set
	}
	if err := l.Request(a.cfg.Catalog, lookup.Terms{}, r.Body); err != nil {
		return refusal(err)
	}
	return r.Respond(l.Answer)
}

// refusal returns the wire error for a refused look-up.
func refusal(err error) error {
	e, ok := errors.AsType[*lookup.Error](err)
	if !ok {
		return err
	}
	code := map[lookup.Kind]wire.Code{
		lookup.Invalid: wire.InvalidArgument, lookup.NoSet: wire.NotFound,
		lookup.TooLarge: wire.OutOfRange, lookup.NoRoom: wire.ResourceExhausted, lookup.Gone: wire.FailedPrecondition, lookup.Denied: wire.PermissionDenied,
	}[e.Kind]
	return &wire.Error{Code: code, Msg: e.Reason}
}
