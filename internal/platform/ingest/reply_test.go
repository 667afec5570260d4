package ingest

import (
	"context"
	"math"
	"strings"
	"testing"

	"paddock/bus"
	"paddock/fence"
	"paddock/fence/track"
)

// An answer that comes in by the door again would make the shard that gives it
// the one that decodes what everybody sends.
func TestAnAnswerIsNoPosition(t *testing.T) {
	server, err := bus.New(bus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(t.Context())
	p := New(Config{Shards: 1, Views: NewViews(&fence.Catalog{}).View, Publisher: &published{}})
	defer p.Close(context.Background())
	door, err := p.OpenBusDoor(server.Local("positions"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	client := server.Local("client")
	seen := make(chan string, 8)
	for _, subject := range []string{"pos.default.echo", "answers"} {
		if _, err := client.Subscribe(subject, "", func(msgs []bus.Msg) {
			for _, m := range msgs {
				seen <- m.Subject
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range []string{`{"lon":1,"lat":2}`, `not a position`} { // answered by the shard, and by the door
		for _, reply := range []string{"pos.default.echo", "answers"} {
			if err := client.Publish("pos.default.v1", reply, nil, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-seen; got != "answers" {
			t.Errorf("%s: answered on %s", body, got)
		}
	}
}

func TestPositionsAtTheEdgesOfNumbers(t *testing.T) {
	dec := Decoder{Arrived: 1_773_314_205_250}
	b, err := dec.Decode([]byte(`[{"id":"a","lon":-0.00000001,"lat":-0.0},{"id":"a","lon":0,"lat":0,"t":"9999-12-31T23:59:59Z"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Positions) != 1 || math.Signbit(b.Positions[0].Lon) || math.Signbit(b.Positions[0].Lat) {
		t.Errorf("zeros with a sign: %+v", b.Positions)
	}
	if len(b.Rejected) != 1 || !strings.HasPrefix(b.Rejected[0].Reason, "t: 876600h0m0s in the future") {
		t.Errorf("rejected %+v", b.Rejected)
	}
}

// A door's answer is the sign that the counts can be read.
func TestCountsAreThoseOfTheAnswer(t *testing.T) {
	p := New(Config{Shards: 2, Views: NewViews(&fence.Catalog{}).View, Publisher: &published{}})
	defer p.Close(context.Background())
	for i := range 200 {
		at := track.Millis(1_000_000_000_000)
		id := strings.Repeat("x", i+1)
		if _, err := p.Submit(t.Context(), &Batch{Positions: []track.Position{{Fleet: "f", ID: id, Time: at, Arrived: at}}}); err != nil {
			t.Fatal(err)
		}
		if n, _ := p.Counts(); n != i+1 {
			t.Fatalf("%d objects are known after %d were accepted", n, i+1)
		}
	}
}
