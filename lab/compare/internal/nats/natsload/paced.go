package natsload

import (
	"sync/atomic"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	natscodec "paddock/lab/internal/codec/nats"
	"paddock/load/histogram"
)

// tick is the interval at which a paced publisher sends the messages that are due. Half of it is in
// every latency, with either server.
const tick = 50 * time.Microsecond

// paced publishes at the stream's rate for d. Every message has the time at which it is due, and is
// sent then or as soon after as possible; a message that waits for a slow write is late, and its
// latency includes that.
func (r *streaming) paced(c *conn, publisher int, began time.Time, d time.Duration) error {
	ticks, err := newTicker(tick)
	if err != nil {
		return err
	}
	defer ticks.Stop()
	b, rate := r.batches[publisher], r.Rate/float64(len(r.publishers))
	total := max(1, int64(rate*d.Seconds()))
	for sent := int64(0); sent < total && r.crew.ctx.Err() == nil; {
		due := min(total, int64(rate*time.Since(began).Seconds())+1)
		if sent == due {
			if err := ticks.Wait(); err != nil {
				return err
			}
			continue
		}
		messages, n := b.next(int(due - sent))
		b.stamp(messages, publisher, sent)
		r.window.sent.Add(int64(n))
		if err := c.send(r.crew.ctx, messages); err != nil {
			return err
		}
		sent += int64(n)
	}
	return nil
}

// clock times the messages of a subscriber.
type clock struct {
	now    time.Time // of the present read
	window *clocked
	latest atomic.Pointer[clocked]
}

// clocked is one window of a clock.
type clocked struct {
	began  time.Time
	period float64 // from a message of a publisher to its next, in nanoseconds
	times  *histogram.Histogram
}

// begin starts a window of messages of which each publisher sends rate a second.
func (c *clock) begin(at time.Time, rate float64) {
	c.latest.Store(&clocked{began: at, period: float64(time.Second) / rate, times: histogram.New()})
}

// attach has the clock time what a connection receives.
func (c *clock) attach(to *conn) {
	to.read = func() { c.now, c.window = time.Now(), c.latest.Load() }
	to.message = func(op *natscodec.Operation) {
		_, number := readStamp(op.Payload)
		due := c.window.began.Add(time.Duration(float64(number) * c.window.period))
		c.window.times.Record(int64(c.now.Sub(due)))
	}
}

// latency returns the latencies of the last window.
func (r *streaming) latency() measure.Latency {
	all := make([]*histogram.Histogram, len(r.clocks))
	for i, c := range r.clocks {
		all[i] = c.latest.Load().times
	}
	return measure.LatencyOf(all...)
}
