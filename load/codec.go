package load

import "net"

// Codec speaks a protocol as its client, without I/O: it makes the bytes of requests, and
// finds where answers end. It is safe for any number of goroutines.
type Codec interface {
	// Name is the protocol's, as reports show it.
	Name() string

	// Thread returns the codec's state for one of so many threads. Its sessions are
	// used by one goroutine at a time.
	Thread(thread, threads int) Thread
}

// Thread makes the sessions of one thread. They may share state.
type Thread interface {
	// Session returns the state of one more connection.
	Session() Session
}

// Session is the protocol on one connection.
type Session interface {
	// Greet appends the bytes that go before the first request. Requests wait until the session is
	// Ready.
	Greet(dst []byte) []byte

	// Ready reports whether requests may be sent.
	Ready() bool

	// Request fills in the next request to send. The engine has set the first fields of r. The
	// errors ErrNotYet and ErrOver mean that there is no request. With any other error the request
	// has failed, and the connection ends once those under way on it have.
	Request(r *Request) error

	// Receive consumes used bytes from the start of in. The rest is passed again, followed by the
	// next bytes. Receive appends the answers that are complete, and may set a reply that is sent
	// at once, such as a PONG, which stays valid until the next call. An error ends the connection,
	// and its class is that of the oldest request in flight. Any split of the stream gives the same
	// answers.
	Receive(in []byte, answers *Answers) (used int, err error)

	// End takes the end of the stream, which may complete an answer. The error is nil
	// if the connection may end here.
	End(answers *Answers) error
}

// Multiplexed is a Session whose requests do not wait for each other: answers come BySlot, in any
// order, with the times of their first bytes. A request that waits for longer than the plan's
// timeout is given up alone, unless the connection has been silent for as long. Slots count from 0
// on each connection, and some may be left out.
type Multiplexed interface {
	Session
	// Room reports whether the service takes one more request on the connection.
	Room() bool
	// Cancel gives up the request of a slot, and appends the bytes that tell the service.
	Cancel(dst []byte, slot uint32) []byte
}

// Request is one request on its way out.
type Request struct {
	// Set by the engine.
	Number   int64  // counts the requests of the run from 0
	Slot     uint32 // its index among the requests in flight on the connection
	Due      int64  // ns since the run's start
	Sent     int64  // ns since the run's start: now
	LastHere bool   // the connection ends behind it, if the plan says how often that is

	// Set by the session.
	Bytes    []byte // valid until the next call of a session of the thread
	NoAnswer bool   // it is complete when it is written
	Quiet    bool   // listeners get its answers; its own only makes room for another request
	Target   uint16 // which of Plan.Targets it is of
}

// Match says how an answer finds its request.
type Match uint8

// The ways in which it does.
const (
	Oldest  Match = iota // the oldest request in flight on the connection
	BySlot               // by Request.Slot
	ByTimes              // it brings its times itself, and the connection may be another
	Untimed              // of no request of this run, and counted alone
)

// Answer is an answer that is complete.
type Answer struct {
	Match     Match
	Slot      uint32 // for BySlot
	Due, Sent int64  // for ByTimes

	Class  Class  // ClassOK, or the failure
	Status uint16 // the protocol's, 0 if it has none
	Body   int64  // bytes
	Last   bool   // the service ends the connection behind it, and says so

	First int64  // ns since the run's start, of a Multiplexed session: when its first bytes came; 0 = none did
	Why   string // the service's reason of this answer; "" = that of Answers
}

// Answers collects the answers of one call. The engine takes them from it.
type Answers struct {
	Now   int64 // ns since the run's start: when this has come
	List  []Answer
	Reply []byte // bytes to send at once
	Why   string // the service's reason, of an answer that is not ClassOK
	Over  bool   // the connection ends here, and no request is lost by it
}

// Add appends one answer.
func (a *Answers) Add(x Answer) { *a.Next() = x }

// Next appends one answer for the caller to fill in, before it appends another.
func (a *Answers) Next() *Answer {
	a.List = append(a.List, Answer{})
	return &a.List[len(a.List)-1]
}

// Reset makes a empty, and keeps its memory.
func (a *Answers) Reset() { a.List, a.Reply, a.Why, a.Over = a.List[:0], nil, "", false }

// ListenerThread is a Thread of a protocol whose answers arrive on other connections than their
// requests: subscribers get the messages that a publisher sends. The plan's listeners are
// connections that get such answers, each with its times: see ByTimes.
//
// Requests go out once the sessions of all connections are Ready, as far as the codec has
// it so: a session that waits for a listener is asked again each millisecond. At the end
// of the run, listeners go on for the plan's grace, or until nothing is missing.
type ListenerThread interface {
	Thread

	// Listener returns the state of listener i of the run, each time that it is
	// connected. It is asked for no requests.
	Listener(i int) Session

	// Missing returns how many answers the listeners of all threads still expect for the requests
	// sent so far. Any thread may call it, at any time; while requests are sent, the number may be
	// late.
	Missing() int64
}

// Opener is a Session that is told of its connection before Greet, as one that proves a secret over
// TLS has to be. Engine Portable alone tells it.
type Opener interface {
	Session

	// Open is called once. It neither reads nor writes. An error ends the connection.
	Open(nc net.Conn) error
}

// Batched is a Session that is told before anything is written, so that it can say
// something once for all requests that are written together.
type Batched interface {
	Session

	// EndBatch appends the bytes that go behind the requests made since the last call, of which
	// there may be none, and any other bytes that the session has to send.
	EndBatch(dst []byte) []byte
}
