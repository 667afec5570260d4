// Package responder is HTTP/1 services whose response times are known beforehand: what a
// load generator says of them can be held against the truth.
//
// A [Law] says when a request is answered that arrives at an instant: at once, after a
// fixed delay, after a drawn one, or when a queue of fixed speed has got to it, which may
// stand still for a while now and then. It is arithmetic, without a clock. [Serve] keeps to
// it on one thread, and says in the end how late it was, and if asked when each request
// came and was answered: a machine that held everything up is then in what is expected too.
//
// Other services behave badly in one way each: they end connections, answer nonsense, or
// read slowly.
package responder

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"paddock/load/histogram"
)

// Config says what service it is. Its zero values are defaults.
type Config struct {
	// Address is the IP address and port to listen on; the port 0 takes a free one, and
	// "" is that on loopback.
	Address string
	// Law says when requests are answered: at once if nil. It is the service's own from
	// then on.
	Law Law
	// Size is of an answer with its head, in bytes: AnswerSize if 0.
	Size int
	// Contents are the bodies of answers, of which a request gets the one that the number
	// at the end of its path names, counted round: /0, /1, and so on; without a number it
	// is the first. With them Size is 0. They do not change from then on.
	Contents []Content

	// Ending says what becomes of a connection once After of its requests have been
	// answered.
	Ending Ending
	After  int
	// Wrong are answers that are given in turns instead of the right one. The
	// connection ends behind each.
	Wrong []Wrong
	// ReadPerSecond is how many bytes are read of a connection in a second; 0 = all.
	ReadPerSecond int

	// Journal is how many requests are written down; those that come later are counted
	// only.
	Journal int
	// MaxConns is how many connections may be open: 10,000 if 0. More are closed at once.
	MaxConns int
}

// Content is what an answer holds.
type Content struct {
	Type string // media type
	Body []byte
}

// Ending is how a connection ends.
type Ending uint8

// The endings.
const (
	Never   Ending = iota // its client ends it
	Saying                // the last answer says that it is the last
	Silent                // behind the last answer, without a word
	Reset                 // the next request is answered by a reset
	Partway               // the next answer stops in the middle
)

// The most that a connection reads at once, and may ask before it is answered: beyond that
// it is not read from. What it asked in one read is taken in any case.
const (
	readSize   = 64 << 10
	maxWaiting = 1024
)

// Did is what a service has done.
type Did struct {
	Requests, Answers, Conns int64
	Refused                  int64 // connections beyond Config.MaxConns
	Unread                   int64 // connections that sent what is no request
	// Late is how much later than by the law answers were given.
	Late *histogram.Histogram
	// Journal is in the order of the answers. Of connections that went away, requests
	// are not in it.
	Journal []Entry
	Omitted int64 // answers that found it full
}

// Entry is one answer. The times are since Service.Began.
type Entry struct {
	Number   int64 // at the end of the request's path, such as /42; -1 = there is none
	Arrived  time.Duration
	Due      time.Duration // by the law
	Answered time.Duration // just before it was written
}

// Service is one that runs.
type Service struct {
	Addr  string // host:port
	Began time.Time

	wake  func() // ends the loop's wait, and with it the loop
	ended chan struct{}
	did   *Did  // read it once ended is closed
	err   error // likewise
}

// Serve begins to serve. It returns when connections are taken.
func Serve(c Config) (*Service, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("responder: %w", err)
	}
	return serve(c, at)
}

// check gives the first setting that makes no sense, and fills in defaults.
func (c *Config) check() error {
	c.Address = cmp.Or(c.Address, "127.0.0.1:0")
	if c.Size != 0 && len(c.Contents) > 0 {
		return errors.New("responder: answers have a size, or contents")
	}
	c.Size = cmp.Or(c.Size, AnswerSize)
	c.MaxConns = cmp.Or(c.MaxConns, 10_000)
	if c.Law == nil {
		c.Law = AtOnce{}
	}
	switch {
	case c.After < 0 || c.ReadPerSecond < 0 || c.Journal < 0 || c.MaxConns < 0:
		return errors.New("responder: a number is below 0")
	case c.Ending > Partway:
		return fmt.Errorf("responder: there is no ending %d", c.Ending)
	case c.After == 0 && (c.Ending == Saying || c.Ending == Silent):
		return errors.New("responder: a connection that ends behind an answer has one")
	}
	if q, ok := c.Law.(*Queue); ok {
		if err := q.check(); err != nil {
			return fmt.Errorf("responder: %w", err)
		}
	}
	return nil
}

// Close ends the service and its connections, and says what it has done.
func (s *Service) Close() (*Did, error) {
	s.wake()
	<-s.ended
	return s.did, s.err
}
