// Package harness compares contenders: it runs the contenders of a goal in turns for some rounds,
// and reports the figure of each as a ratio to the figure of its base in the same round. Each
// comparison brings its own way to measure a contender.
//
// Only ratios within a round can be compared: machines, and hours on one machine, differ more than
// contenders do. So every round runs every contender once, each round starts with another one, and
// the report gives the median over the rounds with the smallest and the largest.
package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/process"
)

// Sample is one contender's measurement in one round.
type Sample struct {
	Goal      string             `json:"goal"`
	Round     int                `json:"round"`
	Contender string             `json:"contender"`
	Peer      string             `json:"peer"`
	Operation measure.Operation  `json:"operation"`
	Seconds   float64            `json:"seconds"`
	Ops       int64              `json:"ops"`
	Bytes     int64              `json:"bytes"`
	ClientCPU CPU                `json:"client_cpu"`
	ServerCPU CPU                `json:"server_cpu"`
	Machine   float64            `json:"machine_cpu_us,omitempty"` // all processes and the kernel
	Timed     int64              `json:"timed,omitempty"`          // how many operations the latencies are of
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

// Turn is one contender's turn in a round.
type Turn struct {
	Goal      string // its name
	Contender Contender
	Options   measure.Options
	Where     *Placement // where its processes run; nil: as the kernel chooses
	Profile   string     // the prefix of the names of its CPU profiles; "" for none
}

// Runner runs goals.
type Runner struct {
	Rounds  int
	Options measure.Options

	// Measure takes one turn. An error that wraps [errors.ErrUnsupported] says
	// that the peer has no such operation.
	Measure func(ctx context.Context, t Turn) (*measure.Measurement, error)

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
	rounds := r.Rounds
	if g.Once {
		rounds = 1
	}
	for round := range rounds {
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
	t := Turn{Goal: g.Name, Contender: c, Options: r.Options}
	t.Options.Duration *= time.Duration(max(g.Longer, 1))
	t.Options.Warmup *= time.Duration(max(g.Longer, 1))
	if r.Profile != "" {
		t.Profile = filepath.Join(r.Profile, fmt.Sprintf("%s-%s-%d", g.Name, strings.ReplaceAll(c.Name, " ", "-"), round))
	}
	m, err := r.profiled(ctx, t)
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

// profiled takes a turn, with a profile of this process if one is wanted.
func (r *Runner) profiled(ctx context.Context, t Turn) (m *measure.Measurement, err error) {
	if t.Profile == "" {
		return r.measure(ctx, t)
	}
	stop, err := process.Profile(t.Profile + "-client.pprof")
	if err != nil {
		return nil, err
	}
	m, err = r.measure(ctx, t)
	return m, errors.Join(err, stop())
}

// measure takes a turn, with both processes where the contender wants them.
func (r *Runner) measure(ctx context.Context, t Turn) (m *measure.Measurement, err error) {
	if t.Contender.Pin == "" {
		return r.Measure(ctx, t)
	}
	if t.Where, err = place(t.Contender.Pin); err != nil {
		return nil, err
	}
	undo, err := t.Where.bind()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	return r.Measure(ctx, t)
}

func (s *Sample) fill(m *measure.Measurement) {
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
	if m.Ops > 0 { // where streams run beside the requests, they are in it
		n := float64(m.Ops)
		s.Metrics[ClientCPU], s.Metrics[UserCPU], s.Metrics[ServerCPU] = s.ClientCPU.total()/n, s.ClientCPU.User/n, s.ServerCPU.total()/n
	}
	if m.Machine != 0 {
		s.Machine = microseconds(m.Machine)
		s.Metrics[MachineCPU] = s.Machine / float64(max(m.Ops, 1))
		if s.Latency != nil {
			s.Metrics[P999] = s.Latency.P999
		}
	}
	for name, value := range m.Figures {
		s.Metrics[Metric(name)] = value
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
