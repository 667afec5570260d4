// Package http1 is HTTP/1.1 and HTTP/1.0 from the client's side, without I/O: a
// load.Codec.
//
// Requests are made before the run: [Request] describes one, an [Arena] holds the bytes of many,
// and a send is a slice of it. Answers are parsed by RFC 9112: [Codec] finds where each answer
// ends, skips its body, and counts it under the class of its failure.
package http1

import (
	"time"

	"paddock/load"
)

// Codec sends requests and reads answers of HTTP/1. A pointer to it is the load.Codec of one run.
type Codec struct {
	// Requests makes the requests to send.
	Requests Requests
	// Good are the statuses of answers that did not fail; nil = those below 400.
	Good *Statuses
}

// Name is "http/1.1".
func (*Codec) Name() string { return "http/1.1" }

// Thread returns the state of a thread.
func (c *Codec) Thread(part, of int) load.Thread {
	t := &thread{codec: c, requests: c.Requests.Thread(part, of)}
	if p, ok := t.requests.(Pauser); ok {
		return &pausing{t, p}
	}
	return t
}

// pausing is a thread whose source also sets the pauses before the requests.
type pausing struct {
	*thread
	Pauser
}

// thread is the state that the sessions of a thread share.
type thread struct {
	codec    *Codec
	requests Source
	shape    shape
	spliced  []byte // a request to which Connection: close was added
}

// Session returns the state of a connection.
func (t *thread) Session() load.Session { return &session{thread: t} }

// Requests makes the requests of a run. It is safe for any number of goroutines.
type Requests interface {
	// Thread returns the source of one thread: its number is part, of so many threads.
	Thread(part, of int) Source
}

// Source makes the requests of one thread. It belongs to one goroutine.
type Source interface {
	// Make returns request number k of the run, which is valid until the next call. The error
	// load.ErrNotYet means that there is none yet, load.ErrOver that there are no more.
	Make(k int64) (Message, error)
}

// Pauser is a Source that says for how long connections pause before requests, see
// load.Pauser.
type Pauser interface {
	Pause() (time.Duration, error)
}

// Message is a request as it is sent.
type Message struct {
	Bytes  []byte
	Head   int // how many of them are the head
	Form   Form
	Target uint16 // see load.Request
}

// Form holds the properties of a request that determine how its answer is read.
type Form uint8

// The forms, which may come together.
const (
	NoBody    Form = 1 << iota // HEAD: the answer has no body
	Version10                  // HTTP/1.0: the connection ends unless the answer says otherwise
	Close                      // the connection ends behind the answer
)
