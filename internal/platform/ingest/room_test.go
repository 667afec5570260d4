package ingest

import (
	"strings"
	"testing"
	"testing/synctest"

	"paddock/fence"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
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

// Positions with large props take more room.
func TestRoomForProps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 1300
		p, pub := blocked(t, room)
		defer close(pub.gate)
		refused := 0
		for i := range room {
			b := fixes("large", i, 1)
			b.Positions[0].Props = []byte(`{"text":"` + strings.Repeat("x", maxPropsBytes-11) + `"}`)
			if err := p.TrySubmit(b, func(r Result) { refused += r.Overloaded }); err != nil {
				t.Fatal(err)
			}
			if refused > 0 {
				if i < 15 || i > 20 {
					t.Errorf("%d positions of 16 KiB take the room of %d", i, room)
				}
				return
			}
		}
		t.Error("none is refused")
	})
}

// The memory of a large record is given back.
func TestMemoryOfALargeRecord(t *testing.T) {
	p, _ := openOn(t, Config{}, journal.NewMemory(), func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
	p.Start(&published{})
	b := fixes("v", 0, 2*keptBuffer/maxPropsBytes)
	for i := range b.Positions {
		b.Positions[i].Props = []byte(`{"text":"` + strings.Repeat("x", maxPropsBytes-11) + `"}`)
	}
	submit(t, p, b)
	p.Close(t.Context())
	if n := cap(p.making.buffer); n > keptBuffer {
		t.Errorf("%d bytes are kept", n)
	}
}
