// Package webbench holds the goals of bench web: `paddock web` beside nginx, each a
// process of its own under wrk, with the same files.
package webbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
)

// The peers.
const (
	ourPeer   = "paddock"
	nginxPeer = "nginx"
)

// Peers are the contenders.
var Peers = []harness.Listed{
	{Name: ourPeer, About: "paddock web, without a log of requests"},
	{Name: nginxPeer, About: "sendfile, cached descriptors, no log, a worker for each processor; left out where it is not installed"},
}

// longer makes a window ten times the usual one: wrk counts whole seconds.
const longer = 10

// sizes are those of the files, by operation: the original's; one that ours puts
// together with its head; one that net/http sends from memory; one that the kernel
// sends from the disk.
var sizes = map[measure.Operation]int{
	"3.5kB": webload.StaticBytes,
	"50kB":  50_000,
	"500kB": 500_000,
	"5MB":   5_000_000,
}

// Goals are the comparisons, in the order in which they run.
func Goals() []harness.Goal {
	return []harness.Goal{
		served("static-3.5kB", "3.5kB",
			harness.AtMost(ourPeer, nginxPeer, harness.ServerCPU, 1, 0), harness.AtLeast(ourPeer, nginxPeer, harness.OpsPerSecond, 0.9, 0)),
		served("static-50kB", "50kB"),
		served("static-500kB", "500kB"),
		served("static-5MB", "5MB"),
	}
}

func served(name string, op measure.Operation, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{
		Name: name, Title: fmt.Sprintf("a file of %s, wrk -t1 -c50", op), Metric: harness.OpsPerSecond, Base: nginxPeer, Fine: true,
		Longer: longer, Bars: bars, Contenders: harness.Contenders(op, "", ourPeer, nginxPeer),
	}
	g.Show("p50, p99 under full load", "%s, %s", harness.P50, harness.P99)
	return g
}

// Bench measures contenders. It belongs to one goroutine.
type Bench struct {
	Paddock string // the program paddock
	Nginx   string // the program nginx, looked for in PATH
	Wrk     string // the program wrk, likewise
	Dir     string // for temporary files
}

// Measure takes one turn.
func (b *Bench) Measure(ctx context.Context, t harness.Turn) (m *measure.Measurement, err error) {
	root := filepath.Join(b.Dir, "www")
	name := string(t.Contender.Operation) + ".html"
	if err := peers.WriteStatic(root, name, sizes[t.Contender.Operation]); err != nil {
		return nil, err
	}
	server, err := b.start(ctx, t.Contender.Peer, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return webload.Get(ctx, b.Wrk, b.Dir, server, "/"+name, "", t.Options)
}

func (b *Bench) start(ctx context.Context, peer, root string) (webload.Service, error) {
	if peer == nginxPeer {
		return webload.StartNginx(ctx, b.Nginx, root)
	}
	return process.StartWeb(ctx, b.Paddock, "--log", "none", root)
}
