package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	// maxUnacked and maxUnackedBytes bound what is read ahead of the platform's
	// acknowledgements: 1 Mbit/s with 2 s there and back.
	maxUnacked      = 4096
	maxUnackedBytes = 256 << 10
)

// delivery brings what is in the spool to the platform, in order. A record's number is
// that of its post in the session, from one life of the process to the next: so the
// platform drops what comes to it twice. A number whose record is not there any more is
// posted as a skip.
type delivery struct {
	spool *spool.Spool
	link  *wire.Client
	base  uint64 // of the session: the number before that of its first post
	log   *slog.Logger
}

// run posts, and notes what is acknowledged, until ctx ends. ErrSessionShared says that
// the session is another process's too.
func (d *delivery) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan error, 2)
	go func() { results <- d.postAll(ctx) }()
	go func() { results <- d.follow(ctx) }()
	err := <-results
	cancel() // one alone is of no use
	return cmp.Or(err, <-results)
}

// postAll posts until ctx ends. What it has posted is acknowledged by follow.
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

// post waits for room in the link's memory.
func (d *delivery) post(ctx context.Context, number uint64, kind string, body []byte) error {
	got, err := d.link.PostAck(ctx, kind, body)
	if err == nil && got != number {
		err = fmt.Errorf("record %d went out as number %d", number, got) // they would never agree again
	}
	return err
}

// follow notes in the spool what the platform has acknowledged, until ctx ends.
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
	if acked <= d.spool.Acked() {
		return nil
	}
	return d.spool.Ack(acked)
}

// flush waits until all that was accepted is delivered, if there is a connection, and
// no longer than ctx. It says how much is left.
func (d *delivery) flush(ctx context.Context) (left uint64) {
	last := d.spool.Last()
	if len(d.link.Conns()) > 0 {
		_ = d.link.WaitAcked(ctx, last) // what is left is said
	}
	if err := d.note(d.link.Acked()); err != nil && !errors.Is(err, spool.ErrClosed) {
		d.log.Error("what was delivered could not be noted; the platform will drop it when it comes again", "error", err)
	}
	return last - d.spool.Acked()
}

// ended makes an error that comes of the end of ctx none.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, spool.ErrClosed) || errors.Is(err, wire.ErrClosed) {
		return nil
	}
	return err
}
