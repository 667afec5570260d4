package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

// sharedLog is the log of some nodes in memory, and the values that go with it.
type sharedLog struct {
	mu      sync.Mutex // guards the fields below, and what each member has applied
	records [][]byte
	values  [][]journal.Value // before the record of the same index
}

// member is a node: a pipeline on a journal of its own, which follows the shared log.
type member struct {
	*Pipeline
	log     *sharedLog
	journal *journal.Memory
	catalog *fence.Catalog
	pub     *published
	applied int // of the log
}

// shared is the journal of a leader's views: values go to the log of all nodes.
type shared struct {
	journal.Journal
	log *sharedLog
}

func (s shared) Put(values ...journal.Value) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	at := len(s.log.records)
	for len(s.log.values) <= at {
		s.log.values = append(s.log.values, nil)
	}
	for _, v := range values {
		s.log.values[at] = append(s.log.values[at], journal.Value{Name: v.Name, Bytes: bytes.Clone(v.Bytes)})
	}
	return s.Journal.Put(values...)
}

func newMember(t *testing.T, log *sharedLog, r *rand.Rand) *member {
	t.Helper()
	m := &member{log: log, journal: journal.NewMemory(), pub: &published{}}
	m.open(t, r)
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

// open opens the pipeline, as a replica, on what the node's journal holds.
func (m *member) open(t *testing.T, r *rand.Rand) {
	t.Helper()
	m.catalog = &fence.Catalog{}
	fences, err := views.Open(views.Options{Catalog: m.catalog, Journal: shared{m.journal, m.log}, Replicated: true})
	if err != nil {
		t.Fatal(err)
	}
	m.Pipeline, err = Open(t.Context(), Config{
		Workers: 1 + r.IntN(3), Track: track.Options{TTL: time.Duration(1+r.IntN(3)) * time.Minute, Initial: track.InitialEnter},
		CheckpointEvery: 10, Journal: m.journal, Fences: fences, Replica: true,
		Append: func(record []byte) (uint64, error) {
			m.log.mu.Lock()
			defer m.log.mu.Unlock()
			m.log.records = append(m.log.records, bytes.Clone(record))
			m.applied++
			return m.journal.Append(record)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(m.pub)
}

// behind returns the number of records that the member has not applied.
func (m *member) behind() int {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	return len(m.log.records) - m.applied
}

// follow applies a number of records that it has not applied.
func (m *member) follow(t *testing.T, count int) {
	t.Helper()
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	to := m.applied + count
	for ; m.applied < to; m.applied++ {
		if m.applied < len(m.log.values) && len(m.log.values[m.applied]) > 0 {
			if err := m.journal.Put(m.log.values[m.applied]...); err != nil {
				t.Fatal(err)
			}
		}
		record := m.log.records[m.applied]
		number, err := m.journal.Append(record)
		if err == nil {
			err = m.Replicate(number, record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplicas plays random inputs to the leader of three nodes, which another one replaces now and
// then, and which are opened again now and then. All have the same state, sets and events in the
// end, with the same cursors, and each has published every event of the time that it was up, once.
func TestReplicas(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) { playReplicas(t, rand.New(rand.NewPCG(seed, 9))) })
	}
}

func playReplicas(t *testing.T, r *rand.Rand) {
	log := &sharedLog{}
	nodes := []*member{newMember(t, log, r), newMember(t, log, r), newMember(t, log, r)}
	leader := nodes[0]
	leader.Lead()
	addSet(t, leader.catalog, "zone", unitSquare("a", 0))
	addSet(t, leader.catalog, "s", overlapping(1+r.IntN(6))...)
	sent, squares := 0, 0
	for range 500 {
		switch what := r.IntN(20); {
		case what < 12:
			b := &Batch{Handled: &Handled{Session: [16]byte{byte(r.IntN(5))}, Epoch: 1, Count: uint64(sent)}}
			for range 1 + r.IntN(60) {
				sent++
				q := fix(fmt.Sprint("v", r.IntN(100)), r.IntN(2))
				q.Time = track.MillisOf(time.Now()) + track.Millis(sent)
				b.Positions = append(b.Positions, q)
			}
			if _, err := leader.Submit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		case what == 12:
			squares++
			switch name := fmt.Sprint("n", squares%3); r.IntN(3) {
			case 0:
				leader.catalog.Remove(name)
			default:
				leader.catalog.Remove(name)
				addSet(t, leader.catalog, name, unitSquare(fmt.Sprint("k", squares%4), 0))
			}
			if err := leader.Settle(); err != nil {
				t.Fatal(err)
			}
		case what == 13:
			if _, err := leader.Remove("", fmt.Sprint("v", r.IntN(100))); err != nil {
				t.Fatal(err)
			}
		case what == 14:
			time.Sleep(time.Duration(r.IntN(90)) * time.Second)
		case what == 15: // another leader
			synctest.Wait()
			old := leader
			for leader == old {
				leader = nodes[r.IntN(len(nodes))]
			}
			old.role.Store(int32(Replica))
			leader.follow(t, leader.behind())
			leader.Lead()
		case what == 16: // a replica starts again
			n := nodes[r.IntN(len(nodes))]
			if n == leader {
				continue
			}
			old := n.Pipeline
			if r.IntN(2) == 0 { // or it ends without a chance to save anything
				old.Close(t.Context())
			}
			n.journal = n.journal.Clone() // that the old one does not write
			n.open(t, r)
			old.Close(t.Context())
		default:
			n := nodes[r.IntN(len(nodes))]
			n.follow(t, r.IntN(1+n.behind()))
		}
	}
	synctest.Wait()
	leader.Refuse("the end") // so that it makes no more records
	synctest.Wait()
	for _, n := range nodes {
		n.follow(t, n.behind())
	}
	want, wantEvents := states(t, leader.Pipeline), stored(t, leader.journal)
	if len(wantEvents) < 1000 {
		t.Fatalf("%d events", len(wantEvents))
	}
	for i, n := range nodes {
		if got := states(t, n.Pipeline); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("node %d has another state than the leader", i)
		}
		if got := stored(t, n.journal); !slices.Equal(got, wantEvents) {
			at := 0
			for at < min(len(got), len(wantEvents)) && got[at] == wantEvents[at] {
				at++
			}
			t.Errorf("node %d has %d events, the leader %d, or others; event %d is\n%s\nand not\n%s", i, len(got), len(wantEvents), at, got[at:min(at+1, len(got))], wantEvents[at:min(at+1, len(wantEvents))])
		}
		if got, want := n.catalog.Names(), leader.catalog.Names(); !slices.Equal(got, want) {
			t.Errorf("node %d has the sets %q, the leader %q", i, got, want)
		}
	}
}

// What a replica cannot do is refused, and a record that is not the next one too.
func TestAReplicaRefuses(t *testing.T) {
	log := &sharedLog{}
	r := rand.New(rand.NewPCG(1, 2))
	a, b := newMember(t, log, r), newMember(t, log, r)
	if _, err := a.Remove("", "v"); !errors.Is(err, ErrReplica) {
		t.Errorf("remove: %v", err)
	}
	if err := a.Settle(); !errors.Is(err, ErrReplica) {
		t.Errorf("settle: %v", err)
	}
	b.Lead()
	for range 2 {
		if _, err := b.Submit(t.Context(), &Batch{Positions: []track.Position{fix("v", 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []uint64{0, 2} {
		if err := a.Replicate(number, log.records[0]); err == nil {
			t.Errorf("record %d is taken for the first one", number)
		}
	}
	if err := a.Replicate(1, log.records[0][:5]); err == nil {
		t.Error("half a record is taken")
	}
	if err := b.Replicate(3, log.records[0]); err == nil {
		t.Error("the leader takes a record")
	}
	if err := a.Replicate(1, log.records[0]); err != nil {
		t.Error(err)
	}
}

// The first records of a leader, which hold no view, give the same states again.
func TestVerifyWithoutView(t *testing.T) {
	m := newMember(t, &sharedLog{}, rand.New(rand.NewPCG(1, 2)))
	m.Lead()
	for n := range 20 {
		submit(t, m.Pipeline, &Batch{Positions: []track.Position{fix(fmt.Sprint("v", n%3), n)}})
	}
	if v := verify(t, Config{}, m.journal); v.Checkpoints == 0 {
		t.Errorf("no state was compared: %+v", v)
	}
}
