// Package bridge connects a broker to other NATS servers as their client. It publishes listed
// subjects of the other server here, which is import, and listed subjects of this one there, which
// is export. The other server needs nothing for it.
//
// A message keeps its subject, its headers and its data. Two things change. The header [Mark] lists
// the servers that the message has left, so that no message goes in a circle. A reply subject
// becomes an inbox of the bridge that contains it, so that replies find the way back without an
// entry in the lists: see replies.
//
// Delivery is at most once, as everywhere on core NATS. Messages wait within a bound for a server
// that is away or slow. Further ones are dropped and counted by [Reason].
//
// A [Set] has all bridges of a broker. A bridge has two connections within the process, one for
// subscriptions and one to publish, as the callbacks of one run on the goroutines of publishers. A
// callback copies a message into the queue and returns, so the broker never waits for a bridge. One
// goroutine of the bridge takes the queue to the other server.
package bridge
