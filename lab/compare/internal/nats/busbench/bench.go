package busbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/internal/peers"
)

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	Paddock    string // the program paddock
	NATSServer string // the program nats-server
	Dir        string // for the configuration of a server
}

// Measure runs one contender: a server of its own, and the load.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	op, err := find(t.Contender.Operation)
	if err != nil {
		return nil, err
	}
	argv, err := b.command(t.Contender.Peer)
	if err != nil {
		return nil, err
	}
	server, err := peers.StartNATS(ctx, argv, t.Where.Start)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	runtime.GC() // the garbage of the contender before is not part of this one
	return op.load.Measure(ctx, processOf{server}, t.Options)
}

// command returns the program and arguments of a peer.
func (b *Bench) command(peer string) ([]string, error) {
	switch peer {
	case Ours:
		return []string{b.Paddock, "bus"}, nil
	case Reference:
		return []string{b.NATSServer}, nil
	case noStall:
		file := filepath.Join(b.Dir, "no-stall.conf")
		err := os.WriteFile(file, []byte("no_fast_producer_stall: true\n"), 0o600)
		return []string{b.NATSServer, "-c", file}, err
	}
	return nil, fmt.Errorf("no peer %q", peer)
}

// processOf is a server's process.
type processOf struct{ *peers.Stand }

var _ natsload.Server = processOf{}

// Usage implements natsload.Server.
func (s processOf) Usage() (measure.Usage, error) { return measure.ProcessUsage(s.Pid()) }
