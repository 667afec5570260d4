package ingest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

// BenchmarkSubmit measures the way of positions through the pipeline: one position at a time from
// one client and from 50, and batches of 1,000 from four; without a journal, and with one on disk.
func BenchmarkSubmit(b *testing.B) {
	for _, c := range []struct {
		clients, size int
		durable       bool
	}{{1, 1, false}, {1, 1, true}, {50, 1, false}, {50, 1, true}, {4, 1000, false}, {4, 1000, true}} {
		kept := map[bool]string{false: "volatile", true: "durable"}[c.durable]
		b.Run(fmt.Sprintf("%d clients, %d at once, %s", c.clients, c.size, kept), func(b *testing.B) {
			catalog := &fence.Catalog{}
			s, _ := fence.NewSet("zone", fence.Options{})
			for i := range 20 {
				if _, _, err := s.Put(unitSquare(fmt.Sprint("f", i), float64(i))); err != nil {
					b.Fatal(err)
				}
			}
			if err := catalog.Add(s); err != nil {
				b.Fatal(err)
			}
			config := Config{}
			var log journal.Journal
			if config.Fences = views.New(catalog, nil); c.durable {
				disk, err := journal.Open(journal.Options{Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				defer disk.Close()
				log = disk
				if config.Fences, err = views.Open(views.Options{Catalog: catalog, Journal: disk}); err != nil {
					b.Fatal(err)
				}
			}
			config.Journal = log
			p, err := Open(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			p.Start(discard{})
			defer p.Close(b.Context())
			var clients atomic.Int64
			b.SetParallelism(max(1, c.clients/2))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				me := clients.Add(1)
				t := track.Millis(1_700_000_000_000)
				n := 0
				for pb.Next() {
					batch := &Batch{Positions: make([]track.Position, c.size)}
					for i := range batch.Positions {
						n++
						object := n % 10_000
						if object == 0 {
							t += 1000
						}
						batch.Positions[i] = track.Position{
							Fleet: "default", ID: names[object], Lon: float64((n+n/10_000/10+int(me))%20) + 0.5, Lat: 0.5, Time: t + track.Millis(n),
						}
					}
					if _, err := p.Submit(b.Context(), batch); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N*c.size)/b.Elapsed().Seconds()/1e3, "kpos/s")
		})
	}
}

var names = func() (all [10_000]string) {
	for i := range all {
		all[i] = fmt.Sprint("vehicle-", i)
	}
	return all
}()

type discard struct{}

func (discard) Publish([]events.Record) {}
