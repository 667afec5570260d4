// Package load makes load on a service and tells the truth about what came of it.
//
// A [Plan] says what load: closed, with so many connections that each ask again when they
// are answered, or open, with requests that are due at times that [Arrivals] give, whether
// or not the service keeps up. A [Codec] speaks the protocol, without I/O. An engine moves
// the bytes: one loop per thread over epoll, or goroutines over package net.
//
// Three durations are kept of every request, and never mixed:
//
//	response   from the time at which it was due until its answer was complete
//	service    from the time at which it was sent until then
//	lag        from the time at which it was due until it was sent
//
// A load generator that counts only from the send omits what its users would have waited
// while it was held up (coordinated omission, G. Tene). Nothing is corrected afterwards:
// what is recorded has been measured. In a closed run a request is due as soon as its
// connection is idle, or has paused.
//
// A late send has one cause, which is counted: all connections were waiting for the
// service, the generator itself was late, or the request had not been made yet. From these, and from what the threads were
// seen to do, a run says whether its numbers are the service's or only lower bounds set by
// the generator: see [Verdict].
package load
