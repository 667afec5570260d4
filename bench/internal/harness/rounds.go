// Package harness compares contenders: it starts each one's server as a process
// of its own, runs the contenders of a goal in turns for some rounds, and reports
// what each did as a ratio to what its base did in the same round.
//
// A ratio within a round is what can be compared: machines, and hours on one
// machine, differ more than contenders do. So every round runs every contender
// once, each round starts with another one, and the report gives the median over
// the rounds with the smallest and the largest.
package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"paddock/bench/internal/drive"
	"paddock/bench/internal/peers"
)

// Sample is one contender's measurement in one round.
type Sample struct {
	Goal      string             `json:"goal"`
	Round     int                `json:"round"`
	Contender string             `json:"contender"`
	Peer      string             `json:"peer"`
	Operation drive.Operation    `json:"operation"`
	Seconds   float64            `json:"seconds"`
	Ops       int64              `json:"ops"`
	Bytes     int64              `json:"bytes"`
	ClientCPU CPU                `json:"client_cpu"`
	ServerCPU CPU                `json:"server_cpu"`
	Timed     int64              `json:"timed,omitempty"` // how many operations the latencies are of
	Metrics   map[Metric]float64 `json:"metrics"`
	Latency   *Latency           `json:"latency_us,omitempty"`

	Unsupported string `json:"unsupported,omitempty"` // why the peer has no such operation
	Failed      string `json:"failed,omitempty"`
}

// CPU is processor time within the window, in microseconds.
type CPU struct {
	User   float64 `json:"user_us"`
	System float64 `json:"system_us"`
}

func (c CPU) total() float64 { return c.User + c.System }

// Latency is a distribution in microseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Runner runs goals.
type Runner struct {
	Rounds  int
	Options drive.Options

	// Serve returns the program and arguments that serve a peer, see [Serve];
	// Relay those that relay to addr across the emulated link, see [ServeLink].
	Serve func(peer string, tls bool) []string
	Relay func(addr string) []string

	// Profile, if not empty, is the directory for the CPU profiles of both ends of
	// each measurement, its warm-up included.
	Profile string

	// Progress, if set, is called before each measurement.
	Progress func(g *Goal, round int, c Contender)
}

// Run runs the rounds of one goal. A contender that fails is a sample that says
// so; the error is the context's.
func (r *Runner) Run(ctx context.Context, g *Goal) ([]Sample, error) {
	var samples []Sample
	for round := range r.Rounds {
		for i := range g.Contenders {
			c := g.Contenders[(round+i)%len(g.Contenders)]
			if r.Progress != nil {
				r.Progress(g, round, c)
			}
			samples = append(samples, r.sample(ctx, g, round, c))
			if err := ctx.Err(); err != nil {
				return samples, err
			}
		}
	}
	return samples, nil
}

func (r *Runner) sample(ctx context.Context, g *Goal, round int, c Contender) Sample {
	s := Sample{Goal: g.Name, Round: round, Contender: c.Name, Peer: c.Peer, Operation: c.Operation}
	o := r.Options
	o.Duration *= time.Duration(max(g.Longer, 1))
	o.Warmup *= time.Duration(max(g.Longer, 1))
	if c.Cold {
		o.Warmup = time.Nanosecond
	}
	m, err := r.measure(ctx, c, o, fmt.Sprintf("%s-%s-%d", g.Name, strings.ReplaceAll(c.Name, " ", "-"), round))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.Unsupported = err.Error()
	case err != nil:
		s.Failed = err.Error()
	default:
		s.fill(m)
	}
	return s
}

// measure runs one contender, with both processes where it wants them.
func (r *Runner) measure(ctx context.Context, c Contender, o drive.Options, name string) (m *drive.Measurement, err error) {
	if c.Pin == "" {
		return r.measureAt(ctx, c, o, name, nil)
	}
	where, err := place(c.Pin)
	if err != nil {
		return nil, err
	}
	undo, err := where.bind()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	return r.measureAt(ctx, c, o, name, where)
}

// measureAt runs one contender: its server, its connection, its operation.
func (r *Runner) measureAt(ctx context.Context, c Contender, o drive.Options, name string, where *placement) (m *drive.Measurement, err error) {
	peer, err := peers.Find(c.Peer)
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, r.Serve(c.Peer, c.TLS), where)
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
		relay, failed := start(ctx, r.Relay(server.Addr), nil)
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
	if r.Profile != "" {
		file := filepath.Join(r.Profile, name)
		if err := server.Profile(file + "-server.pprof"); err != nil {
			return nil, err
		}
		stop, failed := profile(file + "-client.pprof")
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	runtime.GC() // what the contender before has left is not this one's work
	return drive.Run(ctx, c.Operation, session, server, o)
}

func (s *Sample) fill(m *drive.Measurement) {
	ops, bytes := m.PerSecond()
	s.Seconds, s.Ops, s.Bytes = m.Elapsed.Seconds(), m.Ops, m.Bytes
	s.ClientCPU = CPU{microseconds(m.Client.User), microseconds(m.Client.System)}
	s.ServerCPU = CPU{microseconds(m.Server.User), microseconds(m.Server.System)}
	s.Metrics = map[Metric]float64{OpsPerSecond: ops, BytesPerSecond: bytes}
	if m.Latency.Count > 0 {
		l := m.Latency
		s.Timed = l.Count
		s.Latency = &Latency{
			Mean: microseconds(l.Mean), P50: microseconds(l.P50), P90: microseconds(l.P90),
			P99: microseconds(l.P99), P999: microseconds(l.P999), Max: microseconds(l.Max),
		}
		s.Metrics[P50], s.Metrics[P99] = s.Latency.P50, s.Latency.P99
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
