package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// load is how long positions are sent, or how many.
type load struct {
	length    time.Duration
	positions int
}

// window is the figures of a load.
type window struct {
	positions int64 // acknowledged
	elapsed   time.Duration
	latencies []time.Duration // of batches, from the first post to the acknowledgement of the last

	// Of the platform. appending is the time until records were durable, one after the other.
	cpu, appending           time.Duration
	written, events, records int64
}

// feed sends positions over connections of their own, until all of them are acknowledged.
func (b *bench) feed(ctx context.Context, address string, fleets []*fleet, l load) (w window, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.length+startWithin)
	defer cancel()
	lanes := make([]*lane, len(fleets))
	for i, f := range fleets {
		lanes[i] = &lane{fleet: f, batch: b.Batch, load: l, slots: make(chan struct{}, b.Window), sent: make(chan batch, b.Window)}
		if lanes[i].conn, err = wire.Dial(ctx, "tcp", address, &wire.Config{Agent: "paddock bench durable"}); err != nil {
			break
		}
		defer lanes[i].conn.Close()
		if l.positions > 0 {
			lanes[i].load.positions = len(f.vehicles)
		}
	}
	if err != nil {
		return w, err
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
	w.elapsed = time.Since(begun)
	for _, l := range lanes {
		w.positions += l.acknowledged
		w.latencies = append(w.latencies, l.latencies...)
	}
	return w, errors.Join(errs...)
}

// lane is one connection.
type lane struct {
	conn  *wire.Conn
	fleet *fleet
	batch int
	load  load
	slots chan struct{} // holds a token for each batch that is not acknowledged
	sent  chan batch

	bodies [][]byte
	buffer []byte

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
		if l.load.positions > 0 {
			count = min(count, l.load.positions-total)
		}
		if count == 0 || l.load.length > 0 && time.Since(begun) >= l.load.length {
			return nil
		}
		if err := l.make(count); err != nil {
			return err
		}
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := l.post(ctx, count); err != nil {
			return fmt.Errorf("a position: %w", err)
		}
		total += count
	}
}

// make encodes the next positions.
func (l *lane) make(count int) (err error) {
	l.bodies, l.buffer = l.bodies[:0], l.buffer[:0]
	now := millis()
	var p position.Position
	for range count {
		l.fleet.step(now, &p)
		from := len(l.buffer)
		if l.buffer, err = position.Append(l.buffer, &p); err != nil {
			return err
		}
		l.bodies = append(l.bodies, l.buffer[from:])
	}
	return nil
}

// post sends the encoded positions in as few frames as can be.
func (l *lane) post(ctx context.Context, count int) (err error) {
	b := batch{count: count, begun: time.Now()}
	uncork := l.conn.Cork()
	for _, body := range l.bodies {
		if b.last, err = l.conn.PostAck(ctx, wireapi.KindUpdate, body); err != nil {
			break
		}
	}
	uncork()
	if err == nil {
		l.sent <- b // has room for as many as there are slots
	}
	return err
}

// await waits for the acknowledgement of each batch.
func (l *lane) await(ctx context.Context) error {
	for b := range l.sent {
		if err := l.conn.WaitAcked(ctx, b.last); err != nil {
			return fmt.Errorf("an acknowledgement: %w", err)
		}
		l.latencies = append(l.latencies, time.Since(b.begun))
		l.acknowledged += int64(b.count)
		<-l.slots
	}
	return nil
}
