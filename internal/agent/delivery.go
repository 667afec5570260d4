package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"paddock/internal/agent/spool"
	"paddock/wire"
)

// The platform's kinds that the agent uses; docs/reference/wire-kinds.md specifies them.
const (
	kindUpdate = "pos.update"
	kindSkip   = "pos.skip"
	kindSearch = "fence.search"
	kindEvents = "fence.events"
)

const (
	// maxUnacked and maxUnackedBytes bound the unacknowledged posts: enough for 1 Mbit/s with a
	// round trip of 2 s.
	maxUnacked      = 4096
	maxUnackedBytes = 256 << 10
)

// delivery sends the records of the spool to the platform, in order. A record's number is also the
// number of its post in the session, even after a restart, so the platform can drop duplicates. A
// number whose record is gone is posted as a skip.
type delivery struct {
	spool *spool.Spool
	link  *wire.Client
	base  uint64 // of the session: the number before its first post
	log   *slog.Logger

	mu   sync.Mutex // held while an acknowledgement is recorded
	over bool       // the spool gets another id: acknowledgements are of the old one
}

// run posts records and records acknowledgements until ctx ends. ErrSessionShared means that
// another process uses the session too.
func (d *delivery) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan error, 2)
	go func() { results <- d.postAll(ctx) }()
	go func() { results <- d.follow(ctx) }()
	err := <-results
	cancel() // neither is of use without the other
	return cmp.Or(err, <-results)
}

// postAll posts until ctx ends. follow handles the acknowledgements.
func (d *delivery) postAll(ctx context.Context) error {
	r := d.spool.Reader(d.base + 1)
	defer r.Close()
	for next := d.base + 1; ; next++ {
		rec, err := r.Next(ctx)
		for ; err == nil && next < rec.Number; next++ {
			err = d.post(ctx, next, kindSkip, nil)
		}
		if err == nil {
			err = d.post(ctx, next, kindUpdate, rec.Body)
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// post waits for room among the unacknowledged posts.
func (d *delivery) post(ctx context.Context, number uint64, kind string, body []byte) error {
	got, err := d.link.PostAck(ctx, kind, body)
	if err == nil && got != number {
		err = fmt.Errorf("record %d went out as number %d", number, got) // the numbers would never agree again
	}
	return err
}

// follow records acknowledgements in the spool until ctx ends.
func (d *delivery) follow(ctx context.Context) error {
	for {
		acked := d.link.Acked()
		if err := d.note(acked); err != nil {
			return ended(ctx, err)
		}
		if err := d.link.WaitAcked(ctx, acked+1); err != nil {
			return ended(ctx, err)
		}
	}
}

func (d *delivery) note(acked uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || acked <= d.spool.Acked() {
		return nil
	}
	return d.spool.Ack(acked)
}

// end stops the recording of acknowledgements.
func (d *delivery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
}

// flush waits, until ctx ends, for the delivery of all accepted records, if there is a connection.
// It returns the number of undelivered ones.
func (d *delivery) flush(ctx context.Context) (left uint64) {
	last := d.spool.Last()
	if len(d.link.Conns()) > 0 {
		_ = d.link.WaitAcked(ctx, last) // the caller reports the rest
	}
	if err := d.note(d.link.Acked()); err != nil && !errors.Is(err, spool.ErrClosed) {
		d.log.Error("delivered positions could not be recorded; the platform will drop them when they are sent again", "error", err)
	}
	return last - d.spool.Acked()
}

// ended returns nil if ctx has ended, or if the spool or the client is closed; else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, spool.ErrClosed) || errors.Is(err, wire.ErrClosed) {
		return nil
	}
	return err
}
