package wireapi

import (
	"context"
	"errors"
	"time"

	"paddock/fence/track"
	"paddock/internal/ingest"
	"paddock/wire"
)

// update serves pos.update: the posts of a frame are one batch. It returns, and
// the posts are acknowledged, when all of them have been applied and their events
// published, or were rejected. Until then it waits: the sender's credit runs out,
// and no position is dropped for want of room.
func (a *API) update(ctx context.Context, posts *wire.Posts) error {
	dec := ingest.Decoder{Arrived: track.MillisOf(time.Now()), MaxAhead: a.cfg.MaxAhead}
	batch := &ingest.Batch{Positions: make([]track.Position, 0, posts.Len())}
	i := 0
	for _, body := range posts.All() {
		dec.Binary(batch, i, body)
		i++
	}
	a.counts.positions.Add(uint64(i))
	// What has come is applied, also when its connection ends meanwhile.
	_, err := a.cfg.Pipeline.Submit(context.WithoutCancel(ctx), batch)
	if errors.Is(err, ingest.ErrClosed) && posts.Acknowledged() {
		a.leaveUnacknowledged(ctx, posts.Conn())
	}
	return err
}

// leaveUnacknowledged deals with posts that came too late in a drain. Returning
// would acknowledge them, so their connection must have ended before; but it must
// not end before its subscriber has the last events.
func (a *API) leaveUnacknowledged(ctx context.Context, c *wire.Conn) {
	select {
	case <-a.finished:
	case <-ctx.Done():
	}
	c.Abort(wire.Unavailable)
	<-c.Done() // nothing is written any more
}
