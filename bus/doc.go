// Package bus is a publish/subscribe broker that speaks the NATS client protocol: subjects with
// wildcards, queue groups, request/reply, headers, at-most-once delivery, all in memory.
//
// # Model
//
// A message is published to a subject: tokens separated by dots. A subscription holds a
// pattern: the token * stands for any one token, a last token > for one or more. Every plain
// subscription whose pattern matches gets the message; of the members of one queue (all matching
// subscriptions with the same queue name) exactly one gets it.
//
// A connection is owned by its reader goroutine: it parses the bytes of one read, routes every
// message in them, and then writes the pending output of each destination, as far as the kernel
// takes it without waiting. Only the rest is left to a goroutine, which ends with it: an idle
// connection has its reader and no buffer. Routing appends the message to each destination's
// pending bytes under that destination's lock, and this append fixes the order: between one
// publisher connection and one subscriber connection messages keep the order in which they were
// published, and the PONG that answers a PING comes after everything routed before that PING.
//
// A network client has parts, each with its own fields and methods: the opening takes it through
// its handshakes, the reader parses and routes, the writer holds the pending output and brings it
// to the socket, the authorizer decides on its permissions, and the timers find out that it is
// silent. The subscriptions and counts are the part that it has in common with an in-process
// connection. TLS and WebSocket are a transport between the protocol and the socket.
//
// The subscriptions are in an immutable snapshot, which a reader takes without a
// lock. The receivers of a subject are cached while nothing changes among the
// patterns that begin with the same token or a wildcard.
//
// Every queue is bounded. A network client with more than
// [Config.MaxPending] bytes pending is treated by a [SlowPolicy]: by default it is closed as
// a slow consumer, and no publisher waits for it.
//
// # In process
//
// [Server.Local] gives a connection without sockets or protocol. It publishes on the caller's
// goroutine, and its subscriptions' callbacks run on the goroutine that routed the message.
// [Server.InProcessConn] gives a net.Conn for clients that use the protocol.
//
// No lock is ever taken while another is held, but for the one by which calls of
// [Server.Reload] follow each other.
package bus
