package perf

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"paddock/wire"
)

// Target is the server that a run measures.
type Target struct {
	Network string // tcp or unix
	Addr    string
	Token   string      // "": none
	TLS     *tls.Config // nil: plain

	Reconnect bool // connections that end are made again; for verifying runs

	// Session is the client's identity, with Reconnect; zero is a random one. A process that begins
	// under the name of another takes over from it.
	Session [16]byte
}

// openTime bounds how long connections may take until the server's HELLO.
const openTime = 10 * time.Second

// closeTime bounds how long they may take to end.
const closeTime = 2 * time.Second

// maxBackoff is the longest that a client waits before it tries again: a run is
// not left alone for hours.
const maxBackoff = time.Second

const (
	agent = "paddock bench wire"
	// maxMessage bounds a message of a stream, and an answer.
	maxMessage = maxPayload
)

// Open opens the connections of a run, all ready to be used. With t.Reconnect each of them is a
// client, which connects again when its connection ends. closeAll ends them when the run is over.
func Open(ctx context.Context, t Target, o Options) (run *Run, closeAll func(), err error) {
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	if t.Reconnect && o.Do != Verify {
		return nil, nil, fmt.Errorf("%w: only a verifying run can make connections again", ErrOptions)
	}
	var opened []closer
	closeAll = func() { closeConns(opened) }
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	run = &Run{Options: o, target: t}
	run.session = wire.Session{ID: t.Session, Epoch: uint64(time.Now().UnixMilli())}
	if t.Session == [16]byte{} {
		run.session.Epoch = 1
		_, _ = rand.Read(run.session.ID[:]) // never fails
	}
	for i := range o.Conns {
		c, err := run.open(ctx, i)
		if err == nil {
			opened = append(opened, c)
			// An answer says more than its HELLO: it has judged ours.
			_, err = ask[serverReport](ctx, c, kindReport, nil)
		}
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("connect to %s: %w", t.Addr, err)
		}
		run.Conns = append(run.Conns, c)
	}
	if err := run.Prepare(); err != nil {
		closeAll()
		return nil, nil, err
	}
	return run, closeAll, nil
}

// closer is a connection or client that we have opened.
type closer interface {
	Conn
	Drain(context.Context) error
	Close() error
}

func (r *Run) open(ctx context.Context, i int) (closer, error) {
	t := r.target
	if !t.Reconnect {
		return wire.Dial(ctx, t.Network, t.Addr, r.config(i))
	}
	return wire.NewClient(wire.ClientConfig{Network: t.Network, Address: t.Addr, Config: r.config(i), MaxBackoff: maxBackoff})
}

// closeConns ends the connections in an orderly way, if that does not take long.
func closeConns(opened []closer) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range opened {
		all.Go(func() {
			_ = c.Drain(ctx)
			_ = c.Close()
		})
	}
	all.Wait()
}

// config is that of connection number i of a run.
func (r *Run) config(i int) *wire.Config {
	c := &wire.Config{
		Agent: agent, TLS: r.target.TLS, Auth: giveToken(r.target.Token), MaxMessage: maxMessage,
	}
	if r.Do == Verify {
		c.Session = r.sessionOf(i)
	}
	return c
}

// sessionOf is the session of connection number i: each has one of its own, since
// a server may know many sessions, but few connections of one.
func (r *Run) sessionOf(i int) *wire.Session {
	s := r.session
	binary.LittleEndian.PutUint32(s.ID[len(s.ID)-4:], uint32(i))
	return &s
}

// KeepAcknowledged lets the run write the posts that were acknowledged to a
// journal, before they count as done.
func (r *Run) KeepAcknowledged(file string) (closeFile func() error, err error) {
	journal, err := OpenJournal(file, func(Acked) {})
	if err != nil {
		return nil, err
	}
	r.journal = journal
	return journal.Close, nil
}

// ClientTLS is the configuration of a client for Target. With a fingerprint it accepts only the
// certificate that has it; without one, the certificates that the system trusts.
func ClientTLS(fingerprint string) (*tls.Config, error) {
	if fingerprint == "" {
		return &tls.Config{MinVersion: tls.VersionTLS13}, nil
	}
	return Pinned(fingerprint)
}
