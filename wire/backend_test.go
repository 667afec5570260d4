package wire_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// backend is the peer of a client: it accepts over pipes, while it is up.
type backend struct {
	t      *testing.T
	config *wire.Config
	faults func(n int) wiretest.Faults // of the n-th connection, from 0
	tcp    net.Listener                // real sockets, if there is one

	mu    sync.Mutex
	down  error
	times []time.Time // of the attempts
	conns []*wire.Conn
	links []*wiretest.FaultConn
}

func (b *backend) dial(context.Context) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times = append(b.times, time.Now())
	if b.down != nil {
		return nil, b.down
	}
	ours, theirs := b.pair()
	var faults wiretest.Faults
	if b.faults != nil {
		faults = b.faults(len(b.conns))
	}
	link := wiretest.Faulty(ours, faults)
	conn, err := wire.AcceptConn(theirs, b.config)
	if err != nil {
		b.t.Error(err)
		return nil, err
	}
	b.conns, b.links = append(b.conns, conn), append(b.links, link)
	return link, nil
}

// pair returns two ends of a connection.
func (b *backend) pair() (ours, theirs net.Conn) {
	if b.tcp == nil {
		return wiretest.Pipe(0)
	}
	ours, err := net.Dial("tcp", b.tcp.Addr().String())
	if err == nil {
		theirs, err = b.tcp.Accept()
	}
	if err != nil {
		b.t.Error(err)
	}
	return ours, theirs
}

// cut resets the newest connection.
func (b *backend) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links[len(b.links)-1].Cut()
}

func (b *backend) setDown(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

// newest is the connection accepted last.
func (b *backend) newest() *wire.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns[len(b.conns)-1]
}

func (b *backend) attempts() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.times)
}

func (b *backend) close() {
	b.setDown(errors.New("gone"))
	for _, conn := range b.conns {
		if err := conn.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

var errRefused = errors.New("connection refused")

// client returns a client of the backend, in the bubble of t. Both end with it.
func (b *backend) client(t *testing.T, config wire.ClientConfig) *wire.Client {
	b.t = t
	if b.config == nil {
		b.config = &wire.Config{Mux: echoMux()}
	}
	config.Dial = b.dial
	c, err := wire.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		b.close()
	})
	return c
}
