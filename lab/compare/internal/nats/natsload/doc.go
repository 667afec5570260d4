// Package natsload loads a server that speaks the NATS protocol, and counts what
// comes back. It uses the socket: what it publishes was rendered beforehand in
// batches of 64 KiB, and what it receives is counted by a parser that compares
// whole blocks where every message is the same. So most of what a measurement
// takes is the server's, and the same bytes go to every server.
//
// Nothing is lost without an error. Each window ends with a PING that the server
// has answered to every publisher, and when each subscriber has what was sent; then
// every subscriber's own PING is answered, after which one message too many would
// have been seen. Publishers keep within a window of what may be under way, because
// a broker has none, and closes a subscriber for which too much waits.
//
// The operations are values of [Stream], [Requests] and [Idle]; some have a second
// driver, nats.go, which shows what its users get.
package natsload
