package wirebench

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/drive"
	"paddock/lab/compare/internal/wire/peers"
)

// Bench measures contenders.
type Bench struct {
	// Self is the program that calls [Child] for the arguments ServeCommand.
	Self string
}

// Measure runs one contender: its server, its connection, its operation.
func (b Bench) Measure(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	c := t.Contender
	peer, err := peers.Find(c.Peer)
	if err != nil {
		return nil, err
	}
	serve := []string{b.Self, ServeCommand, c.Peer}
	if c.TLS {
		serve = append(serve, "tls")
	}
	server, err := start(ctx, serve, t.Where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	target := peers.Target{Addr: server.Addr}
	if c.TLS {
		if target.TLS, err = peers.ClientTLS(server.Certificate); err != nil {
			return nil, err
		}
	}
	session, err := peer.Dial(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	defer session.Close()
	if t.Profile != "" {
		if err := server.Profile(t.Profile + "-server.pprof"); err != nil {
			return nil, err
		}
	}
	runtime.GC() // the garbage of the contender before is not part of this one
	return drive.Run(ctx, c.Operation, session, server, t.Options)
}
