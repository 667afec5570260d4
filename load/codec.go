package load

// Codec speaks a protocol as its client, without I/O: it makes the bytes of requests, and
// finds where answers end. It is safe for any number of goroutines.
type Codec interface {
	// Name is the protocol's, as reports show it.
	Name() string

	// Thread returns the codec's state for one of so many threads. Its sessions are
	// used by one goroutine at a time.
	Thread(thread, threads int) Thread
}

// Thread makes the sessions of one thread, which may share what they like.
type Thread interface {
	// Session returns the state of one more connection.
	Session() Session
}

// Session is the protocol on one connection.
type Session interface {
	// Greet appends what is said before the first request. Requests wait until the
	// session is Ready.
	Greet(dst []byte) []byte

	// Ready reports whether requests may be sent.
	Ready() bool

	// Request says in r what to send next. r holds what the engine knows of it. The
	// errors ErrNotYet and ErrOver say that there is nothing; others end the connection.
	Request(r *Request) error

	// Receive takes what has come: used bytes at the start of in are done with, and
	// the others come again with more behind them. It appends the answers that are
	// complete, and may say in reply what is to be sent at once, such as a PONG, which
	// is valid until the next call. An error ends the connection, and its class is that
	// of the oldest request that waits on it. Any split of the stream gives the same
	// answers.
	Receive(in []byte, answers *Answers) (used int, err error)

	// End takes the end of the stream, which may complete an answer. The error is nil
	// if the connection may end here.
	End(answers *Answers) error
}

// Request is one request on its way out.
type Request struct {
	// What the engine says.
	Number   int64  // counts the requests of the run from 0
	Slot     uint32 // its place among those that wait on the connection
	Due      int64  // ns since the run's start
	Sent     int64  // ns since the run's start: now
	LastHere bool   // the connection ends behind it, if the plan says how often that is

	// What the session answers.
	Bytes    []byte // valid until the next call of a session of the thread
	NoAnswer bool   // it is complete when it is written
	Quiet    bool   // listeners get its answers; its own only makes room for another request
}

// Match says how an answer finds its request.
type Match uint8

// The ways in which it does.
const (
	Oldest  Match = iota // of those that wait on the connection
	BySlot               // by Request.Slot
	ByTimes              // it brings its times itself, and the connection may be another
	Untimed              // of a request of nobody here, and counted alone
)

// Answer is an answer that is complete.
type Answer struct {
	Match     Match
	Slot      uint32 // for BySlot
	Due, Sent int64  // for ByTimes

	Class  Class  // ClassOK, or what was wrong with it
	Status uint16 // the protocol's, 0 if it has none
	Body   int64  // bytes
	Last   bool   // the service ends the connection behind it, and says so
}

// Answers collects the answers of one call. The engine takes them from it.
type Answers struct {
	Now   int64 // ns since the run's start: when this has come
	List  []Answer
	Reply []byte // what the session has to say by itself
	Why   string // of an answer that is not ClassOK: what the service said
}

// Add appends one answer.
func (a *Answers) Add(x Answer) { *a.Next() = x }

// Next appends one answer for the caller to fill in, before it appends another.
func (a *Answers) Next() *Answer {
	a.List = append(a.List, Answer{})
	return &a.List[len(a.List)-1]
}

// Reset makes a empty, and keeps its memory.
func (a *Answers) Reset() { a.List, a.Reply, a.Why = a.List[:0], nil, "" }

// ListenerThread is a Thread of a protocol in which requests are answered on other connections
// than their own: what one client publishes, others get. The plan's listeners are
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

	// Missing is how many answers the listeners of all threads have not got yet, of
	// what has been sent. Any thread may ask, at any time; while requests are sent it
	// may be late.
	Missing() int64
}

// Batched is a Session that is told before anything is written, so that it can say
// something once for all requests that are written together.
type Batched interface {
	Session

	// EndBatch appends what goes behind the requests that were made since the last
	// call, of which there may be none, and what the session has to say besides.
	EndBatch(dst []byte) []byte
}
