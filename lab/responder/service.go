// Package responder provides HTTP/1 services with known response times, as a reference for load
// generators. It is outside lab/internal because tests of package load use it.
//
// A [Law] decides when a request is answered, from the time of its arrival: at once, after a fixed
// delay, after a random one, or when a queue of fixed speed has got to it, which may stand still at
// times. It is arithmetic, without a clock. [Serve] follows the law on one thread. At the end it
// reports how late it was and, on demand, when each request arrived and was answered, so that a
// machine that held everything up is part of the expected times.
package responder

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"paddock/load/histogram"
)

// Config describes the service. Zero values are defaults.
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

	// Journal is the number of requests that are recorded; later ones are only counted.
	Journal int
	// MaxConns is how many connections may be open: 10,000 if 0. More are closed at once.
	MaxConns int
}

// Content is the body of an answer.
type Content struct {
	Type string // media type
	Body []byte
}

// The bounds of one read of a connection, and of its unanswered requests: beyond them, the service
// does not read from it. The requests of one read are accepted in any case.
const (
	readSize   = 64 << 10
	maxWaiting = 1024
)

// Did holds the counts of a service.
type Did struct {
	Requests, Answers, Conns int64
	Refused                  int64 // connections beyond Config.MaxConns
	Unread                   int64 // connections that sent an invalid request
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
	if c.Journal < 0 || c.MaxConns < 0 {
		return errors.New("responder: a number is below 0")
	}
	if q, ok := c.Law.(*Queue); ok {
		if err := q.check(); err != nil {
			return fmt.Errorf("responder: %w", err)
		}
	}
	return nil
}

// Close ends the service and its connections, and returns its counts.
func (s *Service) Close() (*Did, error) {
	s.wake()
	<-s.ended
	return s.did, s.err
}
