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
	"io"
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
	Metrics   map[Metric]float64 `json:"metrics"`

	Unsupported string `json:"unsupported,omitempty"` // why the peer has no such operation
	Failed      string `json:"failed,omitempty"`
}

// CPU is processor time within the window, in microseconds.
type CPU struct {
	User   float64 `json:"user_us"`
	System float64 `json:"system_us"`
}

func (c CPU) total() float64 { return c.User + c.System }

// Turn is one contender's turn in a round.
type Turn struct {
	Goal      string // its name
	Contender Contender
	Options   measure.Options
	Where     *Placement // where its processes run; nil: as the kernel chooses
	Profile   string     // the prefix of the names of its CPU profiles; "" for none
}

// runner runs goals.
type runner struct {
	*Program
	*options
	stderr io.Writer
}

// run runs the rounds of one goal. A contender that fails is a sample that says so; the error is
// the context's.
func (r *runner) run(ctx context.Context, g *Goal) ([]Sample, error) {
	var samples []Sample
	rounds := r.rounds
	if g.Once {
		rounds = 1
	}
	for round := range rounds {
		for i := range g.Contenders {
			c := g.Contenders[(round+i)%len(g.Contenders)]
			if r.progress {
				fmt.Fprintf(r.stderr, "%s, round %d of %d: %s\n", g.Name, round+1, rounds, c.Name)
			}
			samples = append(samples, r.sample(ctx, g, round, c))
			if err := ctx.Err(); err != nil {
				return samples, err
			}
		}
	}
	return samples, nil
}

func (r *runner) sample(ctx context.Context, g *Goal, round int, c Contender) Sample {
	s := Sample{Goal: g.Name, Round: round, Contender: c.Name, Peer: c.Peer, Operation: c.Operation}
	t := Turn{Goal: g.Name, Contender: c, Options: measure.Options{Warmup: r.warmup, Duration: r.duration}}
	t.Options.Duration *= time.Duration(max(g.Longer, 1))
	t.Options.Warmup *= time.Duration(max(g.Longer, 1))
	if r.profile != "" {
		t.Profile = filepath.Join(r.profile, fmt.Sprintf("%s-%s-%d", g.Name, strings.ReplaceAll(c.Name, " ", "-"), round))
	}
	m, err := r.measure(ctx, t)
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

// measure takes a turn, with both processes where the contender wants them, and a profile of this
// one if it is wanted.
func (r *runner) measure(ctx context.Context, t Turn) (m *measure.Measurement, err error) {
	file := ""
	if t.Profile != "" {
		file = t.Profile + "-client.pprof"
	}
	stop, err := process.Profile(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
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
	if l := m.Latency; l.Count > 0 {
		for metric, d := range map[Metric]time.Duration{P50: l.P50, P90: l.P90, P99: l.P99, P999: l.P999, Slowest: l.Max} {
			s.Metrics[metric] = microseconds(d)
		}
	}
	if m.Ops > 0 { // where streams run beside the requests, they are in it
		n := float64(m.Ops)
		s.Metrics[ClientCPU], s.Metrics[UserCPU], s.Metrics[ServerCPU] = s.ClientCPU.total()/n, s.ClientCPU.User/n, s.ServerCPU.total()/n
	}
	if m.Machine != 0 {
		s.Machine = microseconds(m.Machine)
		s.Metrics[MachineCPU] = s.Machine / float64(max(m.Ops, 1))
	}
	for name, value := range m.Figures {
		s.Metrics[Metric(name)] = value
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
