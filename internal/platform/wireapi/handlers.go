package wireapi

import (
	"context"
	"errors"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/wire"
)

// update serves pos.update: the posts of a frame are one batch. It returns, and the posts are
// acknowledged, once all of them have been applied and their events published, or were rejected.
// Meanwhile the sender's credit runs out, so no position is dropped for lack of room.
func (a *API) update(ctx context.Context, posts *wire.Posts) error {
	dec := ingest.Decoder{Arrived: track.MillisOf(time.Now()), MaxAhead: a.cfg.MaxAhead}
	batch := &ingest.Batch{Positions: make([]track.Position, 0, posts.Len())}
	i := 0
	for _, body := range posts.All() {
		dec.Binary(batch, i, body)
		i++
	}
	a.counts.positions.Add(uint64(i))
	// Received positions are applied even if their connection ends meanwhile.
	_, err := a.cfg.Pipeline.Submit(context.WithoutCancel(ctx), batch)
	if errors.Is(err, ingest.ErrClosed) && posts.Acknowledged() {
		// The batch came too late in a drain. Returning would acknowledge it, so update waits for
		// the end of the connection: the drain ends it once its subscriber has the last events.
		<-posts.Conn().Done()
	}
	return err
}

// skip serves pos.skip: numbers of positions that the sender has dropped.
func (a *API) skip(_ context.Context, posts *wire.Posts) error {
	a.counts.skipped.Add(uint64(posts.Len()))
	return nil
}
