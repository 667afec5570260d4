// Package nemesis inflicts faults on a cluster of platforms and nats-servers, all of them processes
// of this machine, while clients write, change and read, and judges what they were told.
package nemesis

import (
	"context"
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/lab/compare/internal/nats/servers"
)

var (
	lasting = flag.Duration("for", 0, "how long TestNemesis inflicts faults at random; 0 = it is skipped")
	seeded  = flag.Uint64("seed", 0, "which faults TestNemesis inflicts; 0 = others each time")
	kills   = flag.Int("kills", 0, "how often TestPauses inflicts each of its faults; 0 = it is skipped")
	objects = flag.Int("objects", 0, "how many more objects the nodes of TestPauses have")
	kept    = flag.String("dir", "", "where data and logs of TestNemesis stay; a directory that is empty or not there")
	only    = flag.String("only", "", "TestNemesis inflicts only faults whose name contains this")
)

func TestMain(m *testing.M) { servers.Main(m) }

// clients are what use the cluster meanwhile.
type clients struct {
	writers []*writer
	changer *changer
	readers []*reader
	seen    *history

	writing, reading sync.WaitGroup
	stop             chan struct{}
	stopReading      context.CancelFunc
}

// load starts clients.
func (s *site) load(seed uint64) *clients {
	s.prepare()
	c := &clients{stop: make(chan struct{}), seen: &history{seed: maphash.MakeSeed()}}
	for i := range 6 {
		w := &writer{site: s, name: fmt.Sprintf("w%d", i+1), node: i % len(s.nodes), random: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		w.door = s.door(i)
		for k := range 4 {
			w.objects = append(w.objects, fmt.Sprintf("%s-%d", w.name, k))
		}
		c.writers = append(c.writers, w)
		c.writing.Go(func() { w.run(s.t.Context(), c.stop) })
	}
	c.changer = &changer{site: s, random: rand.New(rand.NewPCG(seed, 100))}
	c.writing.Go(func() { c.changer.run(s.t.Context(), c.stop) })
	ctx, cancel := context.WithCancel(s.t.Context())
	c.stopReading = cancel
	for i := range 3 {
		r := &reader{site: s, name: fmt.Sprint(i + 1), random: rand.New(rand.NewPCG(seed, uint64(i)+200)), seen: c.seen}
		c.readers = append(c.readers, r)
		c.reading.Go(func() { r.run(ctx) })
	}
	s.t.Cleanup(func() { cancel(); c.reading.Wait(); c.writing.Wait() })
	return c
}

// door returns one of the doors in turns.
func (s *site) door(i int) door {
	switch i % 3 {
	case 0:
		return newHTTPDoor()
	case 1:
		return &busDoor{}
	}
	d, err := newWireDoor()
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// finish lets the clients finish, and judges.
func (s *site) finish(c *clients) {
	close(c.stop)
	c.writing.Wait()
	c.stopReading()
	c.reading.Wait()
	s.check(c.writers, c.changer, c.seen, c.readers)
}

// Whatever happens to nodes and servers: an acknowledged position or change is there, once and in
// its order, and all nodes have the same events under the same cursors, and the same state.
func TestFixedFaults(t *testing.T) {
	s := newSite(t, 1, 2)
	c := s.load(1)
	var effects []effect
	for _, name := range fixed {
		effects = append(effects, s.inflict(faultOf(name), 2*time.Second, c.writers))
	}
	s.finish(c)
	var b strings.Builder
	table(&b, effects)
	t.Log("\n" + b.String())
}

// TestNemesis is TestFixedFaults for as long as is asked for, with faults at random.
func TestNemesis(t *testing.T) {
	if *lasting == 0 {
		t.Skip("-for is not set")
	}
	seed := *seeded
	if seed == 0 {
		seed = rand.Uint64()
	}
	fmt.Printf("seed %d\n", seed)
	s := newSite(t, seed, 3)
	var chosen []fault
	s.buildFalse()
	for _, f := range faults {
		if strings.Contains(f.name, *only) && (f.name != fullDisk || s.small) {
			chosen = append(chosen, f)
		}
	}
	c := s.load(seed)
	var effects []effect
	for end := time.Now().Add(*lasting); time.Now().Before(end) && !t.Failed(); {
		f := chosen[s.random.IntN(len(chosen))]
		hold := time.Duration(s.random.IntN(4000)) * time.Millisecond
		e := s.inflict(f, hold, c.writers)
		fmt.Printf("%s  %s for %.1f s: pause %.1f s, of one writer %.1f s\n", time.Now().Format(time.TimeOnly), f.name, hold.Seconds(), e.pause.Seconds(), e.worst.Seconds())
		effects = append(effects, e)
		<-time.After(time.Duration(s.random.IntN(1000)) * time.Millisecond)
	}
	s.finish(c)
	table(os.Stdout, effects)
	if !t.Failed() {
		fmt.Println("everything that was acknowledged is there, and all nodes are the same")
	}
}

// measured are the faults of TestPauses.
var measured = []string{
	"kill -9 of the leader", "SIGTERM to the leader", "SIGSTOP of the leader, and SIGCONT once another one leads",
	"kill -9 of the stream's server", "SIGTERM to the stream's server",
}

// TestPauses measures how long nothing is acknowledged after each of a few faults.
func TestPauses(t *testing.T) {
	if *kills == 0 {
		t.Skip("-kills is not set")
	}
	s := newSite(t, 1, 3)
	s.populate(*objects)
	c := s.load(1)
	var effects []effect
	for _, name := range measured {
		for range *kills {
			if !strings.Contains(name, *only) {
				break
			}
			effects = append(effects, s.inflict(faultOf(name), 2*time.Second, c.writers))
			s.await("all nodes", s.allAlive)
			<-time.After(2 * time.Second)
		}
	}
	percentiles(os.Stdout, effects)
	s.finish(c)
}
