// Package busbench holds the goals of bench bus, and measures its contenders: a
// broker's own program, started as a process for each turn, under a load that is
// the same for every one.
package busbench

import (
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/nats/natsload"
)

// The peers.
const (
	Ours      = "paddock"
	Reference = "nats-server"

	// noStall is nats-server with no_fast_producer_stall.
	noStall = "nats-server-no-stall"
)

// Peers are the contenders' servers. Both run with their defaults.
var Peers = []harness.Listed{
	{Name: Ours, About: "paddock bus, its defaults"},
	{Name: Reference, About: "nats-server " + referenceVersion + ", its defaults"},
	{Name: noStall, About: "the same with no_fast_producer_stall, in the goal " + stalledName},
}

// referenceVersion is that of lab/compare/go.mod; a test compares them.
const referenceVersion = "v2.15.2"

// Goals returns the comparisons in the order in which they run.
func Goals(pin harness.Pin) []harness.Goal {
	var goals []harness.Goal
	for _, op := range operations() {
		switch op.name {
		case unstalledName, tenName:
			continue // they run beside the goal that they are the base of
		case stalledName:
			goals = append(goals, stalledGoal(op))
		default:
			goals = append(goals, goalOf(op))
		}
	}
	for i := range goals {
		for j := range goals[i].Contenders {
			goals[i].Contenders[j].Pin = pin
		}
	}
	return goals
}

// goalOf is ours against nats-server.
func goalOf(op operation) harness.Goal {
	g := harness.Goal{Name: op.name, Title: op.title, Metric: metricOf(op), Base: Reference, Fine: true, Bars: bars(op.name)}
	for _, peer := range []string{Ours, Reference} {
		g.Contenders = append(g.Contenders, contender(peer, op.name))
	}
	show(&g)
	return g
}

func contender(peer, op string) harness.Contender {
	return harness.Contender{Name: peer, Peer: peer, Operation: measure.Operation(op)}
}

func metricOf(op operation) harness.Metric {
	switch op.load.(type) {
	case natsload.Requests:
		return harness.P50
	}
	if op.name == "subjects-1m" {
		return harness.OpsPerSecond
	}
	return harness.ServerCPU
}

// show sets the last column.
func show(g *harness.Goal) {
	switch g.Metric {
	case harness.P50:
		g.Show("p99, p99.9, per second", "%s, %s, %s", harness.P99, harness.P999, harness.OpsPerSecond)
	case harness.OpsPerSecond: // the processor times say the rest
	default:
		g.Show("per second", "%s", harness.OpsPerSecond)
	}
}

// stalledGoal divides each server by itself without the stalled subscribers. It also shows the cost
// of two more subscribers that do read: a server without a processor to spare delivers less to each
// of ten than to each of eight. Its windows are long enough for a stalled subscriber to be
// disconnected and to come again twice in each.
func stalledGoal(op operation) harness.Goal {
	g := harness.Goal{
		Name: op.name, Title: op.title, Metric: harness.OpsPerSecond, Fine: true, Longer: 6,
		Bars: []harness.Bar{harness.AtLeast(Ours, Ours+" unstalled", harness.OpsPerSecond, 0.95, 0.99)},
	}
	for _, peer := range []string{Ours, Reference, noStall} {
		alone, ten, beside := contender(peer, unstalledName), contender(peer, tenName), contender(peer, stalledName)
		alone.Name += " unstalled"
		ten.Name += " ten reading"
		ten.Base, beside.Base = alone.Name, alone.Name
		g.Contenders = append(g.Contenders, alone, ten, beside)
	}
	show(&g)
	return g
}

// bars returns the bars of ours against nats-server.
func bars(name string) []harness.Bar {
	switch name {
	case "publish-16", "one-to-one-16", "fan-out-8":
		return []harness.Bar{harness.AtMost(Ours, Reference, harness.ServerCPU, 0.33, 0.2)}
	case "one-to-one-128":
		return []harness.Bar{harness.AtMost(Ours, Reference, harness.ServerCPU, 0.33, 0.25)}
	case "four-to-one", "queue-4":
		return []harness.Bar{harness.AtMost(Ours, Reference, harness.ServerCPU, 0.4, 0.2)}
	case "request-1", "request-50":
		return []harness.Bar{harness.AtMost(Ours, Reference, harness.P50, 0.75, 0.6), harness.AtMost(Ours, Reference, harness.P99, 0.6, 0.4)}
	case "subjects-1m":
		return []harness.Bar{harness.AtLeast(Ours, Reference, harness.OpsPerSecond, 2.5, 4)}
	}
	return nil
}
