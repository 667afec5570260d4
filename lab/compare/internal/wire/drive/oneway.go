package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
)

// openSenders opens n senders, each of which has sent one message.
func openSenders(ctx context.Context, open func(context.Context) (peers.Sender, error), n, size int) ([]peers.Sender, error) {
	senders := make([]peers.Sender, n)
	for i := range senders {
		var err error
		if senders[i], err = open(ctx); err != nil {
			return nil, err
		}
		if err := senders[i].Send(ctx, make([]byte, size)); err != nil {
			return nil, fmt.Errorf("the first message of sender %d: %w", i, err)
		}
	}
	return senders, nil
}

// oneWay sends from n goroutines. The window ends when the other process has received everything,
// so bytes in buffers are not counted before they arrive.
func oneWay(ctx context.Context, open func(context.Context) (peers.Sender, error), r Remote, o measure.Options, n, size int) (*measure.Measurement, error) {
	senders, err := openSenders(ctx, open, n, size)
	if err != nil {
		return nil, err
	}
	sent := int64(n)
	arrived := func() error { return r.Await(sent*int64(size), settle) }

	// The first window is the warm-up.
	warm, err := sendAll(ctx, senders, size, o.Warmup)
	sent += warm
	if err := errors.Join(err, arrived()); err != nil {
		return nil, err
	}
	meter, err := measure.StartMeter(r)
	if err != nil {
		return nil, err
	}
	m := &measure.Measurement{}
	m.Ops, err = sendAll(ctx, senders, size, o.Duration)
	sent += m.Ops
	m.Bytes = m.Ops * int64(size)
	if err := errors.Join(err, arrived(), meter.Stop(m)); err != nil {
		return nil, err
	}
	return m, verify(r, sent, sent*int64(size))
}

// verify checks the final count: as many bytes, and as many messages where the
// peer has messages at all.
func verify(r Remote, sent, bytes int64) error {
	gotMessages, gotBytes, err := r.Received()
	if err != nil {
		return err
	}
	if gotBytes != bytes || gotMessages != 0 && gotMessages != sent {
		return fmt.Errorf("sent %d messages of %d bytes, of which %d and %d arrived", sent, bytes, gotMessages, gotBytes)
	}
	return nil
}

// sendAll runs every sender for d and returns how many messages they sent.
func sendAll(ctx context.Context, senders []peers.Sender, size int, d time.Duration) (int64, error) {
	run := startSenders(ctx, senders, size)
	_ = lifecycle.Sleep(ctx, d)
	return run.stop()
}

// sending is a number of senders at work.
type sending struct {
	running  sync.WaitGroup
	halt     atomic.Bool
	counts   []int64
	failures []error
}

func startSenders(ctx context.Context, senders []peers.Sender, size int) *sending {
	run := &sending{counts: make([]int64, len(senders)), failures: make([]error, len(senders))}
	for i, sender := range senders {
		run.running.Go(func() {
			run.counts[i], run.failures[i] = run.loop(ctx, sender, make([]byte, size))
		})
	}
	return run
}

func (run *sending) loop(ctx context.Context, sender peers.Sender, body []byte) (n int64, err error) {
	for ; !run.halt.Load(); n++ {
		if err := sender.Send(ctx, body); err != nil {
			return n, err
		}
	}
	return n, nil
}

// stop ends the senders and returns how many messages they have sent.
func (run *sending) stop() (sent int64, err error) {
	run.halt.Store(true)
	run.running.Wait()
	for _, n := range run.counts {
		sent += n
	}
	return sent, errors.Join(run.failures...)
}
