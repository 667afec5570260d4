// Package nats speaks the NATS client protocol for load's engines: messages that are
// published, and confirmed by the server's PONG; messages that subscribers get, each
// verified and timed from when it was due; requests and their replies.
//
// A message that is verified begins with a [stamp]: its run, its publisher, its number there, and
// two times. From these a receiver detects messages that were lost, doubled or out of order, also
// in another process of the same machine.
package nats

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"paddock/load"
)

// Do is the kind of load that the connections make.
type Do uint8

// The kinds of load.
const (
	Publish   Do = iota // messages, each confirmed by a PONG behind it
	Subscribe           // listeners alone: others publish
	PubSub              // messages, and listeners that get them
	Request             // requests, and listeners that reply, if the plan has any
)

// Codec makes load on a NATS server. It is used by its address, and for one run.
type Codec struct {
	Do      Do
	Subject string // that is published to, or asked
	Listen  string // that listeners subscribe to; "" = Subject. Wildcards may be in it
	// Queue is the group of the listeners: each message goes to one of them; "" = to all.
	// Its name gets the run's behind it, but with Subscribe: the server may still know
	// members of an earlier run, and deliver to them.
	Queue string
	// Bodies are the payloads, in turns. Their first StampSize bytes are overwritten
	// where messages are verified, and with Publish where they are long enough.
	Bodies [][]byte
	// Listeners is as many as the plan has.
	Listeners int
	// Every is after how many messages of one batch the server is asked for its word;
	// 0 = at the end of a batch alone.
	Every int
	Login Login

	run       uint32
	clock     clock
	ready     atomic.Int64 // listeners that were, once
	publisher atomic.Uint32
	published atomic.Int64
	accounts  []*account // of each listener, or of the group
	orders    []order    // of each listener
	foreign   atomic.Int64
}

// Login holds the credentials of a client: a user and a password, or a token.
type Login struct{ User, Pass, Token string }

// Prepare checks the codec and makes it ready: before the run.
func (c *Codec) Prepare() error {
	if c.Listen == "" {
		c.Listen = c.Subject
	}
	if err := checkSubject(c.Subject, false); err != nil && c.Do != Subscribe {
		return err
	}
	if err := checkSubject(c.Listen, true); err != nil {
		return err
	}
	if err := checkQueue(c.Queue); err != nil {
		return err
	}
	if len(c.Bodies) == 0 {
		c.Bodies = [][]byte{nil}
	}
	for _, b := range c.Bodies {
		if c.Do == PubSub && len(b) < StampSize {
			return fmt.Errorf("a message that is verified has %d bytes at least, not %d", StampSize, len(b))
		}
	}
	c.run = rand.Uint32()
	if c.Do == Request && c.Queue == "" {
		c.Queue = "paddock-bench" // one of the repliers answers
	}
	if c.Queue != "" && c.Do != Subscribe {
		c.Queue = fmt.Sprintf("%s-%08x", c.Queue, c.run)
	}
	c.orders = make([]order, c.Listeners)
	c.accounts = make([]*account, c.Groups())
	for i := range c.accounts {
		c.accounts[i] = newAccount()
	}
	return nil
}

// Groups is how often a message is delivered: once to each listener, or to one of the queue.
func (c *Codec) Groups() int {
	if c.Queue != "" {
		return min(c.Listeners, 1)
	}
	return c.Listeners
}

// Name is "nats".
func (*Codec) Name() string { return "nats" }

// Thread returns the state of a thread, which is all the codec's.
func (c *Codec) Thread(int, int) load.Thread { return thread{c} }

type thread struct{ *Codec }

var _ load.ListenerThread = thread{}

// Session returns the state of a connection that publishes or asks.
func (t thread) Session() load.Session {
	if t.Do == Request {
		return newRequester(t.Codec)
	}
	return newPublisher(t.Codec)
}

// Listener returns the state of a connection that gets messages or replies to them.
func (t thread) Listener(i int) load.Session {
	if t.Do == Request {
		return newResponder(t.Codec)
	}
	return newSubscriber(t.Codec, i)
}

// Missing is how many messages have been published and not been delivered.
func (t thread) Missing() int64 {
	if t.Do != PubSub {
		return 0
	}
	missing := t.published.Load() * int64(t.Groups())
	for _, a := range t.accounts {
		missing -= a.delivered.Load()
	}
	return missing
}

// Account counts the fates of the messages of a run. It is complete once the run is over.
type Account struct {
	Published int64 `json:"published"`
	Delivered int64 `json:"delivered"` // of those, to each listener or group, once
	Lost      int64 `json:"lost"`
	Doubled   int64 `json:"doubled"`
	Reordered int64 `json:"reordered"` // to one listener, behind a later one of the same publisher
	Foreign   int64 `json:"foreign"`   // without a stamp, or of another run
}

// Account adds up the counts of the listeners.
func (c *Codec) Account() Account {
	a := Account{Published: c.published.Load(), Foreign: c.foreign.Load()}
	for _, g := range c.accounts {
		a.Delivered += g.delivered.Load()
		a.Doubled += g.doubled
		if c.Do == Subscribe {
			a.Lost += g.gaps() // messages behind the last one received are not known
		}
	}
	for i := range c.orders {
		a.Reordered += c.orders[i].reordered
	}
	if c.Do == PubSub {
		a.Lost = max(thread{c}.Missing(), 0)
	}
	return a
}

// clock turns times of the run, in ns since its start, into those of the machine, in ns of
// Unix time, and back. The offset is taken once, so that both ways agree to the ns.
type clock struct{ zero atomic.Int64 }

// wall is the offset, given a time of the run that is now.
func (c *clock) wall(now int64) int64 {
	if zero := c.zero.Load(); zero != 0 {
		return zero
	}
	c.zero.CompareAndSwap(0, time.Now().UnixNano()-now)
	return c.zero.Load()
}
