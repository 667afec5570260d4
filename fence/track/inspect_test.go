package track_test

import (
	"fmt"
	"sync"
	"testing"

	"paddock/fence/track"
)

// TestQueriesSideBySide asks for objects in different fences from several goroutines: each answer
// has the fence of its object.
func TestQueriesSideBySide(t *testing.T) {
	const objects = 16
	w := newWorld(t, track.Options{})
	steady, err := track.ParsePolicy("steady")
	if err != nil {
		t.Fatal(err)
	}
	w.policy = &steady
	for i := range objects {
		if _, _, err := w.set.Put(square(fmt.Sprint("a", i), float64(i), 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	w.edit(w.view(), 0)
	for i := range objects {
		id := fmt.Sprint("o", i)
		w.shard.Apply(at(id, 1, float64(i)+0.5, 0.9999), nil)
		w.shard.Apply(at(id, 2, float64(i)+0.5, 1.000_01), nil) // a pending exit
	}
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for k := range 400 {
				i := (k + g) % objects
				o, ok := w.shard.Get("f", fmt.Sprint("o", i))
				if !ok || len(o.Fences) != 1 || o.Fences[0].Fence.Key != fmt.Sprint("a", i) {
					t.Errorf("object %d is in %v", i, o.Fences)
					return
				}
				if len(o.Pending) != 1 || o.Pending[0].Enter {
					t.Errorf("object %d has the pending changes %v", i, o.Pending)
					return
				}
			}
		})
	}
	wait.Wait()
}
