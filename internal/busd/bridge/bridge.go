// Package bridge connects a broker to other NATS servers as their client. It publishes listed
// subjects of the other server here, which is import, and listed subjects of this one there, which
// is export. The other server needs nothing for it.
//
// A message keeps its subject, its headers and its data. Two things change. The header [Mark] lists
// the servers that the message has left, so that no message goes in a circle. A reply subject
// becomes an inbox of the bridge that contains it, so that replies find the way back without an
// entry in the lists: see replies.
//
// Delivery is at most once, as everywhere on core NATS. Messages wait within a bound for a server
// that is away or slow. Further ones are dropped and counted by [Reason].
//
// A [Set] has all bridges of a broker. A bridge has two connections within the process, one for
// subscriptions and one to publish, as the callbacks of one run on the goroutines of publishers. A
// callback copies a message into the queue and returns, so the broker never waits for a bridge. One
// goroutine of the bridge takes the queue to the other server.
package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// closeTime bounds how long a bridge that ends takes for the messages that wait.
const closeTime = 3 * time.Second

// maxSubjects bounds the bytes of a message's subject and reply subject on the other server. That
// closes a connection on which a longer line of the protocol comes: lines of more than 4096 bytes,
// unless it is configured. The rest is for the sizes in the line.
const maxSubjects = 4096 - 32

// bridge is a running one.
type bridge struct {
	cfg     Config
	log     *slog.Logger
	id      string // of the broker
	deny    func() []string
	subs    *bus.Local // has the subscriptions
	pubs    *bus.Local // publishes
	queue   *queue
	replies *replies
	remote  remote
	traffic [2]traffic

	stopping chan struct{}
	ctx      context.Context // ends when connections must
	cut      context.CancelFunc
	done     chan struct{}
}

// start starts a bridge. It returns once what is to be exported waits in the queue.
func start(server *bus.Server, cfg Config, deny func() []string, log *slog.Logger) (*bridge, error) {
	b := &bridge{
		cfg: cfg, log: log.With("bridge", cfg.Name), id: identity(server.ID(), ""), deny: deny,
		subs: server.Local("bridge " + cfg.Name), pubs: server.Local("bridge " + cfg.Name + " import"),
		queue: newQueue(cfg.MaxPending), replies: newReplies(),
		stopping: make(chan struct{}), done: make(chan struct{}),
	}
	b.remote.up = make(chan struct{}, 1)
	b.ctx, b.cut = context.WithCancel(context.Background())
	var err error
	for _, pattern := range cfg.Export {
		_, failed := b.subs.Subscribe(pattern, "", b.export)
		err = errors.Join(err, failed)
	}
	_, failed := b.subs.Subscribe(b.replies.pattern(), "", b.answerOut)
	err = errors.Join(err, failed)
	if err != nil {
		b.cut()
		return nil, errors.Join(err, b.subs.Close(), b.pubs.Close())
	}
	go b.run()
	return b, nil
}

// stop ends a bridge. If the other server is connected, waiting messages go there, and messages
// that it has sent are published here, until ctx ends, for closeTime at most.
func (b *bridge) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	_ = b.subs.Close()
	close(b.stopping)
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	b.cut()
	<-b.done
	_ = b.pubs.Close()
}

// same reports whether the bridge has this configuration.
func (b *bridge) same(cfg *Config) bool { return reflect.DeepEqual(&b.cfg, cfg) }

// export queues messages of the broker. It runs on the goroutine of a publisher.
func (b *bridge) export(msgs []bus.Msg) {
	for i := range msgs {
		if !b.replies.own(msgs[i].Subject) { // which answerOut has
			b.enqueue(msgs[i], false)
		}
	}
}

// answerOut queues answers of the broker's clients to requests that were imported. That there is
// no responder here is no answer: the other side may have one.
func (b *bridge) answerOut(msgs []bus.Msg) {
	for _, m := range msgs {
		if len(m.Data) == 0 && bytes.HasPrefix(m.Header, []byte("NATS/1.0 503")) {
			continue
		}
		reply, ok := b.replies.unwrap(in, m.Subject)
		if !ok {
			b.traffic[out].drop(Reply)
			continue
		}
		m.Subject = reply
		b.enqueue(m, true)
	}
}

func (b *bridge) enqueue(m bus.Msg, answer bool) {
	if !b.queue.push(m, answer) {
		b.traffic[out].drop(Full)
	}
}

// send publishes an item on the other server, once that is connected. It reports whether the
// connection is of further use.
func (b *bridge) send(nc *nats.Conn, m *item) bool {
	defer b.queue.release(m)
	msg, why := b.outgoing(nc, m)
	for why == none {
		err := nc.PublishMsg(msg)
		switch {
		case err == nil:
			b.traffic[out].passed(len(m.Header) + len(m.Data))
			return true
		case errors.Is(err, nats.ErrReconnectBufExceeded): // it is away
			if !b.awaitRemote() {
				b.traffic[out].drop(Lost)
				return false
			}
		case errors.Is(err, nats.ErrMaxPayload):
			why = Large
		case errors.Is(err, nats.ErrBadHeaderMsg), errors.Is(err, nats.ErrHeadersNotSupported):
			why = Header
		case errors.Is(err, nats.ErrBadSubject):
			why = Subject
		default:
			b.traffic[out].drop(Lost)
			return !errors.Is(err, nats.ErrConnectionClosed)
		}
	}
	b.traffic[out].drop(why)
	return true
}

// outgoing returns a message as the other server gets it, or why it does not.
func (b *bridge) outgoing(nc *nats.Conn, m *item) (*nats.Msg, Reason) {
	msg := &nats.Msg{Subject: m.Subject, Reply: b.replies.wrap(out, m.Reply), Data: m.Data}
	if len(msg.Subject)+len(msg.Reply) > maxSubjects {
		return nil, Subject
	}
	if len(m.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil {
			return nil, Header
		}
		msg.Header = h
	}
	if m.answer {
		msg.Header = stamp(msg.Header, b.id)
		return msg, none
	}
	var to string
	for to = b.remote.identity(nc); to == ""; to = b.remote.identity(nc) {
		if !b.awaitRemote() {
			return nil, Lost
		}
	}
	var why Reason
	msg.Header, why = mark(msg.Header, b.id, to)
	return msg, why
}

// incoming publishes a message of the other server here.
func (b *bridge) incoming(nc *nats.Conn, m *nats.Msg) {
	if b.replies.own(m.Subject) { // which answerIn has
		return
	}
	if b.denied(m.Subject) {
		b.traffic[in].drop(Denied)
		return
	}
	h, why := mark(m.Header, b.remote.identity(nc), b.id)
	if why != none {
		b.traffic[in].drop(why)
		return
	}
	b.publish(m, m.Subject, h)
}

// answerIn publishes an answer of the other server's clients to a request that was exported.
func (b *bridge) answerIn(nc *nats.Conn, m *nats.Msg) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return // no responder there; there may be one here
	}
	reply, ok := b.replies.unwrap(out, m.Subject)
	if !ok {
		b.traffic[in].drop(Reply)
		return
	}
	b.publish(m, reply, stamp(m.Header, b.remote.identity(nc)))
}

func (b *bridge) publish(m *nats.Msg, subject string, h nats.Header) {
	header := block(h, m.Data)
	err := b.pubs.Publish(subject, b.replies.wrap(in, m.Reply), header, m.Data)
	switch {
	case err == nil:
		b.traffic[in].passed(len(header) + len(m.Data))
	case errors.Is(err, bus.ErrMaxPayload):
		b.traffic[in].drop(Large)
	case errors.Is(err, bus.ErrBadSubject):
		b.traffic[in].drop(Subject)
	default:
		b.traffic[in].drop(Lost)
	}
}

func (b *bridge) denied(subject string) bool {
	for _, pattern := range b.deny() {
		if bus.Match(pattern, subject) {
			return true
		}
	}
	return false
}

// subscribe subscribes to what is imported, and to the answers to what is exported. Each
// subscription has a goroutine of the client library, and a share of the bound.
func (b *bridge) subscribe(nc *nats.Conn) error {
	l := &link{conn: nc}
	add := func(pattern, queue string, fn func(*nats.Conn, *nats.Msg)) error {
		sub, err := nc.QueueSubscribe(pattern, queue, func(m *nats.Msg) { fn(nc, m) })
		if err != nil {
			return fmt.Errorf("subscribe to %q: %w", pattern, err)
		}
		share := b.cfg.MaxPending / int64(len(b.cfg.Import)+1)
		l.add(sub)
		return sub.SetPendingLimits(max(1, int(share)/messageCost), max(1, int(share)))
	}
	err := add(b.replies.pattern(), "", b.answerIn)
	for _, pattern := range b.cfg.Import {
		err = errors.Join(err, add(pattern, b.cfg.Queue, b.incoming))
	}
	b.remote.live.Store(l)
	return err
}
