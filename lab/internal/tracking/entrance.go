package tracking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/results"
	"paddock/lab/process"
)

// Entrance is the positions that a platform takes a second through a door, acknowledged.
type Entrance struct {
	Policy    string  `json:"policy"` // of a peer: ""
	Door      string  `json:"door"`   // or the name of the peer
	PerSecond Spread  `json:"positions_per_second"`
	P50       Spread  `json:"ack_p50_us"`
	P99       Spread  `json:"ack_p99_us"`
	CPU       *Spread `json:"server_us_per_position,omitempty"`
	PerEvent  float64 `json:"positions_per_event,omitempty"`

	rates []float64
}

// warmup is the length of the load before the first round.
const warmup = time.Second

// visitor sends positions through one door of a platform, or to the peer.
type visitor struct {
	Entrance
	send     func(context.Context, doors.Load) (doors.Window, error)
	platform *doors.Platform // nil: the peer

	p50, p99, cpu []float64
	fixes, events int64
}

// enter measures platforms through their doors, in turns.
func (b *bench) enter(ctx context.Context) (err error) {
	root, remove, err := process.TempDirIn(b.Dir, "track")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	journal := "with a journal"
	if b.Volatile {
		journal = "without a journal"
	}
	b.report.Load = fmt.Sprintf("%s objects a door, %d connections, each with up to %d batches of %s positions under way, %s",
		figure.Count(int64(b.Objects)), b.Conns, b.Window, figure.Count(int64(b.Batch)), journal)
	var all []*visitor
	var ends []func() error
	defer func() {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
	}()
	take := func(visitors []*visitor, end func() error, failed error) error {
		if failed == nil {
			all, ends = append(all, visitors...), append(ends, end)
		}
		return failed
	}
	for _, policy := range b.Policies {
		if err := take(b.open(ctx, root, policy)); err != nil {
			return err
		}
	}
	if err := take(b.openPeer(ctx, root)); err != nil {
		return err
	}
	return b.visit(ctx, all)
}

// sender is the way in which positions are sent.
func (b *bench) sender() *doors.Sender {
	return &doors.Sender{Agent: "paddock bench track", Batch: b.Batch, Window: b.Window}
}

// open starts a platform under a policy, and returns a visitor for each door.
func (b *bench) open(ctx context.Context, root, policy string) (all []*visitor, end func() error, err error) {
	service := doors.Service{Program: b.Program, Sets: b.Sets, Policy: policy, Root: filepath.Join(root, "up-"+strings.ReplaceAll(policy, ":", "-"))}
	data := "off"
	if !b.Volatile {
		data = filepath.Join(service.Root, "data")
	}
	platform, err := service.Start(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	sender := b.sender()
	for _, door := range b.Doors {
		fleets := sender.Fleets(door, b.places, string(door), b.Objects, b.Conns)
		v := &visitor{platform: platform, Entrance: Entrance{Policy: policy, Door: string(door)}}
		v.send = func(ctx context.Context, l doors.Load) (doors.Window, error) {
			return sender.Send(ctx, door, platform, fleets, l)
		}
		if err := b.prepare(ctx, v); err != nil {
			return nil, nil, errors.Join(err, platform.End(ctx))
		}
		all = append(all, v)
	}
	return all, func() error { return platform.End(ctx) }, nil
}

// prepare sends each object once, and then some load.
func (b *bench) prepare(ctx context.Context, v *visitor) error {
	b.Say("%s: %d objects", v.name(), b.Objects)
	_, err := v.send(ctx, doors.Load{Positions: b.Objects})
	if err == nil {
		_, err = v.send(ctx, doors.Load{Length: min(warmup, b.Duration)})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.name(), err)
	}
	return nil
}

// openPeer starts Tile38 if it is there. Each fence is a hook to an HTTP server of this process,
// which drops the events.
func (b *bench) openPeer(ctx context.Context, root string) (all []*visitor, end func() error, err error) {
	program, missing := doors.FindPeer(b.Peer)
	if missing != "" {
		b.report.Missing = missing
		return nil, func() error { return nil }, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	sink := &http.Server{
		ReadHeaderTimeout: doors.AnswerWithin,
		Handler:           http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }),
	}
	served := make(chan error, 1)
	go func() { served <- sink.Serve(l) }()
	closeSink := func() error {
		err := sink.Close()
		<-served // always an error: that it is closed
		return err
	}
	peer, err := doors.StartPeer(ctx, program, root, b.Sets, "http://"+l.Addr().String()+"/", !b.Volatile)
	if err != nil {
		return nil, nil, errors.Join(err, closeSink())
	}
	endBoth := func() error { return errors.Join(peer.End(ctx), closeSink()) }
	sender, fleets := b.sender(), b.places.Fleets(b.Objects, b.Conns)
	v := &visitor{Entrance: Entrance{Door: doors.PeerName}}
	v.send = func(ctx context.Context, l doors.Load) (doors.Window, error) {
		return sender.Tile38(ctx, peer, fleets, l)
	}
	if err := b.prepare(ctx, v); err != nil {
		return nil, nil, errors.Join(err, endBoth())
	}
	return []*visitor{v}, endBoth, nil
}

// visit runs the rounds. After each one the report has the figures so far.
func (b *bench) visit(ctx context.Context, all []*visitor) error {
	for round := range b.Rounds {
		b.Say("doors: round %d of %d", round+1, b.Rounds)
		for i := range all {
			if err := all[(round+i)%len(all)].measure(ctx, b.Duration); err != nil {
				return err
			}
		}
		b.report.Doors = b.report.Doors[:0]
		for _, v := range all {
			b.report.Doors = append(b.report.Doors, v.note())
		}
	}
	return nil
}

// name returns the door and the policy.
func (e *Entrance) name() string {
	if e.Policy == "" {
		return e.Door
	}
	return e.Door + ", " + e.Policy
}

// measure makes the load of a round.
func (v *visitor) measure(ctx context.Context, length time.Duration) error {
	send := func(ctx context.Context) (doors.Window, error) { return v.send(ctx, doors.Load{Length: length}) }
	var w doors.Window
	var grown doors.Reading
	var err error
	if v.platform != nil {
		w, grown, err = v.platform.Measure(ctx, send)
	} else {
		w, err = send(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.name(), err)
	}
	times := results.NewTimes(w.Latencies)
	v.rates = append(v.rates, float64(w.Positions)/w.Elapsed.Seconds())
	v.p50, v.p99 = append(v.p50, times.P50), append(v.p99, times.P99)
	v.cpu = append(v.cpu, results.Micros(grown.CPU)/float64(max(w.Positions, 1)))
	v.fixes, v.events = v.fixes+w.Positions, v.events+grown.Events
	return nil
}

// note returns the figures of the rounds so far.
func (v *visitor) note() Entrance {
	e := v.Entrance
	e.PerSecond, e.P50, e.P99 = spread(v.rates), spread(v.p50), spread(v.p99)
	if v.platform != nil {
		cpu := spread(v.cpu)
		e.CPU, e.PerEvent = &cpu, float64(v.fixes)/float64(max(v.events, 1))
	}
	e.rates = slices.Clone(v.rates)
	return e
}

// doorRatios compares each door with the peer, and each policy with the first one at the same door.
func (r *Report) doorRatios() (all []results.Ratio) {
	add := func(a, b *Entrance) {
		all = append(all, results.Ratio{
			Goal: "track", Title: "acknowledged positions", Contender: a.name(), Base: b.name(), Metric: "ops_per_s",
			Spread: results.Within(a.rates, b.rates),
		})
	}
	for i := range r.Doors {
		for k := range r.Doors {
			a, b := &r.Doors[i], &r.Doors[k]
			if a.Policy == "" {
				continue
			}
			first := a.Policy != b.Policy && b.Policy == r.Doors[0].Policy
			if b.Policy == "" || a.Door == b.Door && first {
				add(a, b)
			}
		}
	}
	return all
}

// Summary is the form of the files of docs/results.
type Summary struct {
	results.Head
	Report *Report `json:"report"`
}

// Summary returns the report in the form of the files of docs/results.
func (r *Report) Summary() *Summary {
	s := &Summary{r.head, r}
	s.Ratios = append(s.Ratios, r.doorRatios()...)
	for _, x := range r.Ratios {
		s.Ratios = append(s.Ratios, results.Ratio{
			Goal: "track", Title: "positions in process", Contender: "process, " + x.Policy, Base: "process, " + x.Base, Metric: "ops_per_s",
			Spread: results.Spread{Median: x.Ratio.Median, Least: x.Ratio.Least, Most: x.Ratio.Most},
		})
	}
	return s
}
