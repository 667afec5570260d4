// Package natsload loads a server that speaks the NATS protocol, and counts its deliveries. It uses
// the socket: messages are rendered beforehand in batches of 64 KiB, and received by a parser that
// compares whole blocks where every message is the same. So most of the measured time is the
// server's, and the same bytes go to every server.
//
// A lost message is an error. Each window ends with a PING that the server has answered to every
// publisher, and when each subscriber has all messages; then every subscriber's own PING is
// answered, so that one message too many would have been seen. Publishers keep within a window of
// messages in flight, because a broker has none, and closes a subscriber with too many pending
// ones.
//
// The operations are values of [Stream] and [Requests].
package natsload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
)

const (
	// windowBytes bounds the bytes in flight to one subscriber: an eighth of the servers' default
	// limit.
	windowBytes = 8 << 20
	// windowTotal bounds the bytes in flight to all of them.
	windowTotal = 64 << 20
	// perMessage is the size of a delivered message beside its payload, about.
	perMessage = 24
	// settle is how long the last messages may take to arrive after a window.
	settle = 30 * time.Second
)

var errNotArrived = errors.New("not everything has arrived")

// Server is the server's process.
type Server interface {
	measure.User
	// Addr is where it listens.
	Addr() string
}

// Stream is an operation: publishers that send as fast as they may. An operation is a delivery, or
// a message without subscribers.
type Stream struct {
	Size        int    // bytes of payload
	Subject     string // "foo" if empty; with Subjects, the prefix of their numbers
	Subjects    int    // distinct ones, taken in turn; 0 is 1
	Publishers  int    // connections; 0 is 1
	Subscribers int    // connections
	Members     int    // subscriptions of each in one queue group; 0: no queue group, one subscription
	Same        bool   // the publisher's connection is also the subscriber's
	Stalled     int    // subscribers beside these that do not read
	Uncounted   int    // of the subscribers, those whose deliveries are no operations

	underWay int // bytes that may be under way to one subscriber; 0 is windowBytes
}

// fanOut is how many operations a message is.
func (s Stream) fanOut() int {
	if s.Members > 0 {
		return 1
	}
	return s.Subscribers - s.Uncounted
}

// Measure runs the stream against a server.
func (s Stream) Measure(ctx context.Context, server Server, o measure.Options) (_ *measure.Measurement, err error) {
	s.Publishers, s.Subjects = max(s.Publishers, 1), max(s.Subjects, 1)
	if s.Subject == "" {
		s.Subject = "foo"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Warmup+o.Duration+settle, errNotArrived)
	defer cancel()
	r := &streaming{Stream: s, crew: newCrew(ctx, server.Addr())}
	defer r.crew.close()
	if err := r.join(); err != nil {
		return nil, err
	}
	if _, err := r.run(o.Warmup, false); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	meter, err := startMeter(server)
	if err != nil {
		return nil, err
	}
	sent, err := r.run(o.Duration, true)
	m := &measure.Measurement{Ops: sent * int64(max(1, s.fanOut()))}
	m.Bytes = m.Ops * int64(s.Size)
	if err := errors.Join(err, meter.Stop(m)); err != nil {
		return nil, err
	}
	return m, r.verify()
}

// streaming is a stream at work.
type streaming struct {
	Stream
	crew        *crew
	window      *window
	publishers  []*conn
	batches     []*batch
	subscribers []*conn
}

// join connects all clients; the subscriptions are in effect when it returns.
func (r *streaming) join() error {
	r.window = newWindow(r.limit(), r.arrived)
	for i := range r.Subscribers {
		c, err := r.crew.join(fmt.Sprintf("subscriber %d", i), r.prepare)
		if err != nil {
			return err
		}
		r.subscribers = append(r.subscribers, c)
		if err := r.subscribe(c); err != nil {
			return err
		}
	}
	if r.Same {
		r.publishers = r.subscribers[:1]
	}
	for i := range r.Publishers {
		r.batches = append(r.batches, render(r.Subject, r.Subjects, r.Size))
		if r.Same {
			continue
		}
		c, err := r.crew.join(fmt.Sprintf("publisher %d", i), nil)
		if err != nil {
			return err
		}
		r.publishers = append(r.publishers, c)
	}
	return nil
}

// prepare sets how a subscriber receives.
func (r *streaming) prepare(c *conn) {
	c.wake = r.window.wake
	if r.Subjects == 1 && r.Members <= 1 {
		c.expect(delivered(r.Subject, 1, r.Size))
	}
}

func (r *streaming) subscribe(c *conn) error {
	pattern := r.Subject
	if r.Subjects > 1 {
		pattern = r.Subject[:strings.LastIndexByte(r.Subject, '.')+1] + ">"
	}
	var text []byte
	for sid := range max(r.Members, 1) {
		queue := ""
		if r.Members > 0 {
			queue = " group"
		}
		text = fmt.Appendf(text, "SUB %s%s %d\r\n", pattern, queue, sid+1)
	}
	if err := c.send(r.crew.ctx, text); err != nil {
		return err
	}
	return c.ping(r.crew.ctx)
}

// limit returns how many messages may be under way.
func (r *streaming) limit() int64 {
	bytes := min(cmp.Or(r.underWay, windowBytes), windowTotal/max(1, r.Subscribers))
	block := blockSize / (r.Size + perMessage)
	return int64(max(bytes/(r.Size+perMessage), 2*r.Publishers*block, 1))
}

// arrived returns the number of messages that all subscribers have.
func (r *streaming) arrived() int64 {
	if r.Members > 0 {
		sum := int64(0)
		for _, c := range r.subscribers {
			sum += c.received.Load()
		}
		return sum
	}
	least := r.window.sent.Load()
	for _, c := range r.subscribers {
		least = min(least, c.received.Load())
	}
	return least
}

// run publishes for d and returns how many messages, when all have arrived and every publisher's
// PING was answered. The load beside it runs in the measured window only.
func (r *streaming) run(d time.Duration, measured bool) (int64, error) {
	before := r.window.sent.Load()
	var beside besides
	var err error
	if measured {
		err = beside.start(r.crew, r.Stream)
	}
	if err == nil {
		err = r.publish(d)
	}
	if err := errors.Join(err, beside.stop()); err != nil {
		return 0, err
	}
	return r.window.sent.Load() - before, r.window.drained(r.crew.ctx)
}

// publish runs every publisher for d, and waits for their PONGs.
func (r *streaming) publish(d time.Duration) error {
	var (
		running  sync.WaitGroup
		halt     atomic.Bool
		failures = make([]error, len(r.publishers))
	)
	for i, c := range r.publishers {
		running.Go(func() {
			if failures[i] = r.flood(c, r.batches[i], &halt); failures[i] == nil {
				failures[i] = c.ping(r.crew.ctx)
			}
		})
	}
	_ = lifecycle.Sleep(r.crew.ctx, d)
	halt.Store(true)
	running.Wait()
	return errors.Join(failures...)
}

// flood publishes as fast as the window lets it.
func (r *streaming) flood(c *conn, b *batch, halt *atomic.Bool) error {
	for !halt.Load() {
		messages, n := b.next(int(r.window.limit))
		if r.Subscribers == 0 {
			r.window.sent.Add(int64(n))
		} else if err := r.window.enter(r.crew.ctx, n); err != nil {
			return err
		}
		if err := c.send(r.crew.ctx, messages); err != nil {
			return err
		}
	}
	return nil
}

// verify compares the counts once more when every subscriber's own PING has been
// answered: one message too many would be seen too.
func (r *streaming) verify() error {
	sent, sum := r.window.sent.Load(), int64(0)
	for _, c := range r.subscribers {
		if err := c.ping(r.crew.ctx); err != nil {
			return err
		}
		got := c.received.Load()
		if sum += got; r.Members == 0 && got != sent {
			return fmt.Errorf("%s got %d of %d messages", c.name, got, sent)
		}
	}
	if want := sent * int64(r.fanOut()+r.Uncounted); r.Subscribers > 0 && sum != want {
		return fmt.Errorf("sent %d messages, of which %d deliveries were due and %d were made", sent, want, sum)
	}
	return nil
}
