package agent

import (
	"context"
	"errors"
	"net"
	"slices"

	"paddock/bus"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/events"
)

const (
	// maxBusConns bounds the connections of the bus.
	maxBusConns = 64
	// busPayload and busQueue bound the messages that wait for the disk to 64 MiB.
	busPayload = 64 << 10
	busQueue   = 1024
	// busGroup bounds the messages that share one sync. A group ends once its records are a quarter
	// of what the buffer takes at once.
	busGroup = 256
	// busSearches bounds the look-ups of the bus that wait for answers.
	busSearches = 64
)

// localBus is a broker for the devices' NATS clients: positions come in on pos.<fleet>.<object>,
// look-ups on paddock.search.<set>, and events go out on fence.>.
type localBus struct {
	agent     *Agent
	source    *source
	server    *bus.Server
	positions *bus.Local
	searches  *bus.Local
	events    *bus.Local
	queue     chan bus.Msg
	ending    chan chan<- struct{} // run empties queue, and closes what is sent
	asking    chan struct{}        // a slot for each look-up that waits
	unsub     []*bus.Subscription
}

func newLocalBus(a *Agent, s *source) *localBus {
	return &localBus{agent: a, source: s, queue: make(chan bus.Msg, busQueue), ending: make(chan chan<- struct{}), asking: make(chan struct{}, busSearches)}
}

func (a *Agent) openBus(context.Context) error {
	host, port, err := busapi.Address(a.settings.Bus.Listen)
	if err != nil {
		return err
	}
	b := a.bus
	b.server, err = bus.New(bus.Config{
		Host: host, Port: port, ServerName: "paddock-agent", MaxPayload: busPayload, MaxPending: 4 << 20, MaxConns: maxBusConns,
		Token: string(a.settings.Bus.Token), DenyPublish: []string{"fence.>", "$SYS.>"}, Logger: a.log,
	})
	if err != nil {
		return err
	}
	if err := b.server.Start(); err != nil {
		return listen.OrElse(err, "bus.listen in the file")
	}
	b.positions, b.searches, b.events = b.server.Local("positions"), b.server.Local("search"), b.server.Local("events")
	a.feed.publish = func(subject string, json []byte) {
		_ = b.events.Publish(subject, "", nil, json) // fails when the bus has ended
	}
	return nil
}

// subscribe begins to take positions and look-ups.
func (b *localBus) subscribe(context.Context) error {
	for _, s := range []struct {
		local   *bus.Local
		pattern string
		take    func([]bus.Msg)
	}{{b.positions, busapi.PositionSubjects, b.takePositions}, {b.searches, busapi.SearchSubjects, b.takeSearches}} {
		sub, err := s.local.Subscribe(s.pattern, "", s.take)
		if err != nil {
			return err
		}
		b.unsub = append(b.unsub, sub)
	}
	return nil
}

// BusAddr returns the address of the local bus once it has started, or nil if there is none.
func (a *Agent) BusAddr() net.Addr {
	if a.bus == nil || a.bus.server == nil {
		return nil
	}
	return a.bus.server.Addr()
}

// takePositions is called by the goroutine that routes the messages, and does not block. Messages
// for a full queue are dropped, counted, and refused with an answer.
func (b *localBus) takePositions(msgs []bus.Msg) {
	for _, m := range msgs {
		m.Data, m.Header = slices.Clone(m.Data), nil
		select {
		case b.queue <- m:
		default:
			b.source.refused.Add(1)
			b.answer(b.positions, m.Reply, map[string]string{"error": "too many positions wait for the disk"})
		}
	}
}

// run writes queued messages to the disk until ctx ends.
func (b *localBus) run(ctx context.Context) error {
	for {
		select {
		case m := <-b.queue:
			b.keep(m)
		case emptied := <-b.ending:
			for len(b.queue) > 0 && ctx.Err() == nil {
				b.keep(<-b.queue)
			}
			close(emptied)
		case <-ctx.Done():
			return nil
		}
	}
}

// keep writes a message, and those queued behind it, to the disk with one sync.
func (b *localBus) keep(first bus.Msg) {
	type taken struct {
		reply  string
		result Result
	}
	var bodies [][]byte
	var all []taken
	size := int64(0)
	for m, more := first, true; more; {
		got, res, err := b.decode(&m)
		if err != nil {
			if errors.Is(err, errClock) {
				b.source.refused.Add(uint64(len(got)))
			} else {
				b.source.rejected.Add(1)
			}
			b.answer(b.positions, m.Reply, map[string]string{"error": err.Error()})
		} else {
			for _, body := range got {
				size += int64(len(body))
			}
			bodies = append(bodies, got...)
			all = append(all, taken{m.Reply, res})
		}
		more = false
		if len(all) < busGroup && size < b.source.spool.Largest()/4 {
			select {
			case m = <-b.queue:
				more = true
			default:
			}
		}
	}
	err := b.source.append(bodies)
	for i := range all {
		if err != nil {
			b.answer(b.positions, all[i].reply, map[string]string{"error": err.Error()})
		} else {
			b.answer(b.positions, all[i].reply, &all[i].result)
		}
	}
}

func (b *localBus) decode(m *bus.Msg) ([][]byte, Result, error) {
	fleet, id, err := busapi.ParsePositionSubject(m.Subject)
	if err != nil {
		return nil, Result{}, err
	}
	dec := b.source.decoder()
	if fleet != "" {
		dec.Fleet = fleet
	}
	if id != "" {
		dec.ID = id
	}
	batch, err := dec.Decode(m.Data)
	if err != nil {
		return nil, Result{}, err
	}
	return b.source.encode(batch)
}

// answer sends an answer to a reply subject, unless the agent itself receives on that subject.
func (b *localBus) answer(local *bus.Local, reply string, v any) {
	if !busapi.Answerable(reply) {
		return
	}
	body, _ := events.PlainJSON(v) // these values always encode
	_ = local.Publish(reply, "", nil, body)
}

// close ends the subscriptions, and waits until run has written the queued messages to the disk. It
// is called before the end of run.
func (b *localBus) close(ctx context.Context) error {
	var errs []error
	for _, sub := range b.unsub {
		errs = append(errs, sub.Unsubscribe())
	}
	emptied := make(chan struct{})
	select {
	case b.ending <- emptied:
		select {
		case <-emptied:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	for range cap(b.asking) { // wait for the answers to pending look-ups
		select {
		case b.asking <- struct{}{}:
		case <-ctx.Done():
		}
	}
	return errors.Join(errs...)
}
