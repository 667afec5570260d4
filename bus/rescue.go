package bus

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// A panic is a fault of this program, and often of one message in it: it ends the
// connection whose bytes have caused it, not all others'. Three goroutines run
// what comes from outside: a network client's reader, whoever publishes in process,
// and either of them while it runs callbacks.

// rescue is deferred by the reader of c. What c has routed is brought to its
// destinations, whose locks the router no longer holds, and c is closed without
// another word: nobody knows what is pending for it.
func (c *client) rescue() {
	fault := recover()
	if fault == nil {
		return
	}
	c.srv.faulted(c.logger(), "a connection's reader has panicked", fault)
	if r := c.route; r != nil {
		c.route = nil
		r.abandon(c.logger())
	}
	c.shut(ReadError, "")
}

// faulted counts and tells of a panic that has been recovered from.
func (s *Server) faulted(log *slog.Logger, what string, fault any) {
	s.counters.panics.Add(1)
	log.Error(what, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
}

// abandon ends the batch of a router that a panic has interrupted. Nobody uses the
// router again. The message in hand is lost, and those gathered for a run; those
// before it are not.
func (r *router) abandon(log *slog.Logger) {
	defer func() {
		if fault := recover(); fault != nil {
			r.srv.faulted(log, "a batch that has panicked could not be ended", fault)
		}
	}()
	r.letGo()
	r.run.to = nil
	r.srv.counters.add(r)
	r.flushClients()
	r.forgetClients()
	drainAll(r.locals, false)
}

// unlessDone is deferred by whoever publishes in process: the panic goes on to the
// caller, who may recover, and must find nothing locked.
func (r *router) unlessDone(done *bool, l *Local) {
	if !*done {
		r.abandon(l.logger())
	}
}

// call runs a callback of l. A panic is the callback's own: its messages count as
// taken, and l goes on.
func (l *Local) call(fn func([]Msg), msgs []Msg) {
	defer func() {
		if fault := recover(); fault != nil {
			l.srv.faulted(l.logger(), "a subscription's callback has panicked", fault)
		}
	}()
	fn(msgs)
}

func (l *Local) logger() *slog.Logger {
	return l.srv.cfg().Logger.With("client", "local", "name", l.name, "cid", l.id)
}
