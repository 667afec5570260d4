package bus

import (
	"errors"
	"io"
	"os"
	"time"

	"paddock/bus/internal/protocol"
)

// reader is the input side of a client: it parses and routes the batches. Its fields belong to the
// client's reader goroutine.
type reader struct {
	c         *client
	parse     protocol.Parser
	route     *router // while a batch is routed
	opts      connectOptions
	unread    []byte  // read during the handshake
	connected bool    // CONNECT has come, or was not needed
	infoSent  bool    // the second INFO has gone out
	config    *Config // for which parse and grant are made
	grant     *grant  // the authorizer's when config was adopted
	user      string  // the name of the login then
}

var _ protocol.Handler = (*reader)(nil)

// loop parses and routes until the connection or the server ends.
func (rd *reader) loop() {
	defer rd.recover()
	err := rd.readAll()
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded): // ended or kicked
	case errors.Is(err, io.EOF):
		rd.c.shut(ClientClosed, "")
	default:
		rd.c.shut(ReadError, "")
	}
}

// readAll reads to the end, through the transport if there is one. The bytes that its handshake has
// left unread come first.
func (rd *reader) readAll() error {
	t := rd.c.transport
	if t == nil {
		if len(rd.unread) > 0 && !rd.handle(rd.unread) {
			return nil
		}
		return rd.c.sock.readAll(rd.handle)
	}
	if !t.open(nil) {
		return t.err
	}
	if err := rd.c.sock.readAll(t.open); err != nil {
		return err
	}
	return t.err
}

// handle routes the bytes of one read as one batch. It reports whether to go on.
func (rd *reader) handle(batch []byte) bool {
	c := rd.c
	now := time.Now().UnixNano()
	c.timers.lastInput.Store(now)
	if (rd.config != c.srv.cfg() || rd.parse.MustAuth) && !rd.prepare(batch) {
		return false
	}
	c.trace.received(batch)
	rd.takeRouter(now)
	err := rd.parse.Feed(batch, rd)
	rd.returnRouter()
	if v := violationOf(err); v != nil {
		c.end(v)
		return false
	}
	return !c.stop.Load()
}

// prepare brings the reader up to date with the configuration, and lets a client in that begins
// without CONNECT, where that is possible. It returns false if the connection has ended.
func (rd *reader) prepare(batch []byte) bool {
	c := rd.c
	c.auth.revise(false)
	c.mu.Lock()
	rd.adopt(&c.auth.access)
	ended := c.reason != 0
	c.mu.Unlock()
	if ended {
		return false
	}
	if rd.config.logins.noAuth != nil && rd.parse.DemandsConnect(batch) {
		// On failure, the parser returns the error. A CONNECT that follows is a second one.
		rd.connected = c.auth.authenticate(credentials{}) == nil
	}
	return true
}

// adopt copies the settings that a batch needs. a is the access of the client.
func (rd *reader) adopt(a *access) {
	rd.config, rd.grant, rd.user = a.cfg, a.grant, ""
	if a.login != nil {
		rd.user = a.login.name
	}
	rd.parse.MaxLine, rd.parse.MaxPayload = a.cfg.MaxControlLine, a.cfg.MaxPayload
	rd.parse.MustAuth = a.pending
	rd.c.auth.authorized.Store(!a.pending)
}

func (rd *reader) takeRouter(now int64) {
	rd.route = rd.c.srv.router()
	rd.route.now = now
}

// returnRouter ends the batch.
func (rd *reader) returnRouter() {
	rd.finishBatch()
	rd.c.srv.release(rd.route)
	rd.route = nil
	rd.c.out.flush()
}

// finishBatch brings the messages routed so far to their destinations, and publishes the counts.
func (rd *reader) finishBatch() {
	rd.route.routeRun()
	rd.c.usage.count(&rd.route.counts, rd.route.now)
	rd.route.finish(nil)
}

// withoutRouter gives the router back while wait runs, which may take long.
func (rd *reader) withoutRouter(wait func()) {
	if rd.route == nil {
		wait()
		return
	}
	rd.returnRouter()
	wait()
	rd.takeRouter(time.Now().UnixNano())
}

// A panic is a fault of this program, and often comes from one message. In the reader of a network
// client it ends that connection alone. In a goroutine that publishes in process it goes on to the
// caller. In a callback it is logged, and the subscription goes on.

// recover is deferred by loop. After a panic it releases the router's lock and delivers the
// messages that were routed before. The message in hand is lost, and so are those gathered for a
// run. The client is closed without further output, because the state of its pending output is
// unknown.
func (rd *reader) recover() {
	fault := recover()
	if fault == nil {
		return
	}
	c := rd.c
	c.srv.logPanic(c.logger(), "a connection's reader has panicked", fault)
	if r := rd.route; r != nil {
		rd.route = nil
		r.abandon(c.logger())
	}
	c.shut(ReadError, "")
}
