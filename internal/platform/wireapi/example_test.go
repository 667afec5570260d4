package wireapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net"
	"time"

	"github.com/fxamacker/cbor/v2"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/views"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// A vehicle sends a position and learns that it has been applied.
func Example_positions() {
	ctx, addr, stop := paddock()
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	position, err := cbor.Marshal(map[string]any{"id": "v42", "lon": 13.41, "lat": 52.52, "speed": 8.2})
	if err != nil {
		log.Fatal(err)
	}
	number, err := conn.PostAck(ctx, "pos.update", position)
	if err != nil {
		log.Fatal(err)
	}
	if err := conn.WaitAcked(ctx, number); err != nil {
		log.Fatal(err)
	}
	fmt.Println("applied")
	// Output: applied
}

// A program looks up the fences that hold a point.
func Example_search() {
	ctx, addr, stop := paddock()
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.Call(ctx, "fence.search", []byte(`{"lon": 13.41, "lat": 52.52}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(answer))
	// Output: {"fences":[{"set":"depots","id":"north","properties":{"name":"Depot North"}}]}
}

// A program follows the events of one set, and remembers its position.
func Example_events() {
	ctx, addr, stop := paddock()
	defer stop()

	conn, err := wire.Dial(ctx, "tcp", addr, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.Open(ctx, "fence.events", wire.OpenOptions{First: []byte(`{"set": "depots"}`)})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for cursor := ""; ; {
		message, err := stream.ReadMsg(nil)
		if err != nil {
			log.Fatal(err) // io.EOF: the platform stops; reconnect with {"cursor": cursor}
		}
		var m struct{ Type, Subject, Cursor string }
		if err := json.Unmarshal(message, &m); err != nil {
			log.Fatal(err)
		}
		switch m.Type {
		case "paddock.cursor":
			if cursor == "" {
				report(ctx, conn) // it follows now
			}
			cursor = m.Cursor
		case "paddock.gap":
			fmt.Println("missed", string(message))
		default:
			fmt.Println(m.Subject, m.Type)
			return
		}
	}
	// Output: v42 paddock.fence.enter
}

// report posts a position within the fence.
func report(ctx context.Context, conn *wire.Conn) {
	position, err := cbor.Marshal(map[string]any{"id": "v42", "lon": 13.41, "lat": 52.52})
	if err == nil {
		err = conn.Post(ctx, "pos.update", position)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type toLog struct{ *events.Log }

func (l toLog) Publish(records []events.Record) { l.Append(records) }

// paddock runs the wire API of `paddock up --initial enter`.
func paddock() (ctx context.Context, addr string, stop func()) {
	set, err := fence.NewSet("depots", fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	north := fence.Fence{Key: "north", Properties: json.RawMessage(`{"name":"Depot North"}`), Geometry: geometry.MultiPolygon{{{
		{Lon: 13.40, Lat: 52.51}, {Lon: 13.42, Lat: 52.51}, {Lon: 13.42, Lat: 52.53}, {Lon: 13.40, Lat: 52.53},
	}}}}
	if _, _, err := set.Put(north); err != nil {
		log.Fatal(err)
	}
	catalog := &fence.Catalog{}
	if err := catalog.Add(set); err != nil {
		log.Fatal(err)
	}
	eventLog := events.NewLog(1000, 1<<20, "example")
	pipeline := ingest.New(ingest.Config{
		Fences: views.New(catalog, nil), Publisher: toLog{eventLog}, Track: track.Options{Initial: track.InitialEnter},
	})
	api := wireapi.New(wireapi.Config{Catalog: catalog, Pipeline: pipeline, Log: eventLog, Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- api.Serve(l) }() // stop waits for it
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	return ctx, l.Addr().String(), func() {
		api.Drain(ctx)
		pipeline.Close(context.Background())
		eventLog.End()
		if err := api.Close(ctx); err != nil {
			log.Fatal(err)
		}
		<-served
		cancel()
	}
}
