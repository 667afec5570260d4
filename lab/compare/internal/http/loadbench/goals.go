package loadbench

import (
	"fmt"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
)

// The peers.
const (
	ourPeer   = "paddock"
	wrkPeer   = "wrk"
	abPeer    = "ab"
	heyPeer   = "hey"
	ohaPeer   = "oha"
	barePeer  = "bare"
	natsPeer  = "nats.go"
	bufioPeer = "bufio"
)

// Peers are the contenders.
var Peers = []harness.Listed{
	{Name: ourPeer, About: "paddock bench http -q --json, a thread; the process with its start and its report"},
	{Name: wrkPeer, About: "-t1; its scripts make requests before the run where they can"},
	{Name: abPeer, About: "-k; a thread is all it has"},
	{Name: heyPeer, About: "-z; processors as the kernel lets it"},
	{Name: ohaPeer, About: "--no-tui; processors as the kernel lets it"},
	{Name: barePeer, About: "a loop that sleeps until 60 us before, spins for the rest and sends nothing: the machine's own lag"},
	{Name: natsPeer, About: "its Publish in a loop, to paddock bus, as ours"},
	{Name: bufioPeer, About: "one rendered message in a loop through bufio, as the NATS server's Go benchmarks publish"},
}

// The operations.
const (
	opNull     measure.Operation = "GET"
	opNginx    measure.Operation = "GET of nginx"
	opPost     measure.Operation = "POST"
	opPublish  measure.Operation = "PUB"
	opFormat   measure.Operation = "POST, made when it is sent"
	opPipeline measure.Operation = "GET, pipelined"
	opQuiet    measure.Operation = "GET, quiet"
	opReported measure.Operation = "GET, reported"
	opMemory   measure.Operation = "memory"
	opHybrid   measure.Operation = "pace hybrid"
	opSleep    measure.Operation = "pace sleep"
	opSpin     measure.Operation = "pace spin"
	opBare     measure.Operation = "pace of a bare loop"
	opTruth    measure.Operation = "what should be said"
	opFrozen   measure.Operation = "what is said"
	opCorrect  measure.Operation = "what is said, corrected"
)

// The size of a load.
const (
	conns    = 50
	depth    = 16
	pacing   = 10_000 // requests a second
	paceFrom = 64     // connections of a paced run: no request waits for one
)

// Goals are the comparisons, in the order in which they run.
func Goals() []harness.Goal {
	versus := func(m harness.Metric, pass, stretch float64) harness.Bar {
		return harness.AtMost(ourPeer, wrkPeer, m, pass, stretch)
	}
	static := []harness.Bar{versus(harness.ClientCPU, 1.05, 0.95), versus(harness.UserCPU, 0.7, 0.5)}
	all := []string{ourPeer, wrkPeer, abPeer, heyPeer, ohaPeer}
	return []harness.Goal{
		generators("get", "GET, 150 B, 50 connections; a processor for each side", opNull, harness.Apart, all, static...),
		generators("get-free", "the same, where the kernel puts them", opNull, "", all),
		generators("get-nginx", "GET of nginx, 3.5 kB, 50 connections; a processor for each side", opNginx, harness.Apart, all, static...),
		postGoal(),
		generators("pipeline", fmt.Sprintf("GET, 150 B, 50 connections, %d requests deep; a processor for each side", depth), opPipeline, harness.Apart,
			[]string{ourPeer, wrkPeer}, versus(harness.ClientCPU, 0.8, 0.5)),
		reportGoal(),
		memoryGoal(),
		publishGoal(),
		pacingGoal(),
		truthGoal(),
	}
}

// generators is a load by several programs.
func generators(name, title string, op measure.Operation, pin harness.Pin, peers []string, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{
		Name: name, Title: title, Metric: harness.ClientCPU, Base: wrkPeer, Fine: true, Bars: bars,
		Contenders: harness.Contenders(op, pin, peers...),
	}
	showUse(&g)
	return g
}

// showUse shows the use of resources in the last column.
func showUse(g *harness.Goal) {
	g.Show("user, per second, memory", "%s, %s, %s", harness.UserCPU, harness.OpsPerSecond, harness.Resident)
}

// postGoal compares with wrk and a script as people write it, which makes each request when
// it is sent. Beside it is wrk with a script that has made all of them before.
func postGoal() harness.Goal {
	const script, rendered = "wrk, script", "wrk, made before"
	g := generators("post", "POST of 37,290 bodies in turns, 50 connections; a processor for each side", opPost, harness.Apart,
		[]string{ourPeer, wrkPeer, wrkPeer}, harness.AtMost(ourPeer, script, harness.UserCPU, 0.5, 0.35))
	g.Base = script
	g.Contenders[1].Name, g.Contenders[1].Operation = script, opFormat
	g.Contenders[2].Name = rendered
	return g
}

// publishGoal is messages to a NATS server, each of which it confirms.
func publishGoal() harness.Goal {
	g := generators("publish", fmt.Sprintf("PUB of %d B over one connection; a processor for each side", publishBytes), opPublish, harness.Apart,
		[]string{ourPeer, natsPeer, bufioPeer},
		harness.AtMost(ourPeer, natsPeer, harness.ClientCPU, 0.67, 0.33), harness.AtMost(ourPeer, bufioPeer, harness.ClientCPU, 1, 0.77))
	g.Base = natsPeer
	return g
}

// reportGoal compares the cost of a run that shows itself and writes all of its files, while it
// goes on: without the report at its end.
func reportGoal() harness.Goal {
	const quiet, reported = "quiet", "reported"
	g := harness.Goal{
		Name: "report", Title: "the run alone, quiet or with the live view on a terminal and --out", Metric: harness.ClientCPU, Base: quiet, Fine: true,
		Contenders: []harness.Contender{
			{Name: quiet, Peer: ourPeer, Operation: opQuiet, Pin: harness.Apart},
			{Name: reported, Peer: ourPeer, Operation: opReported, Pin: harness.Apart},
		},
		Bars: []harness.Bar{harness.AtMost(reported, quiet, harness.ClientCPU, 1.03, 1.01)},
	}
	showUse(&g)
	return g
}

// memoryGoal is one long run.
func memoryGoal() harness.Goal {
	g := harness.Goal{
		Name: "memory", Title: "POST of 37,290 bodies for --memory", Metric: harness.Resident, Once: true, Fine: true,
		Contenders: harness.Contenders(opMemory, "", ourPeer),
		Bars:       []harness.Bar{harness.AtMost(ourPeer, "", harness.Resident, 64e6, 0), harness.AtMost(ourPeer, "", harness.Growth, 1e6, 0)},
	}
	g.Show("growth behind the first quarter, per second", "%s, %s", harness.Growth, harness.OpsPerSecond)
	return g
}

// pacingGoal compares the lags of requests, beside the lag of the machine itself.
func pacingGoal() harness.Goal {
	const hybrid = "hybrid"
	g := harness.Goal{
		Name: "pacing", Title: "lag at 10,000/s; a processor for each side", Metric: harness.P99, Base: barePeer,
		Contenders: []harness.Contender{
			{Name: hybrid, Peer: ourPeer, Operation: opHybrid, Pin: harness.Apart},
			{Name: "sleep", Peer: ourPeer, Operation: opSleep, Pin: harness.Apart},
			{Name: "spin", Peer: ourPeer, Operation: opSpin, Pin: harness.Apart},
			{Name: barePeer, Peer: barePeer, Operation: opBare, Pin: harness.Apart},
		},
	}
	g.Bars = []harness.Bar{
		harness.AtMost(hybrid, "", harness.RateError, 0.01, 0), harness.AtMost(hybrid, "", harness.P50, 5, 0),
		harness.AtMost(hybrid, "", harness.P99, 50, 0), harness.AtMost(hybrid, "", harness.P999, 200, 0),
	}
	g.Show("p50, p99.9, rate error", "%s, %s, %s", harness.P50, harness.P999, harness.RateError)
	return g
}

// truthGoal compares reports about a service that stands still at times. The true times of its
// users are known.
func truthGoal() harness.Goal {
	const known = "known"
	g := harness.Goal{
		Name: "truth", Title: "percentiles of a service that stands still for a tenth of the time, " + frozenText, Metric: harness.P99, Base: known,
		Once: true, Contenders: []harness.Contender{{Name: known, Peer: ourPeer, Operation: opTruth}},
	}
	g.Contenders = append(g.Contenders, harness.Contenders(opFrozen, "", ourPeer, wrkPeer, abPeer, heyPeer, ohaPeer)...)
	g.Contenders = append(g.Contenders, harness.Contender{Name: "oha, corrected", Peer: ohaPeer, Operation: opCorrect})
	// Of two requests that follow one another the truth differs by 0.9 ms. That is 4 % of
	// the p90, and less than 1 % of these.
	for _, m := range []harness.Metric{harness.P99, harness.P999} {
		g.Bars = append(g.Bars, harness.AtLeast(ourPeer, known, m, 0.99, 0), harness.AtMost(ourPeer, known, m, 1.01, 0))
	}
	g.Show("p50, p90, p99.9", "%s, %s, %s", harness.P50, harness.P90, harness.P999)
	return g
}

// turnTime is the length of a window for programs that count whole seconds.
func turnTime(o measure.Options) time.Duration {
	return max(o.Duration.Round(time.Second), time.Second)
}
