// Package wirebench holds the goals of bench wire, and measures its contenders:
// each with a server's process of its own, which is the program itself again.
package wirebench

import (
	"fmt"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/drive"
	"paddock/lab/compare/internal/wire/peers"
)

// Peers lists the contenders.
func Peers() (all []harness.Listed) {
	for _, p := range peers.All() {
		all = append(all, harness.Listed{Name: p.Name, About: p.About})
	}
	return all
}

// Goals returns the comparisons in the order in which they run.
func Goals() []harness.Goal {
	goals := []harness.Goal{
		{
			Name: "request", Title: "requests of 64 B, one connection, 100 in flight",
			Metric: harness.OpsPerSecond, Base: "grpc",
			Contenders: harness.Contenders(drive.Requests, "", "wire", "grpc"),
			Bars:       []harness.Bar{harness.AtLeast("wire", "grpc", harness.OpsPerSecond, 12, 20)},
		},
		{
			Name: "roundtrip", Title: "requests of 64 B, one connection, one at a time",
			Metric: harness.P50, Base: "raw",
			Contenders: harness.Contenders(drive.RoundTrip, "", "raw", "wire", "grpc"),
			Bars:       []harness.Bar{harness.AtMost("wire", "raw", harness.P50, 1.25, 1.08)},
		},
		pinnedGoal("apart", harness.Apart, "two processors"),
		pinnedGoal("together", harness.Together, "one processor"),
		postGoal(),
		{
			Name: "bulk", Title: "one stream, writes of 64 KiB",
			Metric: harness.BytesPerSecond, Base: "raw",
			Contenders: harness.Contenders(drive.Bulk, "", "raw", "wire", "grpc"),
			Bars:       []harness.Bar{harness.AtLeast("wire", "raw", harness.BytesPerSecond, 0.90, 0.97)},
		},
		{
			Name: "tls", Title: "one stream, writes of 64 KiB, TLS 1.3",
			Metric: harness.BytesPerSecond, Base: "raw",
			Contenders: overTLS(harness.Contenders(drive.Bulk, "", "raw", "wire", "grpc")),
			Bars:       []harness.Bar{harness.AtLeast("wire", "raw", harness.BytesPerSecond, 0.95, 1.1)},
		},
		besideGoal(),
	}
	for i := range goals {
		g := &goals[i]
		g.AlsoTitle = alsoTitle(g.Metric)
		for j := range g.Contenders {
			g.Contenders[j].Also = also(g.Metric, g.Contenders[j].Operation)
		}
	}
	return goals
}

// also returns the function that writes the second figure of a contender: the latencies where the
// first is a rate, the rate of the streams where it is a latency beside them.
func also(m harness.Metric, op measure.Operation) func(median func(harness.Metric) string) string {
	switch {
	case op == drive.Posts || op == drive.Bulk:
		return harness.Columns("%s", harness.BytesPerSecond)
	case op == drive.Requests:
		return harness.Columns("%s / %s", harness.P50, harness.P99)
	case op == drive.Beside:
		return harness.Columns("%s, streams %s", harness.P50, harness.BytesPerSecond)
	case m == harness.P50:
		return harness.Columns("%s", harness.P99)
	}
	return harness.Columns("%s", harness.P50)
}

func alsoTitle(m harness.Metric) string {
	switch m {
	case harness.P50:
		return "p99"
	case harness.P99:
		return "p50"
	case harness.BytesPerSecond:
		return "payload"
	}
	return "p50 / p99, or payload"
}

// pinnedGoal is the round trip with both processes bound. Its bar is that of
// roundtrip, in figures that stay.
func pinnedGoal(name string, pin harness.Pin, where string) harness.Goal {
	return harness.Goal{
		Name: name, Title: "requests of 64 B, one at a time, the processes bound to " + where,
		Metric: harness.P50, Base: "raw", Contenders: harness.Contenders(drive.RoundTrip, pin, "raw", "wire", "grpc"),
		Bars: []harness.Bar{harness.AtMost("wire", "raw", harness.P50, 1.25, 1.08)},
	}
}

// postGoal has the bulk rate of raw TCP among its rounds, which bounds the rate of any message over
// the socket.
func postGoal() harness.Goal {
	posts := harness.Contenders(drive.Posts, "", "wire", "grpc")
	bulk := harness.Contenders(drive.Bulk, "", "raw")
	bulk[0].Name, bulk[0].Base = "raw bulk", "raw bulk" // writes do not compare with messages
	return harness.Goal{
		Name: "post", Title: "one-way messages of 64 B from 100 goroutines, one connection",
		Metric: harness.OpsPerSecond, Base: "grpc",
		Contenders: append(bulk, posts...),
		Bars: []harness.Bar{
			harness.AtLeast("wire", "grpc", harness.OpsPerSecond, 12, 0),
			harness.AtLeast("wire", "raw bulk", harness.BytesPerSecond, 0.25, 0.45),
		},
	}
}

// besideGoal divides each peer by itself, without the bulk streams.
func besideGoal() harness.Goal {
	var all []harness.Contender
	for _, peer := range []string{"wire", "grpc"} {
		alone := harness.Contender{Name: peer + " alone", Peer: peer, Operation: drive.Paced}
		loaded := harness.Contender{Name: peer, Peer: peer, Operation: drive.Beside, Base: alone.Name}
		all = append(all, alone, loaded)
	}
	return harness.Goal{
		Name: "beside", Title: fmt.Sprintf("requests of 64 B at %.0f/s beside %d bulk streams on the same connection",
			1/drive.Pace.Seconds(), drive.BulkStreams),
		Metric: harness.P99, Contenders: all,
		Bars: []harness.Bar{harness.AtMost("wire", "wire alone", harness.P99, 3, 0)},
	}
}

func overTLS(all []harness.Contender) []harness.Contender {
	for i := range all {
		all[i].TLS = true
	}
	return all
}
