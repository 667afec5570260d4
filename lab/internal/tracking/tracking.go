// Package tracking measures the tracker: the events of parked vehicles that a policy tells although
// nothing happened, how late it tells real crossings, and the positions that it takes a second, in
// this process and through the doors of a platform.
package tracking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
)

// Options configure Run.
type Options struct {
	doors.Setup

	Policies []string `name:"policy" placeholder:"PRESET" default:"raw,steady" help:"Policies to compare: raw, steady, accuracy or dwell:DURATION (default ${default})."`

	Noise    float64         `placeholder:"METRES" default:"5" help:"Error of a receiver on each axis, one standard deviation; it changes within half a minute (default ${default})."`
	Vehicles int             `placeholder:"N" default:"100" help:"Vehicles that are parked on boundaries; 0 leaves them out, and the crossings (default ${default})."`
	Parked   time.Duration   `placeholder:"DURATION" default:"24h" help:"For so long, in the simulation (default ${default})."`
	Every    []time.Duration `placeholder:"DURATION" default:"1s,10s,30s,300s" help:"Times between two positions of a vehicle (default ${default})."`

	Door      []string     `placeholder:"DOOR" default:"process" help:"Where the throughput is measured: process (one shard in this process), and wire, http, bus (platforms that this program starts), or none (default ${default})."`
	InProcess bool         `kong:"-"` // measure the throughput of a shard, as Door says
	Doors     []doors.Door `kong:"-"` // and that of platforms, through these
	Conns     int          `short:"c" placeholder:"N" default:"2" help:"Connections to a door (default ${default})."`
	Batch     int          `placeholder:"N" default:"1000" help:"Positions that are sent together (default ${default})."`
	Window    int          `placeholder:"N" default:"2" help:"Batches of a connection that are sent and not acknowledged (default ${default})."`
	Volatile  bool         `name:"no-journal" help:"Platforms and peer keep nothing on disk."`
	Peer      string       `type:"path" placeholder:"FILE" help:"The program tile38-server, for a row beside the doors (default that of PATH, if it is there)."`

	Objects  int           `placeholder:"N" default:"20000" help:"Vehicles that drive, for the throughput (default ${default})."`
	Rounds   int           `placeholder:"N" default:"5" help:"Rounds of the throughput, in each of which every policy has a turn (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"2s" help:"Length of a turn (default ${default})."`

	Rules int    `placeholder:"N" help:"Put so many rules on the vehicles that drive, and change one of them while positions come in: the bytes of an object, and the time of a change."`
	File  string `type:"path" placeholder:"FILE" help:"Recorded positions, in the forms of POST /v1/positions: count the events of each policy for them, in place of the rest."`
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
