package ingest

import (
	"testing"
	"testing/synctest"

	"paddock/internal/platform/events"
)

// stepped publishes the events of a record for each token.
type stepped struct{ steps chan struct{} }

func (s *stepped) Publish([]events.Record) { <-s.steps }

// Large batches leave room for others: each counts as a part of the room, and as less once some of
// its positions are applied.
func TestLargeBatchesLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pub := &stepped{make(chan struct{})}
		p, _ := newPipeline(t, pub, Config{Workers: 1, MaxWaiting: 40})
		defer close(pub.steps)
		answers := make(chan string, 10)
		enter := func(name string, positions int) {
			go func() {
				b := &Batch{}
				for i := range positions {
					n := 2 * i
					if i%maxPart == 0 {
						n++ // into the square, so that each part has events
					}
					b.Positions = append(b.Positions, fix(name, n))
				}
				r, err := p.Submit(t.Context(), b)
				if err != nil || r.Accepted != positions {
					t.Errorf("%s: %d accepted, %d overloaded, %v", name, r.Accepted, r.Overloaded, err)
				}
				answers <- name
			}()
			synctest.Wait()
		}
		enter("first", 2) // its record waits in Publish
		for _, name := range []string{"a", "b", "c"} {
			enter(name, 9*maxPart)
		}
		enter("small", 3) // waits for room
		if err := p.TrySubmit(fixes("hasty", 0, 6), func(r Result) {
			if r.Overloaded > 0 {
				t.Error("a batch that does not wait is refused because others wait")
			}
		}); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			pub.steps <- struct{}{}
			synctest.Wait()
			for len(answers) > 0 {
				switch name := <-answers; name {
				case "a", "b", "c":
					t.Errorf("%s is answered before a small batch", name)
				case "small":
					return
				}
			}
		}
		t.Error("a small batch is not answered")
	})
}
