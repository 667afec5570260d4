package natsload

import (
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/lab/compare/internal/harness/measure"
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

// clock is the reader of a subscriber that times its messages.
type clock struct {
	frames Frames
	count  int64
	now    time.Time // of the present read
	window *clocked
	latest atomic.Pointer[clocked]
}

// clocked is one window of a clock.
type clocked struct {
	began  time.Time
	period float64 // from a message of a publisher to its next, in nanoseconds
	times  *hdrhistogram.Histogram
}

func newClock() *clock {
	c := &clock{}
	c.frames.Message = c.take
	return c
}

// begin starts a window of messages of which each publisher sends rate a second.
func (c *clock) begin(at time.Time, rate float64) {
	c.latest.Store(&clocked{began: at, period: float64(time.Second) / rate, times: measure.NewHistogram()})
}

func (c *clock) take(f Frame) {
	_, number := readStamp(f.Payload)
	due := c.window.began.Add(time.Duration(float64(number) * c.window.period))
	measure.Record(c.window.times, c.now.Sub(due))
	c.count++
}

// Feed implements parser.
func (c *clock) Feed(p []byte) error {
	c.now, c.window = time.Now(), c.latest.Load()
	return c.frames.Feed(p)
}

func (c *clock) tally() (messages, pings, pongs int64) {
	return c.count, c.frames.Pings, c.frames.Pongs
}

// latency returns the latencies of the last window.
func (r *streaming) latency() measure.Latency {
	if len(r.clocks) == 0 {
		return measure.Latency{}
	}
	var all []*hdrhistogram.Histogram
	for _, c := range r.clocks {
		all = append(all, c.latest.Load().times)
	}
	return measure.LatencyOf(measure.Merged(all))
}
