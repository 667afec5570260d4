package nats

import (
	"fmt"

	"paddock/load"
)

// subscriber is a connection that gets messages, and verifies them. It is listener i of the
// run, over all its connections.
type subscriber struct {
	client
	account *account
	order   *order
}

func newSubscriber(c *Codec, i int) *subscriber {
	s := &subscriber{client: client{codec: c, listens: true, first: subscribe(c.Listen, c.Queue)}, order: &c.orders[i]}
	s.account = c.accounts[min(i, len(c.accounts)-1)]
	return s
}

// subscribe is the line that does it.
func subscribe(subject, queue string) []byte {
	if queue != "" {
		queue += " "
	}
	return fmt.Appendf(nil, "SUB %s %s1\r\n", subject, queue)
}

// Request is never asked for.
func (*subscriber) Request(*load.Request) error { return errListens }

var errListens = &load.Failed{Class: load.ClassProtocol, Err: fmt.Errorf("a listener sends nothing")}

// Receive takes messages: each new one is the answer to its publisher's request.
func (s *subscriber) Receive(in []byte, answers *load.Answers) (int, error) {
	zero := s.codec.clock.wall(answers.Now)
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	fresh := int64(0)
	used, err := s.receive(in, answers, func(op *Operation) error {
		switch op.Kind {
		case KindMessage:
			if s.take(op, zero, answers) {
				fresh++
			}
		case KindErr:
			return refused(op.Text)
		}
		return nil
	})
	if fresh > 0 {
		s.account.delivered.Add(fresh)
	}
	return used, err
}

// take counts one message, and reports whether it was new.
//
// hot: BenchmarkDeliveries.
func (s *subscriber) take(op *Operation, zero int64, answers *load.Answers) bool {
	m, ok := readStamp(op.Payload)
	if !ok || s.codec.Do == PubSub && m.run != s.codec.run {
		s.codec.foreign.Add(1)
		if s.codec.Do == Subscribe {
			answers.Add(load.Answer{Match: load.Untimed, Body: int64(op.Size)})
		}
		return false
	}
	from := source{m.run, m.publisher}
	stream := s.account.of(from)
	if stream == nil {
		s.codec.foreign.Add(1)
		return false
	}
	s.order.take(from, m.number)
	if !stream.Add(m.number) {
		s.account.doubled++
		return false
	}
	a := load.Answer{Match: load.ByTimes, Due: m.due - zero, Sent: m.sent - zero, Body: int64(op.Size)}
	if m.run != s.codec.run && a.Sent > answers.Now {
		a = load.Answer{Match: load.Untimed, Body: a.Body} // of another clock
	}
	answers.Add(a)
	return true
}
