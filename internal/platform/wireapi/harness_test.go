package wireapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/position"
	"paddock/internal/platform/views"
	"paddock/wire"
)

// patience bounds every wait; it is never the expected outcome.
const patience = 20 * time.Second

// site is an API over a pipeline with a few squares, and its address.
type site struct {
	*testing.T
	api      *API
	catalog  *fence.Catalog
	pipeline *ingest.Pipeline
	log      *events.Log
	addr     string
	drained  bool
}

// publisher appends only to the log.
type publisher struct{ log *events.Log }

func (p publisher) Publish(records []events.Record) { p.log.Append(records) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func square(key string, x, y, size float64) fence.Fence {
	return fence.Fence{
		Key: key, Properties: json.RawMessage(`{"name":"` + key + `"}`),
		Geometry: geometry.MultiPolygon{{{{Lon: x, Lat: y}, {Lon: x + size, Lat: y}, {Lon: x + size, Lat: y + size}, {Lon: x, Lat: y + size}}}},
	}
}

// addSet makes a set of fences.
func (s *site) addSet(name string, fences ...fence.Fence) {
	s.Helper()
	set, err := fence.NewSet(name, fence.Options{})
	must(s, err)
	_, err = set.Replace(&geojson.Collection{Fences: fences})
	must(s, err)
	must(s, s.catalog.Add(set))
}

// newSite serves until the test ends. change may alter the configuration.
func newSite(t *testing.T, change func(*Config)) *site {
	t.Helper()
	s := &site{T: t, catalog: &fence.Catalog{}, log: events.NewLog(1000, 1<<20, "e")}
	s.addSet("squares", square("a", 0, 0, 10), square("b", 5, 0, 10))
	s.addSet("far", square("c", 100, 40, 10))
	s.pipeline = ingest.New(ingest.Config{
		Workers: 2, Fences: views.New(s.catalog, nil), Publisher: publisher{s.log},
		Track: track.Options{Initial: track.InitialEnter, MaxObjects: 1000},
	})
	cfg := Config{
		Catalog: s.catalog, Pipeline: s.pipeline, Log: s.log, Logger: slog.New(slog.DiscardHandler),
		MaxAhead: 60_000, Version: "test",
	}
	if change != nil {
		change(&cfg)
	}
	s.api = New(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.api.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s.drain(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// drain stops everything front to back, as the platform does. It may be called again.
func (s *site) drain(ctx context.Context) {
	if s.drained {
		return
	}
	s.drained = true
	s.api.Drain(ctx)
	s.pipeline.Close(context.Background())
	s.log.End()
	if err := s.api.Close(ctx); err != nil {
		s.Errorf("Close: %v", err)
	}
}

// dial connects; the connection is closed when the test ends.
func (s *site) dial(cfg *wire.Config) *wire.Conn {
	s.Helper()
	c, err := wire.Dial(s.Context(), "tcp", s.addr, cfg)
	must(s, err)
	s.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *site) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	s.Cleanup(cancel)
	return ctx
}

// body returns a position in the fixed layout.
func body(t testing.TB, id string, lon, lat float64, at int64) []byte {
	t.Helper()
	b, err := position.Append(nil, &position.Position{ID: id, Lon: lon, Lat: lat, Time: at})
	must(t, err)
	return b
}
