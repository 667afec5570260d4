package ingest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// noted is a follower that keeps the objects of positions.
type noted struct {
	mu      sync.Mutex
	objects map[string]int
}

func (n *noted) Applied(_ uint64, _ track.Millis, batches [][]track.Position) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range batches {
		for i := range b {
			n.objects[b[i].ID]++
		}
	}
}

func (n *noted) Committed(uint64, []events.Record) {}

// A follower is told nothing of objects that were refused, and once there is no room, neither is
// the journal.
func TestRefusedObjectsAreNotKept(t *testing.T) {
	const limit, sent = 640, 3200
	log, follower := journal.NewMemory(), &noted{objects: map[string]int{}}
	p, _ := openOn(t, Config{Track: track.Options{MaxObjects: limit}, Follower: follower}, log, nil)
	p.Start(&published{})
	defer p.Close(context.Background())
	send := func(first, n int) Result {
		t.Helper()
		b := &Batch{}
		for i := range sent {
			b.Positions = append(b.Positions, fix(fmt.Sprint("v", first+i), n))
		}
		r, err := p.Submit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := send(0, 0)
	if first.Full == 0 || first.Accepted+first.Full != sent || len(follower.objects) != first.Accepted {
		t.Errorf("%d accepted, %d full, %d told", first.Accepted, first.Full, len(follower.objects))
	}
	for i := 0; p.partitions[0].objects.Load() < int64(p.cfg.Track.MaxObjects) || i < 5; i++ { // until all are full
		send(sent*(i+2), 0)
	}
	known, _ := p.Counts()
	_, before := log.Bounds()
	again, other := send(0, 1), send(sent, 0)
	if again.Accepted != first.Accepted || again.Full != first.Full || other.Full+other.Accepted != sent {
		t.Errorf("%+v, %+v", again, other)
	}
	if n, _ := p.Counts(); n != known+other.Accepted || len(follower.objects) != n {
		t.Errorf("%d objects, %d told, %d before", n, len(follower.objects), known)
	}
	stored := 0
	if err := log.Records(before+1, func(_ uint64, record []byte) error {
		_, positions, err := Positions(record)
		stored += len(positions)
		return err
	}); err != nil {
		t.Error(err)
	}
	if stored != again.Accepted+other.Accepted {
		t.Errorf("%d positions are stored, %d were accepted", stored, again.Accepted+other.Accepted)
	}
	verify(t, Config{}, log)

	copied, at := &noted{objects: map[string]int{}}, journal.NewMemory()
	replica, _ := openOn(t, Config{Replica: true, Track: track.Options{MaxObjects: limit}, Follower: copied}, at, nil)
	if err := log.Records(1, replica.Replicate); err != nil {
		t.Error(err)
	}
	if !maps.Equal(copied.objects, follower.objects) {
		t.Errorf("the follower of a replica was told of %d objects, want %d", len(copied.objects), len(follower.objects))
	}
}
