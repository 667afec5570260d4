package tunnelbench

import (
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/internal/scenario/tunneled"
)

// The peers.
const (
	directPeer  = "nginx"
	ratholePeer = "rathole"
	sshPeer     = "ssh"
	ourPeer     = "paddock"
)

// Peers are the contenders.
var Peers = []harness.Listed{
	{Name: directPeer, About: "no tunnel: the service behind all of them"},
	{Name: ratholePeer, About: "TCP, plain, or over TLS or Noise; looked for in PATH, --rathole FILE"},
	{Name: sshPeer, About: "ssh -R to an sshd of its own; looked for in PATH"},
	{Name: ourPeer, About: "paddock tunnel serve, with tunnel tcp or tunnel http"},
}

// The contenders, by the programs between a visitor and nginx.
const (
	direct       = "nginx alone"
	rathole      = "rathole, plain"
	ratholeTLS   = "rathole, TLS"
	ratholeNoise = "rathole, Noise"
	ssh          = "ssh -R"
	ourPlain     = "paddock tcp, plain"
	ourTCP       = "paddock tcp, TLS"
	ourDirect    = "paddock tcp, plain, direct"
	ourDirectTLS = "paddock tcp, TLS, direct"
	ourHTTP      = "paddock http, TLS"
)

// peerOf is the peer of each contender.
var peerOf = map[string]string{
	direct: directPeer, rathole: ratholePeer, ratholeTLS: ratholePeer, ratholeNoise: ratholePeer, ssh: sshPeer,
	ourPlain: ourPeer, ourTCP: ourPeer, ourHTTP: ourPeer, ourDirect: ourPeer, ourDirectTLS: ourPeer,
}

// usual is the file of most goals, that of the original benchmarks of a server.
const usual = "3.5kB"

// bulk is a file for which direct channels are made.
const bulk = "1MiB"

// patient is appended to an operation with one connection that asks again when it is answered.
const patient = ", one connection"

// The bounds of a request over the HTTP front: 57 us where nginx alone takes 8, and so many
// requests in the time of one of nginx.
const (
	frontCost = 57.0 / 8
	frontRate = 0.22
)

// Goals are the comparisons, in the order in which they run.
func Goals() []harness.Goal {
	below := func(name, base string, pass, stretch float64) harness.Bar {
		return harness.AtMost(name, base, harness.ServerCPU, pass, stretch)
	}
	goals := []harness.Goal{
		goal("tcp", "TCP over a plain link, "+usual+", 50 connections", usual, rathole,
			[]string{rathole, ourPlain, ourTCP}, below(ourPlain, rathole, 1, 0.7)),
		goal("tls", "TCP over an encrypted link, "+usual+", 50 connections", usual, ratholeTLS,
			[]string{ratholeTLS, ratholeNoise, ssh, ourTCP},
			below(ourTCP, ratholeTLS, 0.5, 0.4), below(ourTCP, ratholeNoise, 0.5, 0.4), below(ourTCP, ssh, 0.5, 0.4)),
		goal("http", "the HTTP front over TLS, "+usual+", 50 connections", usual, direct, []string{direct, ourHTTP},
			harness.AtLeast(ourHTTP, direct, harness.OpsPerSecond, frontRate, 0.35),
			below(ourHTTP, direct, frontCost, 26.0/8)),
		latency(),
	}
	goals = append(goals, goal("direct", "TCP by channels of their own, "+bulk+", 50 connections", bulk, rathole,
		[]string{rathole, ratholeTLS, ourPlain, ourTCP, ourDirect, ourDirectTLS}, below(ourDirect, rathole, 1, 0.7)))
	for _, size := range tunneled.Sizes() {
		if size != usual {
			goals = append(goals, goal("size-"+size, size+", 50 connections", measure.Operation(size), rathole,
				[]string{direct, rathole, ratholeTLS, ourTCP, ourHTTP}))
		}
	}
	return goals
}

// goal is a load on several tunnels.
func goal(name, title string, op measure.Operation, base string, contenders []string, bars ...harness.Bar) harness.Goal {
	g := harness.Goal{Name: name, Title: title, Metric: harness.ServerCPU, Base: base, Fine: true, Bars: bars}
	for _, c := range contenders {
		g.Contenders = append(g.Contenders, harness.Contender{Name: c, Peer: peerOf[c], Operation: op})
	}
	g.Show("per second, p50, p99, memory of both", "%s, %s, %s, %s", harness.OpsPerSecond, harness.P50, harness.P99, harness.Resident)
	return g
}

// latency compares the time that a tunnel adds for a single visitor.
func latency() harness.Goal {
	g := goal("latency", usual+" for one connection: the time that a tunnel adds", usual+patient, direct, []string{direct, rathole, ratholeTLS, ssh, ourTCP, ourHTTP})
	g.Metric = harness.P50
	return g
}
