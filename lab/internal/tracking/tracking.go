// Package tracking measures the tracker: the events of parked vehicles that a policy tells although
// nothing happened, how late it tells real crossings, and the positions that it takes a second, in
// this process and through the doors of a platform.
package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
)

// Options configure Run.
type Options struct {
	Sets      string          // directory of GeoJSON files
	Policies  []string        // names of presets
	InProcess bool            // measure the throughput of a shard
	Doors     []doors.Door    // and that of platforms, through these
	Noise     float64         // metres: the standard deviation of a receiver's error on each axis
	Vehicles  int             // parked ones, for each rate; 0: none, and no delays
	Parked    time.Duration   // for so long
	Every     []time.Duration // times between two positions of a vehicle
	Objects   int             // of the throughput
	Rounds    int             // of the throughput
	Duration  time.Duration   // of a turn
	Rules     int             // of which one is changed while positions come in; 0: none
	File      string          // recorded positions, in place of all that; "": none
	Progress  io.Writer

	// Of the doors.
	Program  string // that has the command up
	Dir      string // for the journals of the platforms, and other temporary files
	Volatile bool   // the platforms keep no journal
	Conns    int
	Batch    int    // positions
	Window   int    // batches of a connection that are sent and not acknowledged
	Peer     string // program tile38-server; "" = that of PATH
}

// Report is what was measured.
type Report struct {
	Subject    string       `json:"subject"`
	Noise      float64      `json:"noise_m"`
	Flapping   []Flapping   `json:"flapping,omitempty"`
	Delays     []Delay      `json:"delays,omitempty"`
	Throughput []Throughput `json:"throughput,omitempty"`
	Ratios     []Ratio      `json:"ratios,omitempty"`
	Recorded   []Recorded   `json:"recorded,omitempty"`

	Rules *Rules `json:"rules,omitempty"`

	Load    string     `json:"load,omitempty"` // through the doors
	Doors   []Entrance `json:"doors,omitempty"`
	Missing string     `json:"missing,omitempty"`   // why there is no peer
	Busy    float64    `json:"load_average_before"` // of a minute; 0 = unknown

	head results.Head
}

// bench is a run.
type bench struct {
	Options
	places *doors.Places
	sets   []*fence.Set // of them
	report *Report
}

// Run measures. After an error, such as the end of ctx, the report has what was measured until
// then.
func Run(ctx context.Context, o Options) (*Report, error) {
	b := &bench{Options: o, report: &Report{Noise: o.Noise, Busy: results.Busy(), head: results.NewHead(o.Rounds, o.Duration, warmup)}}
	if err := b.load(); err != nil {
		return b.report, err
	}
	if o.File != "" {
		return b.report, b.replay(ctx)
	}
	var err error
	if o.Vehicles > 0 {
		err = errors.Join(b.park(ctx), b.drive(ctx))
	}
	if o.InProcess && ctx.Err() == nil {
		err = errors.Join(err, b.race(ctx))
	}
	if len(o.Doors) > 0 && ctx.Err() == nil {
		err = errors.Join(err, b.enter(ctx))
	}
	if o.Rules > 0 && ctx.Err() == nil {
		err = errors.Join(err, b.change(ctx))
	}
	return b.report, errors.Join(err, ctx.Err())
}

// load reads the sets.
func (b *bench) load() (err error) {
	if b.places, err = doors.ReadPlaces(b.Sets); err != nil {
		return err
	}
	b.sets, b.report.Subject, b.report.head.Subject = b.places.Sets, b.places.Subject, b.places.Subject
	return nil
}

// view returns the sets under a policy.
func (b *bench) view(policy string) (*track.View, error) {
	p, err := track.ParsePolicy(policy)
	if err != nil {
		return nil, err
	}
	v := &track.View{}
	for i, s := range b.sets {
		v.Sets = append(v.Sets, track.TrackedSet{ID: track.SetID(i), Name: s.Name(), Snapshot: s.Snapshot(), Policy: &p})
	}
	return v, nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.Progress, format+"\n", args...) }

// epoch is the time at which the simulated receivers begin.
const epoch track.Millis = 1_700_000_000_000

// apply gives a position to a shard, after what is due before it.
func apply(s *track.Shard, p *track.Position, events []track.Event) []track.Event {
	_, events = s.Apply(p, settle(s, p.Arrived, events))
	return events
}

// settle does what is due by a time.
func settle(s *track.Shard, now track.Millis, events []track.Event) []track.Event {
	s.Advance(now)
	for more := true; more; {
		events, more = s.Step(events, 1024)
	}
	return events
}

// spread returns the median, the smallest and the largest of some values.
func spread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]}
}

// Spread is a median with the smallest and the largest value.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// Recorded counts the events of a policy for recorded positions.
type Recorded struct {
	Policy    string         `json:"policy"`
	Positions int            `json:"positions"`
	Late      int            `json:"late"`
	Outliers  int            `json:"outliers"`
	Rejected  int            `json:"rejected"`
	Events    map[string]int `json:"events"` // by kind
	// Returns counts enters of a fence within five minutes after the exit of the same object: most
	// are no real ones.
	Returns int            `json:"returns"`
	Worst   []FenceReturns `json:"worst,omitempty"` // fences with the most of them
}

// FenceReturns counts the returns to a fence.
type FenceReturns struct {
	Set     string `json:"set"`
	Fence   string `json:"fence"`
	Returns int    `json:"returns"`
}

// worst returns the fences with the most returns.
func worst(counts map[FenceReturns]int) (all []FenceReturns) {
	for f, n := range counts {
		f.Returns = n
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b FenceReturns) int {
		return cmp.Or(b.Returns-a.Returns, cmp.Compare(a.Set, b.Set), cmp.Compare(a.Fence, b.Fence))
	})
	return all[:min(len(all), 5)]
}
