// Package nats speaks the NATS client protocol for load's engines: messages that are
// published, and confirmed by the server's PONG; messages that subscribers get, each
// verified and timed from when it was due; requests and their replies.
//
// A message that is verified begins with a [stamp]: its run, its publisher, its number
// there, and two times. So whoever gets it knows whether one was lost, came twice or out of
// order, also in another process of the same machine.
package nats
