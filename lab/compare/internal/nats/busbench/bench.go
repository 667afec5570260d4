package busbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/process"
)

// latencyShare is the part of nats-server's maximum at which latencies are taken.
const latencyShare = 0.5

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	Paddock    string // the program paddock
	NATSServer string // the program nats-server
	Dir        string // for the configuration of a server
	IdleConns  int    // how many connections the goal idle has

	maxima    map[maximum][]float64
	profiling map[string]bool // by program: whether it has the flag for profiles
}

// maximum holds the rates that nats-server has reached, by operation and placement.
type maximum struct {
	op  measure.Operation
	pin harness.Pin
}

// Measure runs one contender: its server, and the load.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (*measure.Measurement, error) {
	op, latency, err := find(t.Contender.Operation, b.IdleConns)
	if err != nil {
		return nil, err
	}
	if latency {
		half, err := b.half(ctx, op, t)
		if err != nil {
			return nil, fmt.Errorf("nats-server's maximum: %w", err)
		}
		return b.measure(ctx, half, t)
	}
	m, err := b.measure(ctx, op.load, t)
	if err == nil && t.Contender.Peer == Reference {
		b.keep(op, t, m)
	}
	return m, err
}

// keep records a rate of nats-server.
func (b *Bench) keep(op operation, t harness.Turn, m *measure.Measurement) {
	if b.maxima == nil {
		b.maxima = map[maximum][]float64{}
	}
	rate, _ := m.PerSecond()
	at := maximum{measure.Operation(op.name), t.Contender.Pin}
	b.maxima[at] = append(b.maxima[at], rate)
}

// half returns the stream at half the rate that nats-server has reached in the rounds before, or
// reaches now if it has not run.
func (b *Bench) half(ctx context.Context, op operation, t harness.Turn) (load, error) {
	stream, ok := op.load.(natsload.Stream)
	if !ok {
		return nil, fmt.Errorf("%s is no stream", op.name)
	}
	at := maximum{measure.Operation(op.name), t.Contender.Pin}
	if len(b.maxima[at]) == 0 {
		t.Contender.Peer, t.Contender.Operation, t.Profile = Reference, at.op, ""
		if _, err := b.Measure(ctx, t); err != nil {
			return nil, err
		}
	}
	rates := slices.Sorted(slices.Values(b.maxima[at]))
	return stream.Rated(rates[len(rates)/2], latencyShare), nil
}

// measure runs a load against a server of its own.
func (b *Bench) measure(ctx context.Context, l load, t harness.Turn) (m *measure.Measurement, err error) {
	argv, err := b.command(t.Contender.Peer)
	if err != nil {
		return nil, err
	}
	profiled := t.Profile != "" && b.hasProfiles(argv)
	s, err := start(ctx, argv, t.Where, profiled)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if t.Profile != "" {
		stop, failed := process.Profile(t.Profile + "-client.pprof")
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if profiled {
		wait := s.fetchProfile(ctx, t.Profile+"-server.pprof", t.Options.Warmup+t.Options.Duration)
		defer func() { err = errors.Join(err, wait()) }()
	}
	runtime.GC() // the garbage of the contender before is not part of this one
	return l.Measure(ctx, s, t.Options)
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

// hasProfiles reports whether a program serves profiles: whether its help names
// the flag of nats-server for them.
func (b *Bench) hasProfiles(argv []string) bool {
	if known, ok := b.profiling[argv[0]]; ok {
		return known
	}
	help, _ := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "--help")...).CombinedOutput() // empty is without
	has := strings.Contains(string(help), "--profile")
	if b.profiling == nil {
		b.profiling = map[string]bool{}
	}
	b.profiling[argv[0]] = has
	return has
}
