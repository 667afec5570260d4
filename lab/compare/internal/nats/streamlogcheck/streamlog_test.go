// Package streamlogcheck holds the tests of a cluster's log with nats-server, which is no
// dependency of the product.
package streamlogcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"paddock/internal/platform/journal/streamlog"
	"paddock/lab/compare/internal/nats/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

var config = streamlog.Config{Stream: "PDK_LOG", Subject: "pdk.log", Copies: "pdk.copies"}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates a log in a cluster.
func create(t testing.TB, c *servers.Cluster) {
	t.Helper()
	with := config
	with.Replicas = len(c.Servers)
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	ok(t, streamlog.Create(ctx, c.Connect(), with))
}

// open returns a node's access to the log.
func open(t testing.TB, c *servers.Cluster) *streamlog.Log {
	t.Helper()
	l, err := streamlog.Open(t.Context(), c.Connect(), config)
	ok(t, err)
	return l
}

// claim makes a node the writer.
func claim(t testing.TB, l *streamlog.Log, node string) uint64 {
	t.Helper()
	sequence, err := l.Claim(t.Context(), node)
	ok(t, err)
	return sequence
}

// begin starts servers with a log, whose writer is node a.
func begin(t testing.TB, size int) (*servers.Cluster, *streamlog.Log) {
	t.Helper()
	c := servers.Start(t, size)
	create(t, c)
	l := open(t, c)
	claim(t, l, "a")
	return c, l
}

func add(t testing.TB, l *streamlog.Log, data []byte) (number, sequence uint64) {
	t.Helper()
	number, sequence, err := l.Append(t.Context(), data)
	ok(t, err)
	return number, sequence
}

var errEnough = errors.New("enough")

// read returns what lies behind a sequence, up to another one.
func read(t testing.TB, l *streamlog.Log, after, to uint64) (all []*streamlog.Entry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	err := l.Follow(ctx, after, func(e *streamlog.Entry) error {
		all = append(all, e)
		if e.Sequence >= to {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return all
}

// Entries of any size come out as they went in, with their numbers, from any place on.
func TestEntries(t *testing.T) {
	t.Parallel()
	c, l := begin(t, 1)
	if _, _, err := l.Append(t.Context(), make([]byte, streamlog.MaxEntry+1)); err == nil {
		t.Error("an entry is larger than readers take")
	}
	var want [][]byte
	var sequences []uint64
	for i, size := range []int{1, 0, 100, 512<<10 - 1, 512 << 10, 512<<10 + 1, 3 << 20, 7} {
		data := bytes.Repeat([]byte{byte('a' + i)}, size)
		number, sequence := add(t, l, data)
		if number != uint64(i)+1 {
			t.Errorf("entry %d has number %d", i, number)
		}
		clear(data) // the log has its own copy
		want, sequences = append(want, bytes.Repeat([]byte{byte('a' + i)}, size)), append(sequences, sequence)
	}
	newest := sequences[len(sequences)-1]
	for from := range sequences {
		after := uint64(0)
		if from > 0 {
			after = sequences[from-1]
		}
		got := read(t, open(t, c), after, newest)
		if from == 0 {
			if got[0].Node != "a" || got[0].Term != 1 {
				t.Errorf("the first message is %+v, and not the claim", got[0])
			}
			got = got[1:]
		}
		if len(got) != len(want)-from {
			t.Fatalf("%d entries behind %d, want %d", len(got), after, len(want)-from)
		}
		for i, e := range got {
			if e.Number != uint64(from+i)+1 || e.Sequence != sequences[from+i] || e.Term != 1 || !bytes.Equal(e.Data, want[from+i]) {
				t.Errorf("entry %d: number %d, sequence %d, %d bytes", from+i, e.Number, e.Sequence, len(e.Data))
			}
			if age := time.Since(e.Time); age < -time.Minute || age > servers.Patience {
				t.Errorf("entry %d was stored at %v", from+i, e.Time)
			}
		}
	}
	ok(t, l.Trim(t.Context(), sequences[4]+1))
	if got := read(t, open(t, c), sequences[4], newest); len(got) != 3 {
		t.Errorf("%d entries are left, want 3", len(got))
	}
	if err := open(t, c).Follow(t.Context(), 0, func(*streamlog.Entry) error { return nil }); !errors.Is(err, streamlog.ErrTrimmed) {
		t.Errorf("trimmed entries: error %v", err)
	}
	ok(t, l.Trim(t.Context(), 1<<40))
	next := open(t, c)
	claim(t, next, "b")
	if number, _ := add(t, next, []byte("x")); number != 9 {
		t.Errorf("after trimming everything the next entry is %d", number)
	}
}

// A node that takes long over entries asks for each of them once.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	c, l := begin(t, 1)
	var newest uint64
	for range 100 {
		_, newest = add(t, l, []byte("x"))
	}
	nc := c.Connect()
	requests, err := nc.SubscribeSync("$JS.API.DIRECT.GET." + config.Stream)
	ok(t, err)
	ok(t, nc.Flush())
	err = open(t, c).Follow(t.Context(), 0, func(e *streamlog.Entry) error {
		<-time.After(10 * time.Millisecond) // all of them: longer than the servers have for an answer
		if e.Sequence == newest {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	ok(t, nc.Flush())
	if n, _, err := requests.Pending(); n != 1 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
}

// A writer that was replaced adds nothing, and what it did not finish is never seen.
func TestReplaced(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 1)
	create(t, c)
	a, b := open(t, c), open(t, c)
	if _, _, err := a.Append(t.Context(), nil); !errors.Is(err, streamlog.ErrReplaced) {
		t.Errorf("without a claim: error %v", err)
	}
	claim(t, a, "same")
	add(t, a, []byte("1"))
	claim(t, b, "same") // as a node that was started again
	if _, _, err := a.Append(t.Context(), []byte("2")); !errors.Is(err, streamlog.ErrReplaced) {
		t.Errorf("after another claim: error %v", err)
	}
	if _, _, err := a.Append(t.Context(), []byte("2")); !errors.Is(err, streamlog.ErrReplaced) {
		t.Errorf("again: error %v", err)
	}
	_, sequence := add(t, b, []byte("3"))
	got := ""
	for _, e := range read(t, a, 0, sequence) {
		got += fmt.Sprintf("%d.%d%s%s ", e.Term, e.Number, e.Node, e.Data)
	}
	if want := "1.0same 1.11 2.1same 2.23 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// written is what a writer was told.
type written struct {
	number, sequence uint64
	data             string
}

// Two nodes become the writer in turn, while the servers of the stream are killed and stopped. Each
// acknowledged entry is in the log once, and every reader sees the same.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := servers.Start(t, 3)
	create(t, c)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	acknowledged := map[uint64]written{} // by sequence
	enough := make(chan struct{})        // is closed at the number of entries that the test wants
	const wanted = 1500
	var nodes sync.WaitGroup
	for _, node := range []string{"a", "b"} {
		l := open(t, c)
		nodes.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := l.Claim(ctx, node); err != nil {
					continue
				}
				for i := 0; i < 100 && ctx.Err() == nil; i++ {
					data := fmt.Sprintf("%s %d %d", node, n, i)
					number, sequence, err := l.Append(ctx, []byte(data))
					if err != nil {
						break
					}
					mu.Lock()
					if other, twice := acknowledged[sequence]; twice {
						t.Errorf("%q and %q have sequence %d", other.data, data, sequence)
					}
					acknowledged[sequence] = written{number, sequence, data}
					if len(acknowledged) == wanted {
						close(enough)
					}
					mu.Unlock()
				}
			}
		})
	}
	type seen struct {
		all []string
		err error
	}
	readers := make([]seen, 2)
	var newest uint64
	last := make(chan struct{})
	var reading sync.WaitGroup
	for i := range readers {
		l := open(t, c)
		reading.Go(func() {
			bounded, cancel := context.WithTimeout(t.Context(), servers.Patience)
			defer cancel()
			readers[i].err = l.Follow(bounded, 0, func(e *streamlog.Entry) error {
				readers[i].all = append(readers[i].all, fmt.Sprintf("%d %d %d %s %s", e.Sequence, e.Term, e.Number, e.Node, e.Data))
				select {
				case <-last:
					if e.Sequence >= newest {
						return errEnough
					}
				default:
				}
				return nil
			})
		})
	}
	admin := c.Connect()
	for round := range 4 {
		leader := -1
		for leader < 0 && ctx.Err() == nil {
			leader = c.LeaderOf(admin, config.Stream)
		}
		if round%2 == 0 {
			c.Kill(leader)
		} else {
			c.Freeze(leader)
		}
		before := count(&mu, acknowledged)
		for deadline := time.Now().Add(servers.Patience); count(&mu, acknowledged) < before+50; {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: nothing is acknowledged any more", round)
			}
			<-time.After(10 * time.Millisecond)
		}
		if round%2 == 0 {
			c.Run(leader)
		} else {
			c.Thaw(leader)
		}
	}
	select {
	case <-enough:
	case <-time.After(servers.Patience):
		t.Errorf("%d entries are acknowledged, want %d", count(&mu, acknowledged), wanted)
	}
	stop()
	nodes.Wait()
	final := open(t, c)
	_, err := final.Claim(t.Context(), "end")
	for errors.Is(err, streamlog.ErrReplaced) { // a message of a stopped writer has arrived meanwhile
		_, err = final.Claim(t.Context(), "end")
	}
	ok(t, err)
	_, newest, err = final.Append(t.Context(), []byte("the end"))
	ok(t, err)
	close(last)
	_, _, err = final.Append(t.Context(), []byte("for readers that had read the end before"))
	ok(t, err)
	reading.Wait()
	for i, r := range readers {
		if !errors.Is(r.err, errEnough) {
			t.Fatalf("reader %d: %v", i, r.err)
		}
	}
	whole := read(t, open(t, c), 0, newest)
	var want []string
	number, term := uint64(0), uint64(0)
	for _, e := range whole {
		want = append(want, fmt.Sprintf("%d %d %d %s %s", e.Sequence, e.Term, e.Number, e.Node, e.Data))
		switch {
		case e.Node != "" && (e.Term != term+1 || e.Number != number):
			t.Fatalf("claim %+v behind term %d and entry %d", e, term, number)
		case e.Node == "" && (e.Term != term || e.Number != number+1):
			t.Fatalf("entry %+v behind term %d and entry %d", e, term, number)
		}
		number, term = e.Number, e.Term
		if w, there := acknowledged[e.Sequence]; there {
			if w.number != e.Number || w.data != string(e.Data) {
				t.Errorf("entry %d: %q is stored, %q was acknowledged", e.Sequence, e.Data, w.data)
			}
			delete(acknowledged, e.Sequence)
		}
	}
	for _, w := range acknowledged {
		t.Errorf("acknowledged and lost: %+v", w)
	}
	for i, r := range readers {
		if n := min(len(r.all), len(want)); !slices.Equal(r.all[:n], want[:n]) || n < len(want) {
			t.Errorf("reader %d has seen %d entries, %d are stored, or others", i, len(r.all), len(want))
		}
	}
}

func count(mu *sync.Mutex, m map[uint64]written) int {
	mu.Lock()
	defer mu.Unlock()
	return len(m)
}
