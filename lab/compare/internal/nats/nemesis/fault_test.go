package nemesis

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// fault is what is done to the cluster. It is over when run returns.
type fault struct {
	name string
	run  func(*site, time.Duration) // hold is how long it lasts
}

// faults are all faults.
var faults = []fault{
	{"kill -9 of the leader", func(s *site, hold time.Duration) { s.down(s.awaitLeader(), hold, s.kill) }},
	{"kill -9 of a follower", func(s *site, hold time.Duration) { s.down(s.follower(), hold, s.kill) }},
	{"SIGTERM to the leader", func(s *site, hold time.Duration) { s.down(s.awaitLeader(), hold, s.end) }},
	{"SIGTERM to a follower", func(s *site, hold time.Duration) { s.down(s.follower(), hold, s.end) }},
	{"kill -9 of all nodes", func(s *site, hold time.Duration) {
		for _, n := range s.nodes {
			s.kill(n)
		}
		<-time.After(hold)
		for _, n := range s.nodes {
			s.run(n)
		}
	}},
	{"SIGSTOP of the leader, and SIGCONT once another one leads", func(s *site, hold time.Duration) {
		n := s.awaitLeader()
		s.freeze(n)
		s.await("another leader", func() bool { l := s.leader(); return l != nil && l != n })
		<-time.After(hold)
		s.thaw(n)
	}},
	{wrongClock, func(s *site, hold time.Duration) { s.mistime(s.follower(), hold) }},
	{"SIGSTOP of a follower", func(s *site, hold time.Duration) {
		n := s.follower()
		s.freeze(n)
		<-time.After(hold)
		s.thaw(n)
	}},
	{"kill -9 of the stream's server", func(s *site, hold time.Duration) { s.serverDown(s.streamLeader(), hold, s.servers.Kill) }},
	{"kill -9 of another server", func(s *site, hold time.Duration) { s.serverDown(s.otherServer(), hold, s.servers.Kill) }},
	{"SIGTERM to the stream's server", func(s *site, hold time.Duration) { s.serverDown(s.streamLeader(), hold, s.servers.End) }},
	{"SIGSTOP of the stream's server", func(s *site, hold time.Duration) {
		i := s.streamLeader()
		s.servers.Freeze(i)
		<-time.After(hold)
		s.servers.Thaw(i)
	}},
	{"kill -9 of all servers", func(s *site, hold time.Duration) {
		for i := range s.servers.Servers {
			s.servers.Kill(i)
		}
		<-time.After(hold / 2)
		for i := range s.servers.Servers {
			s.servers.Run(i)
		}
	}},
	{"the stream's server cut off from the other servers", func(s *site, hold time.Duration) {
		s.cut(s.linksOf(serverName(s.streamLeader()), isServer), true, true, hold)
	}},
	{"a server cut off from the other servers one way", func(s *site, hold time.Duration) {
		name := serverName(s.random.IntN(3))
		links := s.linksOf(name, isServer)
		out := s.random.IntN(2) == 0 // what it sends is held back, or what it is sent
		for _, l := range links {
			l.set((l.from == name) == out, (l.from != name) == out, 0)
		}
		<-time.After(hold)
		s.open(links)
	}},
	{"the leader cut off from the servers", func(s *site, hold time.Duration) {
		s.cut(s.linksOf(s.awaitLeader().name, isServer), true, true, hold)
	}},
	{"the leader hears nothing from the servers", func(s *site, hold time.Duration) {
		s.cut(s.linksOf(s.awaitLeader().name, isServer), false, true, hold)
	}},
	{"the servers hear nothing from the leader", func(s *site, hold time.Duration) {
		s.cut(s.linksOf(s.awaitLeader().name, isServer), true, false, hold)
	}},
	{"a follower cut off from the servers", func(s *site, hold time.Duration) {
		s.cut(s.linksOf(s.follower().name, isServer), true, true, hold)
	}},
	{"slow links", func(s *site, hold time.Duration) {
		for _, l := range s.links {
			l.set(false, false, time.Duration(s.random.IntN(40))*time.Millisecond)
		}
		<-time.After(hold)
		s.open(s.links)
	}},
	{"kill -9 of a follower, whose journal loses its end", func(s *site, hold time.Duration) {
		n := s.follower()
		s.kill(n)
		s.tear(n)
		<-time.After(hold)
		s.run(n)
	}},
	{fullDisk, func(s *site, hold time.Duration) {
		file := filepath.Join(s.serverDir(fullServer), "filling")
		s.fill(file)
		<-time.After(hold)
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
		s.serverDown(fullServer, hold/4, s.servers.Kill) // it does not go on by itself
	}},
	{"SIGSTOP of all servers for longer than nodes wait", func(s *site, hold time.Duration) {
		for i := range s.servers.Servers {
			s.servers.Freeze(i)
		}
		<-time.After(17*time.Second + hold)
		for i := range s.servers.Servers {
			s.servers.Thaw(i)
		}
	}},
	{"SIGTERM to the leader while all servers are away", func(s *site, hold time.Duration) {
		n := s.awaitLeader()
		for i := range s.servers.Servers {
			s.servers.Freeze(i)
		}
		s.end(n)
		for i := range s.servers.Servers {
			s.servers.Thaw(i)
		}
		s.run(n)
	}},
}

// fixed are the faults that every run of the tests has.
var fixed = []string{
	"kill -9 of the leader", "SIGSTOP of the leader, and SIGCONT once another one leads", "kill -9 of the stream's server",
	"the leader cut off from the servers", "SIGTERM to the leader", "kill -9 of all servers",
}

func faultOf(name string) fault {
	return faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })]
}

// down ends a node for a while.
func (s *site) down(n *node, hold time.Duration, end func(*node)) {
	end(n)
	<-time.After(hold)
	s.run(n)
}

// serverDown ends a server for a while.
func (s *site) serverDown(i int, hold time.Duration, end func(int)) {
	end(i)
	<-time.After(hold)
	s.servers.Run(i)
}

// otherServer returns a server that does not lead the stream.
func (s *site) otherServer() int { return (s.streamLeader() + 1 + s.random.IntN(2)) % 3 }

// cut cuts links for a while.
func (s *site) cut(links []*link, forth, back bool, hold time.Duration) {
	for _, l := range links {
		l.set(forth, back, 0)
	}
	<-time.After(hold)
	s.open(links)
}

func (s *site) open(links []*link) {
	for _, l := range links {
		l.set(false, false, 0)
	}
}

// effect is what a fault has done to the acknowledgements.
type effect struct {
	fault string
	took  time.Duration // until every writer was acknowledged again
	pause time.Duration // the longest one without any acknowledgement
	worst time.Duration // the longest one of a writer
}

// inflict runs a fault, and waits until all writers are acknowledged again.
func (s *site) inflict(f fault, hold time.Duration, writers []*writer) effect {
	s.t.Helper()
	begun := time.Now()
	f.run(s, hold)
	over := time.Now()
	for _, w := range writers {
		s.await("an acknowledgement after: "+f.name, func() bool { return len(w.since(over)) > 0 })
	}
	e := effect{fault: f.name, took: time.Since(over)}
	var all []time.Time
	for _, w := range writers {
		own := w.since(begun)
		e.worst = max(e.worst, longest(begun, own))
		all = append(all, own...)
	}
	slices.SortFunc(all, time.Time.Compare)
	e.pause = longest(begun, all)
	return e
}

// longest returns the longest time between two of these, or before the first one.
func longest(begun time.Time, all []time.Time) (pause time.Duration) {
	for _, t := range all {
		pause = max(pause, t.Sub(begun))
		begun = t
	}
	return pause
}

// kinds returns effects by their faults, which are in the order of their first ones.
func kinds(effects []effect) (names []string, by map[string][]effect) {
	by = map[string][]effect{}
	for _, e := range effects {
		if len(by[e.fault]) == 0 {
			names = append(names, e.fault)
		}
		by[e.fault] = append(by[e.fault], e)
	}
	return names, by
}

// table writes the worst effects of each kind of fault.
func table(out io.Writer, effects []effect) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\ttimes\tlongest pause\tof one writer\tuntil all go on again\t")
	names, by := kinds(effects)
	for _, name := range names {
		var most effect
		for _, e := range by[name] {
			most.pause, most.worst, most.took = max(most.pause, e.pause), max(most.worst, e.worst), max(most.took, e.took)
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f s\t%.1f s\t%.1f s\t\n", name, len(by[name]), most.pause.Seconds(), most.worst.Seconds(), most.took.Seconds())
	}
	_ = w.Flush() // to a buffer, or the terminal
}

// percentiles writes the pauses of each kind of fault.
func percentiles(out io.Writer, effects []effect) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\ttimes\tpause p50\tp99\tof one writer p50\tp99\t")
	names, by := kinds(effects)
	for _, name := range names {
		var pauses, worst []time.Duration
		for _, e := range by[name] {
			pauses, worst = append(pauses, e.pause), append(worst, e.worst)
		}
		fmt.Fprintf(w, "%s\t%d", name, len(pauses))
		for _, all := range [][]time.Duration{pauses, worst} {
			slices.Sort(all)
			fmt.Fprintf(w, "\t%.2f s\t%.2f s", all[(len(all)-1)/2].Seconds(), all[(99*len(all)-1)/100].Seconds())
		}
		fmt.Fprintln(w, "\t")
	}
	_ = w.Flush() // to the terminal
}
