package load

// Listening is a Thread of a protocol in which requests are answered on other connections
// than their own: what one client publishes, others get. The plan's listeners are
// connections that get such answers, each with its times: see ByTimes.
//
// Requests go out once the sessions of all connections are Ready, as far as the codec has
// it so: a session that waits for a listener is asked again each millisecond. At the end
// of the run, listeners go on for the plan's grace, or until nothing is missing.
type Listening interface {
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
