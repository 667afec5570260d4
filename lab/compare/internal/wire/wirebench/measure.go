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

// Bench measures contenders.
type Bench struct {
	// Self is the program that calls [Child] for the arguments ServeCommand and RelayCommand.
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
	if c.Link {
		relay, failed := start(ctx, []string{b.Self, RelayCommand, server.Addr}, nil)
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

// serveRelay is the link's process: it passes connections on to addr across the
// emulated link, until in ends. Its input and output are those of [Serve].
func serveRelay(addr string, in io.Reader, out io.Writer) error {
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
