package fencebench

import (
	"paddock/fence"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
)

// The peers.
const (
	ourPeer   = "paddock"
	golangGeo = "golang/geo"
	tidwall   = "tidwall"
	nginxPeer = "nginx"
)

// Peers are the contenders.
var Peers = []harness.Listed{
	{Name: ourPeer, About: "every kind of index, its defaults; over HTTP paddock fence"},
	{Name: golangGeo, About: "s2.ShapeIndex and ContainsPointQuery, one for the goroutine; edges are great circles"},
	{Name: tidwall, About: "tidwall/rtree over tidwall/geojson's polygons with their own index, as Tile38"},
	{Name: nginxPeer, About: "a file of 3.5 kB, a worker for each processor; left out where it is not installed"},
}

// The kind whose figures the bars are about.
const leading = string(fence.KindCellmap)

// readersAlone is the contender of the edits that makes none.
const readersAlone = "readers alone"

// The operations.
const (
	opLookUp   measure.Operation = "look-up"
	opCold     measure.Operation = "cold look-up"
	opBatch    measure.Operation = "batch"
	opBuild    measure.Operation = "build"
	opMemory   measure.Operation = "memory"
	opFile     measure.Operation = "file"
	opSnapshot measure.Operation = "snapshot"
	opEdit     measure.Operation = "edit"
	opAlone    measure.Operation = "no edit"
	opPost     measure.Operation = "POST"
	opGet      measure.Operation = "GET"
	opEngarde  measure.Operation = "engarde"
	opOpenPost measure.Operation = "POST on a schedule"
)

// httpLonger is how many times as long as another's a window of wrk is: it counts
// whole seconds.
const httpLonger = 10

// Goals returns the comparisons, in the order in which they run: the latencies last, because they
// run at half the rate that nginx has reached before.
func Goals() []harness.Goal {
	atMost := func(m harness.Metric, pass, stretch float64) harness.Bar {
		return harness.AtMost(leading, "", m, pass, stretch)
	}
	return []harness.Goal{
		timed("look-up-buses", "one look-up, vehicles on their streets", opLookUp, kinds(), others(),
			atMost(harness.NanosPerOp, 40, 20),
			harness.AtLeast(golangGeo, leading, harness.NanosPerOp, 15, 37), harness.AtLeast(tidwall, leading, harness.NanosPerOp, 20, 0)),
		timed("look-up-uniform", "one look-up, anywhere in the set's box", opLookUp, kinds(), others()),
		timed("look-up-adversarial", "one look-up, on vertices and edges and a float beside them", opLookUp, kinds(), others()),
		shown(timed("look-up-cold", "one look-up of a vehicle after a walk through 64 MB", opCold, kinds(), others()), harness.P50, harness.P99),
		timed("batch-buses", "look-ups of 1,024 vehicles at once, per point", opBatch, kinds(), nil,
			atMost(harness.NanosPerOp, 25, 10)), // 40 and 100 million a second
		shown(timed("build", "index of rings that have been read", opBuild, kinds(), others(),
			atMost(harness.Millis, 30, 10)), harness.Millis),
		shown(timed("memory", "geometry, index and keys, by ring edge", opMemory, kinds(), others(),
			atMost(harness.EdgeBytes, 64, 40)), harness.EdgeBytes),
		shown(timed("file", "GeoJSON file to set", opFile, []string{leading}, nil,
			atMost(harness.Millis, 80, 30)), harness.Millis),
		shown(timed("snapshot", "snapshot file to set", opSnapshot, []string{leading}, nil,
			atMost(harness.Millis, 10, 0)), harness.Millis),
		editGoal(atMost(harness.P50, 1000, 100), atMost(harness.P99, 1000, 0), atMost(harness.Stall, 1000, 0),
			harness.AtMost(leading, readersAlone, harness.Stall, 1.5, 0)),
		served("http-post", "POST searches, wrk -t1 -c50, 37,290 bodies", opPost, kinds(),
			harness.AtLeast(leading, nginxPeer, harness.OpsPerSecond, 0.9, 0), harness.AtMost(leading, nginxPeer, harness.ServerCPU, 1.1, 0)),
		served("http-get", "GET search, wrk -t1 -c50", opGet, []string{leading}),
		served("http-engarde", "GET /engarde, wrk -t1 -c50", opEngarde, []string{leading}),
		openGoal(atMost(harness.P99, 1000, 0)),
	}
}

// kinds are all of ours, the leading one first.
func kinds() []string {
	names := []string{leading}
	for _, k := range fence.Kinds() {
		if string(k) != leading && k != fence.KindAuto {
			names = append(names, string(k))
		}
	}
	return names
}

func others() []string { return []string{golangGeo, tidwall} }

// timed is a goal within this process, whose figure is nanoseconds.
func timed(name, title string, op measure.Operation, ours, theirs []string, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{Name: name, Title: title, Metric: harness.NanosPerOp, Base: leading, Within: true, Bars: bars}
	for _, c := range ours {
		g.Contenders = append(g.Contenders, harness.Contender{Name: c, Peer: ourPeer, Operation: op})
	}
	g.Contenders = append(g.Contenders, harness.Contenders(op, "", theirs...)...)
	if op == opLookUp {
		g.Show("allocations", "%s", harness.AllocsPerOp)
	}
	return g
}

// shown makes another figure the goal's, and adds one beside it.
func shown(g harness.Goal, m harness.Metric, beside ...harness.Metric) harness.Goal {
	g.Metric = m
	if len(beside) > 0 {
		g.Show(string(beside[0][:3]), "%s", beside[0])
	}
	return g
}

// editGoal has the readers alone beside the edits: the stalls of the machine itself.
func editGoal(bars ...harness.Bar) harness.Goal {
	g := harness.Goal{
		Name: "edit", Title: "replace one fence while readers look up", Metric: harness.Stall, Within: true, Bars: bars,
		Contenders: []harness.Contender{
			{Name: leading, Peer: ourPeer, Operation: opEdit},
			{Name: readersAlone, Peer: ourPeer, Operation: opAlone},
		},
		Longer: 3,
	}
	g.Show("replace p50, p99, max; stall p99.9; look-up", "%s, %s, %s; %s; %s",
		harness.P50, harness.P99, harness.Slowest, harness.StallP999, harness.NanosPerOp)
	return g
}

// served is `paddock fence` of some kinds beside nginx.
func served(name, title string, op measure.Operation, ours []string, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{
		Name: name, Title: title, Metric: harness.OpsPerSecond, Base: nginxPeer, Fine: true,
		Longer: httpLonger, Bars: bars,
	}
	for _, kind := range ours {
		g.Contenders = append(g.Contenders, harness.Contender{Name: kind, Peer: ourPeer, Operation: op})
	}
	g.Contenders = append(g.Contenders, harness.Contender{Name: nginxPeer, Peer: nginxPeer, Operation: op})
	g.Show("p50, p99 under full load", "%s, %s", harness.P50, harness.P99)
	return g
}

// openGoal is latency on a schedule.
func openGoal(bars ...harness.Bar) harness.Goal {
	g := served("http-latency", "POST searches at half of nginx's maximum, from the intended times", opOpenPost, []string{leading}, bars...)
	g.Metric = harness.P99
	g.Show("p50, p99.9, per second", "%s, %s, %s", harness.P50, harness.P999, harness.OpsPerSecond)
	return g
}
