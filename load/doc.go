// Package load makes load on a service and measures how the service responds.
//
// A run has three parts. A [Plan] describes the load. A [Codec] speaks the protocol of the
// service: it makes requests and recognizes answers, without I/O; packages http1 and http2
// have those for HTTP, and [Raw] is the simplest one. [Run] moves the bytes and returns a [Result].
//
// The load is closed or open. In a closed run each of a number of connections sends its next
// request when the last one is answered: this measures how much the service can do. In an open run
// requests are due at the times of [Arrivals], whether or not the service keeps up: this measures
// the service for many users that do not wait for each other.
//
// Three durations are recorded of every request, and never mixed:
//
//	response   from the time at which it was due until its answer was complete
//	service    from the time at which it was sent until its answer was complete
//	lag        from the time at which it was due until it was sent
//
// A generator that counts from the send alone omits the time that users would have waited while
// the generator was held up (coordinated omission, G. Tene). Nothing is corrected afterwards:
// every recorded duration has been measured. In a closed run a request is due as soon as its
// connection is idle or its pause is over.
//
// A late send has one cause, which is counted: all connections were in use, the generator itself
// was late, or the request had not been made yet. From these causes and from the processor time
// of its threads, [Judge] derives a [Verdict]: whether the numbers are the service's, or only
// bounds that the generator has set.
package load
