package doors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/process/lifecycle"
)

// feed sends positions over connections of their own, until all of them are acknowledged.
func (s *Sender) feed(ctx context.Context, open dial, window int, fleets []*Fleet, l Load) (w Window, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Length+StartWithin)
	defer cancel()
	lanes := make([]*lane, len(fleets))
	for i, f := range fleets {
		lanes[i] = &lane{fleet: f, batch: s.Batch, load: l, slots: make(chan struct{}, window), sent: make(chan batch, window)}
		if lanes[i].conn, err = open(ctx, i); err != nil {
			return w, err
		}
		defer lanes[i].conn.Close()
		if l.Positions > 0 {
			lanes[i].load.Positions = len(f.Vehicles) * max(1, l.Times)
		}
		lanes[i].load.PerSecond /= float64(len(fleets))
	}
	begun := time.Now()
	var running sync.WaitGroup
	errs := make([]error, len(lanes))
	for i, l := range lanes {
		running.Go(func() {
			if errs[i] = l.run(ctx, begun); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	w.Elapsed = time.Since(begun)
	for _, l := range lanes {
		w.Positions += l.acknowledged
		w.Latencies = append(w.Latencies, l.latencies...)
	}
	return w, errors.Join(errs...)
}

// lane is one connection with its load.
type lane struct {
	conn  connection
	fleet *Fleet
	batch int
	load  Load
	slots chan struct{} // holds a token for each batch that is not acknowledged
	sent  chan batch

	positions []position.Position

	acknowledged int64
	latencies    []time.Duration
}

// batch is positions that were sent together.
type batch struct {
	last  uint64 // number of the last one
	count int
	begun time.Time
}

// run sends until the load is over, and returns when all is acknowledged.
func (l *lane) run(ctx context.Context, begun time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	acknowledged := make(chan error, 1)
	go func() {
		err := l.await(ctx)
		if err != nil {
			cancel() // the sender waits for a slot, or for room
		}
		acknowledged <- err
	}()
	err := l.send(ctx, begun)
	close(l.sent)
	if failed := <-acknowledged; failed != nil {
		return failed
	}
	return err
}

// send sends batches, each when there is a slot for it.
func (l *lane) send(ctx context.Context, begun time.Time) error {
	for total := 0; ; {
		count := l.batch
		if l.load.Positions > 0 {
			count = min(count, l.load.Positions-total)
		}
		if count == 0 || l.load.Length > 0 && time.Since(begun) >= l.load.Length {
			return nil
		}
		if err := l.make(count); err != nil {
			return err
		}
		due, err := l.pace(ctx, begun, total)
		if err != nil {
			return err
		}
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		b := batch{count: count, begun: time.Now()}
		if !due.IsZero() {
			b.begun = due
		}
		if b.last, err = l.conn.post(ctx); err != nil {
			return errors.Join(fmt.Errorf("a position: %w", err), ctx.Err())
		}
		l.sent <- b // has room for as many as there are slots
		total += count
	}
}

// pace waits until the batch behind so many positions is due, and returns that time; the zero one
// without a rate.
func (l *lane) pace(ctx context.Context, begun time.Time, sent int) (due time.Time, err error) {
	if l.load.PerSecond == 0 {
		return due, nil
	}
	due = begun.Add(time.Duration(float64(sent) / l.load.PerSecond * float64(time.Second)))
	return due, lifecycle.Sleep(ctx, time.Until(due))
}

// make encodes the next positions.
func (l *lane) make(count int) error {
	l.positions = l.positions[:0]
	now := Now()
	for range count {
		var p position.Position
		l.fleet.Step(now, &p)
		l.positions = append(l.positions, p)
	}
	return l.conn.encode(l.positions)
}

// await waits for the acknowledgement of each batch.
func (l *lane) await(ctx context.Context) error {
	for b := range l.sent {
		if err := l.conn.await(ctx, b); err != nil {
			return errors.Join(fmt.Errorf("an acknowledgement: %w", err), ctx.Err())
		}
		l.latencies = append(l.latencies, time.Since(b.begun))
		l.acknowledged += int64(b.count)
		<-l.slots
	}
	return nil
}
