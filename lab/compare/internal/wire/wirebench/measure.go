package wirebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/drive"
	"paddock/lab/compare/internal/wire/peers"
	"paddock/lab/process"
	"paddock/wire/wiretest"
)

// Processes are the programs that a measurement starts.
type Processes struct {
	// Serve returns the program and arguments that serve a peer, see [Serve]; Relay returns the
	// ones that relay to addr across the emulated link, see [ServeRelay].
	Serve func(peer string, tls bool) []string
	Relay func(addr string) []string
}

// Measure runs one contender: its server, its connection, its operation.
func (p *Processes) Measure(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	c := t.Contender
	peer, err := peers.Find(c.Peer)
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, p.Serve(c.Peer, c.TLS), t.Where)
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
	if c.Link {
		relay, failed := start(ctx, p.Relay(server.Addr), nil)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, relay.Stop()) }()
		target.Addr = relay.Addr
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
		stop, failed := process.Profile(t.Profile + "-client.pprof")
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	runtime.GC() // the garbage of the contender before is not part of this one
	return drive.Run(ctx, c.Operation, session, server, t.Options)
}

// link is the link of the goal wan: 1 Gbit/s each way, 50 ms there and back.
var link = wiretest.LinkConfig{Rate: 125e6, Delay: 25 * time.Millisecond}

// ServeRelay is the link's process: it passes connections on to addr across the
// emulated link, until in ends. Its input and output are those of [Serve].
func ServeRelay(addr string, in io.Reader, out io.Writer) error {
	shaper, err := wiretest.NewShaper(addr, link)
	if err != nil {
		return err
	}
	to := json.NewEncoder(out)
	if err = to.Encode(reply{Addr: shaper.Addr().String()}); err == nil {
		err = answer(&peers.Sink{}, in, to)
	}
	return errors.Join(err, shaper.Close())
}
