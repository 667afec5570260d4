package wireapi

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/position"
	"paddock/internal/platform/views"
	"paddock/wire"
)

// benchSite serves without events, over loopback.
func benchSite(b *testing.B) *wire.Conn {
	b.Helper()
	set, err := fence.NewSet("squares", fence.Options{})
	must(b, err)
	_, err = set.Replace(&geojson.Collection{Fences: []fence.Fence{square("a", 0, 0, 10), square("b", 5, 0, 10)}})
	must(b, err)
	catalog := &fence.Catalog{}
	must(b, catalog.Add(set))
	log := events.NewLog(1000, 1<<20, "e")
	pipeline := ingest.New(ingest.Config{Fences: views.New(catalog, nil), Publisher: publisher{log}})
	api := New(Config{Catalog: catalog, Pipeline: pipeline, Log: log, Logger: slog.New(slog.DiscardHandler), MaxAhead: 1 << 40})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = api.Serve(l) })
	c, err := wire.Dial(b.Context(), "tcp", l.Addr().String(), nil)
	must(b, err)
	b.Cleanup(func() {
		_ = c.Close()
		api.Drain(context.Background())
		pipeline.Close(context.Background())
		log.End()
		_ = api.Close(context.Background())
		serving.Wait()
	})
	return c
}

// BenchmarkUpdate measures a position from the sender's memory to its acknowledgement, for 1,000
// vehicles in one fence, over loopback.
func BenchmarkUpdate(b *testing.B) {
	c := benchSite(b)
	var ids [1000]string
	for i := range ids {
		ids[i] = fmt.Sprintf("vehicle-%d", i)
	}
	var last uint64
	body := make([]byte, 0, 64)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		body, _ = position.Append(body[:0], &position.Position{ID: ids[n%len(ids)], Time: firstTime + int64(n), Lon: 1, Lat: 1, Speed: position.Known(8)})
		number, err := c.PostAck(b.Context(), KindUpdate, body)
		if err != nil {
			b.Fatal(err)
		}
		last = number
		n++
	}
	if err := c.WaitAcked(b.Context(), last); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "positions/s")
}

// BenchmarkSearch measures a look-up in the compact form, with many in flight.
func BenchmarkSearch(b *testing.B) {
	c := benchSite(b)
	question := compactBody("", false, 7, 5)
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		var answer []byte
		for pb.Next() {
			var err error
			if answer, err = c.CallAppend(b.Context(), answer[:0], KindSearch, question); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "searches/s")
}
