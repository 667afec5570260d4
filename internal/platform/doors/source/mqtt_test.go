package source

import (
	"context"
	"log/slog"
	"net/url"
	"testing"

	"github.com/eclipse/paho.golang/paho"

	"paddock/internal/platform/doors/format"
)

// A retained message comes at each connection, however old it is: without a time of its own it says
// nothing about where the object is now.
func TestMQTTRetained(t *testing.T) {
	k := newSink(t)
	settings := Settings{Name: "mqtt", MQTT: &MQTT{URL: &url.URL{}, Format: "json", Fields: format.Paths{ID: "id", Lat: "lat", Lon: "lon", Time: "t"}}}
	sources := New(Config{Settings: []Settings{settings}, Pipeline: k.pipeline, Doors: k.doors, MaxAhead: 60_000, Logger: slog.New(slog.DiscardHandler)})
	take := func(payload string, retain bool) {
		p := &paho.Publish{Payload: []byte(payload), Retain: retain}
		if !sources.list[0].takeMQTT(context.Background(), nil, p, nil) {
			t.Error("not applied")
		}
	}
	take(`[{"id":"off","lat":1,"lon":2},{"id":"on","lat":1,"lon":2,"t":"2026-03-12T11:16:45Z"}]`, true)
	if _, seen := k.pipeline.Object("default", "off"); seen {
		t.Error("a retained message without a time is a position of now")
	}
	k.at("on", 1, 2)
	if d := k.door("mqtt"); d.Accepted != 1 || d.Ignored != 1 || d.Rejected != 0 {
		t.Errorf("%+v", d)
	}
	take(`{"id":"off","lat":1,"lon":2}`, false)
	k.at("off", 1, 2)
}
