package bridge

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/netio/natslogin"
)

const (
	// dialTime bounds one attempt to connect, the greeting included.
	dialTime = 2 * time.Second
	// firstWait and lastWait are the pauses between rounds over all URLs, which double.
	firstWait = 100 * time.Millisecond
	lastWait  = 10 * time.Second
	// pingInterval is how often the other server is asked whether it is there. Two questions
	// without an answer end the connection.
	pingInterval = 5 * time.Second
	// writeTime bounds a write to a server that does not read.
	writeTime = 10 * time.Second
	// refusalTime is the shortest time between log lines about permissions.
	refusalTime = 10 * time.Second
)

// run keeps a connection until the bridge ends.
func (b *bridge) run() {
	defer close(b.done)
	for attempt := 1; ; attempt++ {
		closed := make(chan struct{})
		nc, err := nats.Connect(strings.Join(b.cfg.URLs, ","), b.options(closed)...)
		if err == nil {
			if err = b.subscribe(nc); err == nil {
				b.serve(nc, closed)
				attempt, err = 0, cmp.Or(nc.LastError(), nats.ErrConnectionClosed)
			}
			b.keepDrops() // which a closed one does not tell
			nc.Close()
			<-closed
		}
		select {
		case <-b.stopping:
			b.abandon()
			return
		default:
		}
		b.lost(err)
		select {
		case <-b.stopping:
		case <-time.After(backOff(attempt)):
		}
	}
}

// serve takes the queue to the other server until the connection is closed for good, which the
// library does only on a fault of its own, or the bridge ends.
func (b *bridge) serve(nc *nats.Conn, closed <-chan struct{}) {
	for {
		sent, open := b.sendAll(nc)
		if !open {
			return
		}
		if sent > 0 {
			continue
		}
		select {
		case <-b.queue.ready:
		case <-closed:
			return
		case <-b.stopping:
			b.finish(nc, closed)
			return
		}
	}
}

// sendAll sends what waits. It returns how many messages these were, and whether the connection is
// of further use; if not, the rest of them is dropped.
func (b *bridge) sendAll(nc *nats.Conn) (n int, open bool) {
	items := b.queue.take()
	for i := range items {
		if !b.send(nc, &items[i]) {
			b.drop(items[i+1:])
			return i, false
		}
		items[i] = item{} // whose memory others may use from now on
	}
	return len(items), true
}

// finish sends what has come since, ends the subscriptions at the other server, and publishes what
// that has sent before.
func (b *bridge) finish(nc *nats.Conn, closed <-chan struct{}) {
	if _, open := b.sendAll(nc); !open {
		return
	}
	if !b.remote.connected() || nc.Drain() != nil {
		return // what has been sent is as lost as in any end of a connection
	}
	select {
	case <-closed:
	case <-b.ctx.Done():
	}
}

func (b *bridge) drop(items []item) {
	for i := range items {
		b.traffic[out].drop(Lost)
		b.queue.release(&items[i])
	}
}

// abandon drops what waits when the bridge has ended.
func (b *bridge) abandon() { b.drop(b.queue.take()) }

// awaitRemote waits until the other server is connected again. It reports false if the bridge ends
// before.
func (b *bridge) awaitRemote() bool {
	select {
	case <-b.remote.up:
		return true
	case <-b.stopping:
		return false
	}
}

// keepDrops counts what the library has dropped of a connection that ends.
func (b *bridge) keepDrops() {
	b.traffic[in].dropped[Full].Add(b.remote.live.Swap(nil).dropped())
}

// options returns those of the client library. closed is closed when a connection has ended.
func (b *bridge) options(closed chan struct{}) []nats.Option {
	list := []nats.Option{
		nats.Name("paddock bridge " + b.cfg.Name), nats.NoEcho(),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(), nats.CustomReconnectDelay(backOff),
		nats.ReconnectBufSize(-1), // messages wait in the queue
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2), nats.Timeout(dialTime), nats.FlusherTimeout(writeTime), nats.DrainTimeout(closeTime),
		nats.SkipHostLookup(), nats.SetCustomDialer(&dialer{ctx: b.ctx}),
		nats.ConnectHandler(b.connected), nats.ReconnectHandler(b.connected),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { b.lost(err) }),
		nats.ReconnectErrHandler(b.failed),
		nats.ErrorHandler(b.refused()), nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
	}
	login := natslogin.Login{User: b.cfg.User, Password: b.cfg.Password, Token: b.cfg.Token, Creds: b.cfg.Creds}
	if t := b.cfg.TLS; t != nil {
		login.RootCA = t.CA
		list = append(list, nats.Secure())
		if t.Cert != "" {
			list = append(list, nats.ClientCert(t.Cert, t.Key))
		}
		if t.HandshakeFirst {
			list = append(list, nats.TLSHandshakeFirst())
		}
	}
	return append(list, login.Options()...)
}

// backOff returns the pause after so many rounds without a connection, with jitter: bridges that
// lost the same server do not return together.
func backOff(rounds int) time.Duration {
	wait := min(firstWait<<min(max(rounds-1, 0), 10), lastWait)
	return wait/2 + rand.N(wait/2)
}

// connected is called after each connection.
func (b *bridge) connected(nc *nats.Conn) {
	name := identity(nc.ConnectedServerId(), nc.ConnectedClusterName())
	if name == "" {
		return // it is gone again, which lost is told
	}
	b.remote.name.Store(&name)
	b.remote.connects.Add(1)
	b.remote.now.Store(&connection{url: nc.ConnectedUrlRedacted(), since: time.Now()})
	select {
	case b.remote.up <- struct{}{}:
	default:
	}
	b.log.Info("bridge connected", "url", nc.ConnectedUrlRedacted(), "server", name)
	if !nc.HeadersSupported() {
		b.log.Warn("the other server has no headers, so nothing is exported: loops would not be found")
	}
	if name == b.id {
		b.log.Warn("the other server is this one, so nothing passes")
	}
}

// failed is told of attempts to connect. After the first one over all URLs the library has no
// reason; the next one has.
func (b *bridge) failed(_ *nats.Conn, err error) {
	if !errors.Is(err, nats.ErrNoServers) {
		b.lost(err)
	}
}

// lost is told that there is no connection, and why. Of the attempts that fail after each other,
// one is logged as a warning.
func (b *bridge) lost(err error) {
	fault := "connection closed"
	if err != nil {
		fault = strings.TrimPrefix(err.Error(), "nats: ")
	}
	before := b.remote.now.Swap(&connection{fault: fault})
	select {
	case <-b.stopping:
		return
	default:
	}
	if before == nil || before.fault == "" {
		b.log.Warn("bridge is not connected", "error", fault)
	} else {
		b.log.Debug("bridge is not connected", "error", fault)
	}
}

// refused returns the handler of what the other server refuses while it is connected.
func (b *bridge) refused() nats.ErrHandler {
	var last atomic.Int64 // Unix ns of a log line
	return func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if !errors.Is(err, nats.ErrPermissionViolation) {
			return // a slow consumer is counted as such
		}
		if strings.Contains(strings.ToLower(err.Error()), "for publish") {
			b.traffic[out].drop(Refused)
		}
		if now := time.Now().UnixNano(); now-last.Load() >= int64(refusalTime) {
			last.Store(now)
			b.log.Warn("the other server refuses what the bridge is to do", "error", strings.TrimPrefix(err.Error(), "nats: "))
		}
	}
}

// dialer makes connections that ctx ends, so that a bridge can end while the other server does not
// read.
type dialer struct{ ctx context.Context }

// Dial implements [nats.CustomDialer].
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTime}).DialContext(d.ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: c, release: context.AfterFunc(d.ctx, func() { _ = c.Close() })}, nil
}

// cutConn is a connection that a context closes.
type cutConn struct {
	net.Conn
	release func() bool
}

func (c *cutConn) Close() error {
	c.release()
	return c.Conn.Close()
}
