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
	// maxBusConns is how many connections the bus has.
	maxBusConns = 64
	// busPayload and busQueue bound what waits for the disk: 64 MiB at the most.
	busPayload = 64 << 10
	busQueue   = 1024
	// busGroup is how many messages share one sync at most.
	busGroup = 256
	// busSearches is how many look-ups of the bus wait for answers at once.
	busSearches = 64
)

// localBus is a broker for the devices' NATS clients: positions come in on
// pos.<fleet>.<object>, look-ups on paddock.search.<set>, events go out on fence.>.
type localBus struct {
	agent     *Agent
	source    *source
	server    *bus.Server
	positions *bus.Local
	searches  *bus.Local
	events    *bus.Local
	queue     chan bus.Msg
	asking    chan struct{} // a place for each look-up that waits
	unsub     []*bus.Subscription
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

// subscribe opens the doors.
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

// BusAddr is where the local bus is, once it has started; nil if there is none.
func (a *Agent) BusAddr() net.Addr {
	if a.bus == nil || a.bus.server == nil {
		return nil
	}
	return a.bus.server.Addr()
}

// takePositions runs on the goroutine of whoever routed the messages, and does not
// wait: what finds a full queue is dropped, counted, and answered so.
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

// run puts what has come on the disk, until ctx ends and nothing is left.
func (b *localBus) run(ctx context.Context) error {
	for {
		select {
		case m := <-b.queue:
			b.keep(m)
		case <-ctx.Done():
			return nil
		}
	}
}

// keep takes a message, and those that wait behind it, with one sync of the disk.
func (b *localBus) keep(first bus.Msg) {
	type taken struct {
		reply  string
		result Result
	}
	var bodies [][]byte
	var all []taken
	for m, more := first, true; more; {
		got, res, err := b.decode(&m)
		if err != nil {
			b.source.rejected.Add(1)
			b.answer(b.positions, m.Reply, map[string]string{"error": err.Error()})
		} else {
			bodies = append(bodies, got...)
			all = append(all, taken{m.Reply, res})
		}
		more = false
		if len(all) < busGroup {
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
	bodies, res := b.source.encode(batch)
	return bodies, res, nil
}

// answer tells the sender, unless the reply would come back in here.
func (b *localBus) answer(local *bus.Local, reply string, v any) {
	if !busapi.Answerable(reply) {
		return
	}
	body, _ := events.PlainJSON(v) // these values always encode
	_ = local.Publish(reply, "", nil, body)
}

// close shuts the doors, and lets what was taken come to the disk. It comes before the
// end of run.
func (b *localBus) close(ctx context.Context) error {
	var errs []error
	for _, sub := range b.unsub {
		errs = append(errs, sub.Unsubscribe())
	}
	for len(b.queue) > 0 && ctx.Err() == nil {
		select {
		case m := <-b.queue:
			b.keep(m)
		default:
		}
	}
	for range cap(b.asking) { // those who ask have been answered
		select {
		case b.asking <- struct{}{}:
		case <-ctx.Done():
		}
	}
	return errors.Join(errs...)
}
