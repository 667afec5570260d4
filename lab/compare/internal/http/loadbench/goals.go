package loadbench

import (
	"fmt"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webbench"
)

// The peers.
const (
	ourPeer   = "paddock"
	wrkPeer   = "wrk"
	abPeer    = "ab"
	heyPeer   = "hey"
	ohaPeer   = "oha"
	barePeer  = "bare"
	nginxPeer = "nginx"
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
	{Name: nginxPeer, About: "beside paddock web"},
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
	opPoisson  measure.Operation = "Anderson-Darling"
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
		return harness.Bar{Contender: ourPeer, Base: wrkPeer, Metric: m, Pass: pass, Stretch: stretch, AtMost: true}
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
		{
			Name: "poisson", Title: "100 seeds whose arrivals pass the test of Anderson and Darling at 5 %", Metric: harness.Passed, Within: true, Once: true,
			Contenders: []harness.Contender{{Name: ourPeer, Peer: ourPeer, Operation: opPoisson}},
			Bars:       []harness.Bar{{Contender: ourPeer, Metric: harness.Passed, Pass: 95}},
		},
		truthGoal(),
		web(),
	}
}

// generators is a load by several programs.
func generators(name, title string, op measure.Operation, pin harness.Pin, peers []string, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{
		Name: name, Title: title, Metric: harness.ClientCPU, Base: wrkPeer, Fine: true, Bars: bars,
		AlsoTitle: "user, per second, memory",
	}
	for _, peer := range peers {
		g.Contenders = append(g.Contenders, harness.Contender{Name: peer, Peer: peer, Operation: op, Pin: pin})
	}
	also(&g, harness.UserCPU, harness.OpsPerSecond, harness.Resident)
	return g
}

// also shows metrics in the last column.
func also(g *harness.Goal, metrics ...harness.Metric) {
	for i := range g.Contenders {
		g.Contenders[i].Also = func(median func(harness.Metric) string) (text string) {
			for j, m := range metrics {
				if j > 0 {
					text += ", "
				}
				text += median(m)
			}
			return text
		}
	}
}

// postGoal compares with wrk and a script as people write it, which makes each request when
// it is sent. Beside it is wrk with a script that has made all of them before.
func postGoal() harness.Goal {
	const script, rendered = "wrk, script", "wrk, made before"
	g := generators("post", "POST of 37,290 bodies in turns, 50 connections; a processor for each side", opPost, harness.Apart,
		[]string{ourPeer, wrkPeer, wrkPeer}, harness.Bar{Contender: ourPeer, Base: script, Metric: harness.UserCPU, Pass: 0.5, Stretch: 0.35, AtMost: true})
	g.Base = script
	g.Contenders[1].Name, g.Contenders[1].Operation = script, opFormat
	g.Contenders[2].Name = rendered
	return g
}

// publishGoal is messages to a NATS server, each of which it confirms.
func publishGoal() harness.Goal {
	g := generators("publish", fmt.Sprintf("PUB of %d B over one connection; a processor for each side", publishBytes), opPublish, harness.Apart,
		[]string{ourPeer, natsPeer, bufioPeer},
		harness.Bar{Contender: ourPeer, Base: natsPeer, Metric: harness.ClientCPU, Pass: 0.67, Stretch: 0.33, AtMost: true},
		harness.Bar{Contender: ourPeer, Base: bufioPeer, Metric: harness.ClientCPU, Pass: 1, Stretch: 0.77, AtMost: true})
	g.Base = natsPeer
	return g
}

// reportGoal compares the cost of a run that shows itself and writes all of its files, while it
// goes on: without the report at its end.
func reportGoal() harness.Goal {
	const quiet, reported = "quiet", "reported"
	g := harness.Goal{
		Name: "report", Title: "the run alone, quiet or with the live view on a terminal and --out", Metric: harness.ClientCPU, Base: quiet, Fine: true,
		AlsoTitle: "user, per second, memory",
		Contenders: []harness.Contender{
			{Name: quiet, Peer: ourPeer, Operation: opQuiet, Pin: harness.Apart},
			{Name: reported, Peer: ourPeer, Operation: opReported, Pin: harness.Apart},
		},
		Bars: []harness.Bar{{Contender: reported, Base: quiet, Metric: harness.ClientCPU, Pass: 1.03, Stretch: 1.01, AtMost: true}},
	}
	also(&g, harness.UserCPU, harness.OpsPerSecond, harness.Resident)
	return g
}

// memoryGoal is one long run.
func memoryGoal() harness.Goal {
	g := harness.Goal{
		Name: "memory", Title: "POST of 37,290 bodies for --memory", Metric: harness.Resident, Once: true, Fine: true,
		AlsoTitle:  "growth behind the first quarter, per second",
		Contenders: []harness.Contender{{Name: ourPeer, Peer: ourPeer, Operation: opMemory}},
		Bars: []harness.Bar{
			{Contender: ourPeer, Metric: harness.Resident, Pass: 64e6, AtMost: true},
			{Contender: ourPeer, Metric: harness.Growth, Pass: 1e6, AtMost: true},
		},
	}
	also(&g, harness.Growth, harness.OpsPerSecond)
	return g
}

// pacingGoal compares the lags of requests, beside the lag of the machine itself.
func pacingGoal() harness.Goal {
	const hybrid = "hybrid"
	g := harness.Goal{
		Name: "pacing", Title: "lag at 10,000/s; a processor for each side", Metric: harness.P99, Base: barePeer,
		AlsoTitle: "p50, p99.9, rate error",
		Contenders: []harness.Contender{
			{Name: hybrid, Peer: ourPeer, Operation: opHybrid, Pin: harness.Apart},
			{Name: "sleep", Peer: ourPeer, Operation: opSleep, Pin: harness.Apart},
			{Name: "spin", Peer: ourPeer, Operation: opSpin, Pin: harness.Apart},
			{Name: barePeer, Peer: barePeer, Operation: opBare, Pin: harness.Apart},
		},
	}
	for _, b := range []struct {
		m    harness.Metric
		pass float64
	}{{harness.RateError, 0.01}, {harness.P50, 5}, {harness.P99, 50}, {harness.P999, 200}} {
		g.Bars = append(g.Bars, harness.Bar{Contender: hybrid, Metric: b.m, Pass: b.pass, AtMost: true})
	}
	also(&g, harness.P50, harness.P999, harness.RateError)
	return g
}

// truthGoal compares reports about a service that stands still at times. The true times of its
// users are known.
func truthGoal() harness.Goal {
	const known = "known"
	g := harness.Goal{
		Name: "truth", Title: "percentiles of a service that stands still for a tenth of the time, " + frozenText, Metric: harness.P99, Base: known,
		Once: true, AlsoTitle: "p50, p90, p99.9",
		Contenders: []harness.Contender{
			{Name: known, Peer: ourPeer, Operation: opTruth},
			{Name: ourPeer, Peer: ourPeer, Operation: opFrozen},
			{Name: wrkPeer, Peer: wrkPeer, Operation: opFrozen},
			{Name: abPeer, Peer: abPeer, Operation: opFrozen},
			{Name: heyPeer, Peer: heyPeer, Operation: opFrozen},
			{Name: ohaPeer, Peer: ohaPeer, Operation: opFrozen},
			{Name: "oha, corrected", Peer: ohaPeer, Operation: opCorrect},
		},
	}
	// Of two requests that follow one another the truth differs by 0.9 ms. That is 4 % of
	// the p90, and less than 1 % of these.
	for _, m := range []harness.Metric{harness.P99, harness.P999} {
		g.Bars = append(g.Bars,
			harness.Bar{Contender: ourPeer, Base: known, Metric: m, Pass: 0.99},
			harness.Bar{Contender: ourPeer, Base: known, Metric: m, Pass: 1.01, AtMost: true})
	}
	also(&g, harness.P50, harness.P90, harness.P999)
	return g
}

// web is bench-web's first goal.
func web() harness.Goal {
	g := webbench.Goals()[0]
	g.Longer = 1
	return g
}

// turnTime is the length of a window for programs that count whole seconds.
func turnTime(o measure.Options) time.Duration {
	return max(o.Duration.Round(time.Second), time.Second)
}
