package harness

import (
	"fmt"
	"slices"
	"strings"

	"paddock/bench/internal/drive"
)

// Metric is one figure of a sample.
type Metric string

const (
	OpsPerSecond   Metric = "ops_per_s"
	BytesPerSecond Metric = "bytes_per_s"
	P50            Metric = "p50_us"
	P99            Metric = "p99_us"
)

// Pin binds both processes of a measurement to one processor each, with one P.
// Left to itself, the kernel puts two processes that wake each other on one
// processor in one run and on two in the next, which makes a round trip of 8 us or
// of 80 us of the same code.
type Pin string

const (
	Apart    Pin = "apart"    // on two processors: each message wakes an idle one
	Together Pin = "together" // on the same: what the code itself takes
)

// Contender is one peer doing one operation.
type Contender struct {
	Name      string // unique within its goal
	Peer      string
	Operation drive.Operation
	TLS       bool
	Link      bool   // across the emulated link
	Cold      bool   // without a warm-up: what a connection takes to come to speed counts
	Pin       Pin    // where its processes run; "" as the kernel chooses
	Base      string // the contender that it is divided by; "" for the goal's, its own name for none
}

// Bar is what one contender must reach against another, as the median over the
// rounds of its figure divided by the other's.
type Bar struct {
	Contender string  `json:"contender"`
	Base      string  `json:"base"`
	Metric    Metric  `json:"metric"`
	Pass      float64 `json:"pass"`
	Stretch   float64 `json:"stretch,omitempty"` // what is hoped for; 0: no more than Pass
	AtMost    bool    `json:"at_most,omitempty"`
}

// Goal is one comparison: contenders that take turns, and the bars for ours.
type Goal struct {
	Name       string
	Title      string
	Metric     Metric
	Base       string
	Contenders []Contender
	Bars       []Bar
	Longer     int // how many times the usual duration its windows take; 0 is 1
}

// everybody are the peers that multiplex, ours first.
var everybody = []string{"wire", "grpc", "drpc", "yamux", "smux", "nats"}

// Goals returns the comparisons in the order in which they run.
func Goals() []Goal {
	return []Goal{
		{
			Name: "request", Title: "requests of 64 B, one connection, 100 in flight",
			Metric: OpsPerSecond, Base: "grpc",
			Contenders: contenders(drive.Requests, everybody...),
			Bars:       []Bar{{Contender: "wire", Base: "grpc", Metric: OpsPerSecond, Pass: 12, Stretch: 20}},
		},
		{
			Name: "roundtrip", Title: "requests of 64 B, one connection, one at a time",
			Metric: P50, Base: "raw",
			Contenders: contenders(drive.RoundTrip, append([]string{"raw"}, everybody...)...),
			Bars:       []Bar{{Contender: "wire", Base: "raw", Metric: P50, Pass: 1.25, Stretch: 1.08, AtMost: true}},
		},
		pinnedGoal("apart", Apart, "two processors"),
		pinnedGoal("together", Together, "one processor"),
		postGoal(),
		{
			Name: "bulk", Title: "one stream, writes of 64 KiB",
			Metric: BytesPerSecond, Base: "raw",
			Contenders: contenders(drive.Bulk, append([]string{"raw"}, everybody...)...),
			Bars:       []Bar{{Contender: "wire", Base: "raw", Metric: BytesPerSecond, Pass: 0.90, Stretch: 0.97}},
		},
		{
			Name: "tls", Title: "one stream, writes of 64 KiB, TLS 1.3",
			Metric: BytesPerSecond, Base: "raw",
			Contenders: overTLS(contenders(drive.Bulk, "raw", "wire", "grpc", "drpc", "yamux", "smux")),
			Bars:       []Bar{{Contender: "wire", Base: "raw", Metric: BytesPerSecond, Pass: 0.95, Stretch: 1.1}},
		},
		besideGoal(),
		wanGoal(),
	}
}

// pinnedGoal is the round trip with both processes bound. Its bar is that of
// roundtrip, in figures that stay.
func pinnedGoal(name string, pin Pin, where string) Goal {
	all := contenders(drive.RoundTrip, "raw", "wire", "drpc", "yamux", "smux")
	for i := range all {
		all[i].Pin = pin
	}
	return Goal{
		Name: name, Title: "requests of 64 B, one at a time, the processes bound to " + where,
		Metric: P50, Base: "raw", Contenders: all,
		Bars: []Bar{{Contender: "wire", Base: "raw", Metric: P50, Pass: 1.25, Stretch: 1.08, AtMost: true}},
	}
}

// postGoal has the bulk rate of raw TCP among its rounds, which is the limit of
// what any message could use of the socket.
func postGoal() Goal {
	posts := contenders(drive.Posts, everybody...)
	bulk := contenders(drive.Bulk, "raw")
	bulk[0].Name, bulk[0].Base = "raw bulk", "raw bulk" // writes do not compare with messages
	return Goal{
		Name: "post", Title: "one-way messages of 64 B from 100 goroutines, one connection",
		Metric: OpsPerSecond, Base: "grpc",
		Contenders: append(bulk, posts...),
		Bars: []Bar{
			{Contender: "wire", Base: "grpc", Metric: OpsPerSecond, Pass: 12},
			{Contender: "wire", Base: "raw bulk", Metric: BytesPerSecond, Pass: 0.25, Stretch: 0.45},
		},
	}
}

// besideGoal divides each peer by itself, without the bulk streams.
func besideGoal() Goal {
	var all []Contender
	for _, peer := range []string{"wire", "grpc", "yamux", "smux"} {
		alone := Contender{Name: peer + " alone", Peer: peer, Operation: drive.Paced}
		loaded := Contender{Name: peer, Peer: peer, Operation: drive.Beside, Base: alone.Name}
		all = append(all, alone, loaded)
	}
	return Goal{
		Name: "beside", Title: fmt.Sprintf("requests of 64 B at %.0f/s beside %d bulk streams on the same connection",
			1/drive.Pace.Seconds(), drive.BulkStreams),
		Metric: P99, Contenders: all,
		Bars: []Bar{{Contender: "wire", Base: "wire alone", Metric: P99, Pass: 3, AtMost: true}},
	}
}

// wanGoal has the bar on what a stream carries once its window has grown, and
// shows what it carries from its first byte on.
func wanGoal() Goal {
	all := contenders(drive.Bulk, "raw", "wire", "grpc", "drpc", "yamux", "smux")
	for _, peer := range []string{"raw", "wire", "grpc"} {
		all = append(all, Contender{
			Name: peer + " from cold", Peer: peer, Operation: drive.Bulk, Cold: true, Base: "raw from cold",
		})
	}
	for i := range all {
		all[i].Link = true
	}
	return Goal{
		Name: "wan", Title: "one stream, writes of 64 KiB, across 1 Gbit/s with a round trip of 50 ms",
		Metric: BytesPerSecond, Base: "raw", Contenders: all,
		Bars:   []Bar{{Contender: "wire", Base: "raw", Metric: BytesPerSecond, Pass: 0.90, Stretch: 0.95}},
		Longer: 3,
	}
}

func contenders(op drive.Operation, names ...string) []Contender {
	all := make([]Contender, len(names))
	for i, name := range names {
		all[i] = Contender{Name: name, Peer: name, Operation: op}
	}
	return all
}

func overTLS(all []Contender) []Contender {
	for i := range all {
		all[i].TLS = true
	}
	return all
}

// Select returns the goals named in only, and of them the contenders whose peers
// are named in names. Empty lists select everything.
func Select(goals []Goal, only, names []string) ([]Goal, error) {
	var known []string
	var selected []Goal
	for _, g := range goals {
		known = append(known, g.Name)
		if len(only) > 0 && !slices.Contains(only, g.Name) {
			continue
		}
		if len(names) > 0 {
			g.Contenders = slices.DeleteFunc(slices.Clone(g.Contenders), func(c Contender) bool {
				return !slices.Contains(names, c.Peer)
			})
		}
		selected = append(selected, g)
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no goal %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return selected, nil
}

// base returns the name of the contender that c is divided by; its own if none.
func (g *Goal) base(c Contender) string {
	if c.Base != "" {
		return c.Base
	}
	return g.Base
}
