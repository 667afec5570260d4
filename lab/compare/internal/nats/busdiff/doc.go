// Package busdiff plays the same bytes to package bus and to nats-server, and
// compares what the two answer.
//
// # Model
//
// A [Script] is what one to three connections send to a server of one [Setting]:
// writes, in a defined order, and syncs. A sync sends PING and reads until all
// PONGs that are due have come or the server has closed: what other connections
// send after it finds the effect of everything before it. So the answer of each
// connection depends on the script alone, but for what the protocol leaves open.
// At the end every connection closes its sending side, one after the other, and
// reads to the end of input: nothing waits for a time to pass, unless a sync has
// gone into an operation that is not complete.
//
// The answers are cut into frames and normalised: identities and addresses leave
// INFO; copies of one message for several subscriptions of one connection are
// sorted, since their order is free; messages for members of queues are compared
// over all connections together, since the choice is free. Then both must be
// equal, and the reasons for which the servers closed the connections too.
//
// The reference's answer sometimes depends on how its reads cut the bytes. When
// the two differ, it is asked again, with the bytes cut in other ways; an answer
// that it gives to any of them is good. What is left must match an entry of
// explained.txt, which says why, or is reported with the smallest script that
// still shows it.
package busdiff
