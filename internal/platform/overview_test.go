package platform_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
)

// overview reads the state of a service, which has to be as the document describes it.
func (r *running) overview(path, schema string, v any) {
	r.t.Helper()
	status, answer, err := r.call(http.MethodGet, path, "", nil)
	if err != nil || status != http.StatusOK {
		r.t.Fatalf("%s: %d, %v: %.300s", path, status, err, answer)
	}
	conforms(r.t, answer, schema)
	if err := json.Unmarshal(answer, v); err != nil {
		r.t.Fatal(err)
	}
}

// The overview of the bus has its connections with their subscriptions, and the traffic by prefix.
func TestBusOverview(t *testing.T) {
	r := startWith(t, platform.Options{Config: config.Default(), Catalog: square(t)})
	nc, err := nats.Connect("nats://"+r.BusAddr().String(), nats.Name("collector"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.SubscribeSync("fence.depots.>"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := nc.Publish("weather.north.rain", []byte("wet")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	var o busapi.Overview
	r.overview("v1/bus?find=COLLECT", "Bus", &o)
	if o.Figures.Connections != 1 || o.Figures.MessagesIn < 20 || o.Figures.BytesIn < 60 {
		t.Errorf("figures %+v", o.Figures)
	}
	if o.ConnectionsAll != 1 || len(o.Connections) != 1 {
		t.Fatalf("%d connections have the name, %d are told", o.ConnectionsAll, len(o.Connections))
	}
	if c := o.Connections[0]; c.Name != "collector" || c.MessagesIn != 20 || c.Subscriptions != 1 || len(c.Subjects) != 1 || c.Subjects[0] != "fence.depots.>" || c.Address == "" {
		t.Errorf("connection %+v", c)
	}
	var in uint64
	for _, p := range o.Prefixes {
		in += p.In
	}
	if in < 20 {
		t.Errorf("%d messages by prefix: %+v", in, o.Prefixes)
	}
	r.overview("v1/bus?limit=1", "Bus", &o)
	if len(o.Connections) != 1 || o.ConnectionsAll < 2 {
		t.Errorf("%d of %d connections are told, with a limit of 1", len(o.Connections), o.ConnectionsAll)
	}
}

// The overview of the wire door has its connections, and counts positions and streams.
func TestWireOverview(t *testing.T) {
	r := startWith(t, platform.Options{Config: config.Default(), Catalog: square(t)})
	conn := r.wireConn()
	sendByWire(t, conn, [][]byte{wireBody(t, "", "v1", place{lon: 0.5, lat: 0.5}, shuttleTime, false)})
	r.onWire(conn)
	var o wireapi.Overview
	r.overview("v1/wire", "Wire", &o)
	if f := o.Figures; f.Connections != 1 || f.Accepted != 1 || f.Positions != 1 || f.Streams != 1 || f.Subscribers != 1 || f.Received == 0 || f.Refused != 0 {
		t.Errorf("figures %+v", f)
	}
	if len(o.Connections) != 1 || o.Connections[0].Address != conn.LocalAddr().String() || o.Connections[0].Streams != 1 || o.Connections[0].Posts != 1 {
		t.Errorf("connections %+v", o.Connections)
	}
	r.overview("v1/wire?find=nobody", "Wire", &o)
	if o.ConnectionsAll != 0 || len(o.Connections) != 0 {
		t.Errorf("%d connections have a name that there is not", o.ConnectionsAll)
	}
}
