// Package responder is HTTP/1 services whose response times are known beforehand: what a
// load generator says of them can be held against the truth.
//
// A [Law] says when a request is answered that arrives at an instant: at once, after a
// fixed delay, after a drawn one, or when a queue of fixed speed has got to it, which may
// stand still for a while now and then. It is arithmetic, without a clock. [Serve] keeps to
// it on one thread, and says in the end how late it was, and if asked when each request
// came and was answered: a machine that held everything up is then in what is expected too.
//
// Other services behave badly in one way each: they end connections, answer nonsense, or
// read slowly.
package responder
