package busapi

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/bus"
	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/views"
)

// discard is a publisher that drops events.
type discard struct{}

func (discard) Publish([]events.Record) {}

func newPipeline() *ingest.Pipeline {
	return ingest.New(ingest.Config{Workers: 2, Fences: views.New(&fence.Catalog{}, nil), Publisher: discard{}})
}

// The publish permissions of a user also hold for the fleet and the id in the body.
func TestTheSubjectHoldsForUsersWithPermissions(t *testing.T) {
	may := func(allow, deny []string) *bus.Permissions {
		return &bus.Permissions{Publish: bus.SubjectPermission{Allow: allow, Deny: deny}}
	}
	server, err := bus.New(bus.Config{Host: "127.0.0.1", Port: -1, Users: []bus.User{
		{Name: "red", Password: "p", Permissions: may([]string{"pos.red.>"}, nil)},
		{Name: "seven", Password: "p", Permissions: may([]string{"pos.red.7"}, nil)},
		{Name: "notblue", Password: "p", Permissions: may(nil, []string{"pos.blue.>"})},
		{Name: "hears", Password: "p", Permissions: &bus.Permissions{Subscribe: bus.SubjectPermission{Deny: []string{"x"}}}},
		{Name: "free", Password: "p"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(t.Context())
	p := newPipeline()
	defer p.Close(t.Context())
	door, err := OpenPositions(p, server.Local("positions"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	const (
		fleetHolds = `fleet: \"blue\" is not \"red\" of the subject, which holds where a user has publish permissions`
		idHolds    = `id: \"8\" is not \"7\" of the subject, which holds where a user has publish permissions`
	)
	for _, c := range []struct{ user, subject, body, fleet, id, reason string }{
		{"red", "pos.red.7", `{"lon":1,"lat":2}`, "red", "7", ""},
		{"red", "pos.red.7", `{"id":7,"fleet":"red","lon":1,"lat":2}`, "red", "7", ""},
		{"red", "pos.red.7", `{"id":"7","fleet":"blue","lon":1,"lat":2}`, "", "", fleetHolds},
		{"red", "pos.red.7", `{"id":"8","lon":1,"lat":2}`, "", "", idHolds},
		{"red", "pos.red.7", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"fleet":"blue"}}`, "", "", fleetHolds},
		{"red", "pos.red._", `{"id":"8","lon":1,"lat":2}`, "red", "8", ""},
		{"red", "pos.red._", `{"id":"8","fleet":"blue","lon":1,"lat":2}`, "", "", fleetHolds},
		{"seven", "pos.red.7", `{"id":"8","lon":1,"lat":2}`, "", "", idHolds},
		{"notblue", "pos.red.7", `{"fleet":"blue","lon":1,"lat":2}`, "", "", fleetHolds},
		{"hears", "pos.red.7", `{"fleet":"blue","lon":1,"lat":2}`, "blue", "7", ""},
		{"free", "pos.red.7", `{"fleet":"blue","id":8,"lon":1,"lat":2}`, "blue", "8", ""},
	} {
		nc, err := nats.Connect("nats://"+server.Addr().String(), nats.UserInfo(c.user, "p"))
		if err != nil {
			t.Fatal(err)
		}
		inbox, err := nc.SubscribeSync("answers." + c.user)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := p.Object("blue", "7")
		if err := nc.PublishRequest(c.subject, "answers."+c.user, []byte(c.body)); err != nil {
			t.Fatal(err)
		}
		m, err := inbox.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
		var r ingest.Result
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
		if c.reason != "" {
			if after, _ := p.Object("blue", "7"); r.Accepted+r.Late != 0 || !strings.Contains(string(m.Data), c.reason) || after.Arrived != before.Arrived {
				t.Errorf("%s: %s %s: %s", c.user, c.subject, c.body, m.Data)
			}
			continue
		}
		if _, known := p.Object(c.fleet, c.id); r.Accepted+r.Late != 1 || !known {
			t.Errorf("%s: %s %s: %s", c.user, c.subject, c.body, m.Data)
		}
	}
}

// The door does not answer on subjects that the platform receives: the shard that answers would
// decode the positions of all publishers, or look points up for them.
func TestAnAnswerIsNoPosition(t *testing.T) {
	server, err := bus.New(bus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(t.Context())
	p := newPipeline()
	defer p.Close(context.Background())
	door, err := OpenPositions(p, server.Local("positions"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	client := server.Local("client")
	seen := make(chan string, 8)
	for _, subject := range []string{"pos.default.echo", "paddock.search._", "answers"} {
		if _, err := client.Subscribe(subject, "", func(msgs []bus.Msg) {
			for _, m := range msgs {
				seen <- m.Subject
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range []string{`{"lon":1,"lat":2}`, `not a position`} { // answered by the shard, and by the door
		for _, reply := range []string{"pos.default.echo", "paddock.search._", "answers"} {
			if err := client.Publish("pos.default.v1", reply, nil, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-seen; got != "answers" {
			t.Errorf("%s: answered on %s", body, got)
		}
	}
}

// An event without a trace has no header, and the question costs nothing.
func TestHeadersOfTraces(t *testing.T) {
	record := func(trace *track.Trace) events.Record {
		return events.NewRecord(&track.Event{Set: "s", Fleet: "f", ID: `a","traceparent":"x`, Props: []byte(`{"a":1,"traceparent":"y"}`), Trace: trace}, "")
	}
	none := record(nil)
	if n := testing.AllocsPerRun(100, func() {
		if headerOf(&none) != nil {
			t.Error("a header of nothing")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for state, want := range map[string]string{"": "NATS/1.0\r\ntraceparent: p\r\n\r\n", `a="\`: "NATS/1.0\r\ntraceparent: p\r\ntracestate: a=\"\\\r\n\r\n"} {
		r := record(&track.Trace{Parent: "p", State: state})
		if got := string(headerOf(&r)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
