package wireapi

import (
	"context"
	"errors"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
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
		// It came too late in a drain. To return would acknowledge it, so this waits
		// until nothing is written any more: the drain ends the connection once its
		// subscriber has the last events.
		<-posts.Conn().Done()
	}
	return err
}

// skip serves pos.skip: positions that their sender has given up, of which only the
// numbers come.
func (a *API) skip(_ context.Context, posts *wire.Posts) error {
	a.counts.skipped.Add(uint64(posts.Len()))
	return nil
}
