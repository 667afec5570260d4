package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

func tile38Of(e *track.Event) string {
	r := NewRecord(e, "")
	return string(AppendTile38(nil, &r))
}

// The notification of the example in Tile38's page on geofencing: the bus of the collection fleet
// is inside the fence of the hook warehouse. Here the collection is the set, and the hook the rule.
func TestTile38(t *testing.T) {
	bus := &track.Event{
		Kind: track.Inside, Set: "fleet", Rule: "warehouse", Fence: &fence.Fence{Key: "6 km"}, Fleet: "default", ID: "bus",
		Point: geometry.Point{Lon: -112.26, Lat: 33.46}, At: 1548878796769, Time: 1548878796769, Since: 1548878796769, Seq: 2, Visit: 1,
	}
	const want = `{"command":"set","group":"bus/1","detect":"inside","hook":"warehouse","meta":{"fence":"6 km","fleet":"default"},` +
		`"key":"fleet","time":"2019-01-30T20:06:36.769Z","id":"bus","object":{"type":"Point","coordinates":[-112.26,33.46]}}`
	if got := tile38Of(bus); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Only present members are given, and fields are the object's properties, as Tile38's example of a
// notification with fields has them.
func TestTile38Members(t *testing.T) {
	members := func(e *track.Event) string {
		var m map[string]json.RawMessage
		text := tile38Of(e)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		var names []string
		for dec := json.NewDecoder(strings.NewReader(text)); ; {
			token, err := dec.Token()
			if err != nil {
				break
			}
			if name, ok := token.(string); ok && m[name] != nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	e := event()
	const plain = "command group detect meta key time id object"
	if got := members(e); got != plain {
		t.Error(got)
	}
	e.Props = json.RawMessage(`{"messageId":354524,"lastUpdatedAt":28758279}`)
	if got := members(e); got != plain+" fields" {
		t.Error(got)
	}
	e.Rule = "r"
	if got := members(e); got != "command group detect hook meta key time id object fields" {
		t.Error(got)
	}
	if got := tile38Of(e); !strings.HasSuffix(got, `,"fields":{"messageId":354524,"lastUpdatedAt":28758279}}`) {
		t.Error(got)
	}
	e.Props = json.RawMessage(`{"long":"` + strings.Repeat("x", 2*sharedFrom) + `"}`)
	if got := tile38Of(e); !strings.HasSuffix(got, `,"fields":`+string(e.Props)+"}") {
		t.Error(got)
	}
}

// Each kind has its name, the end of an object is a del, and outside of all fences has no fence.
func TestTile38Kinds(t *testing.T) {
	for k, name := range track.KindNames() {
		e := event()
		e.Kind = track.Kind(k)
		if got := tile38Of(e); !strings.HasPrefix(got, fmt.Sprintf(`{"command":"set","group":"v42/9","detect":%q,`, name)) {
			t.Error(got)
		}
	}
	e := event()
	for reason, want := range map[track.Reason]string{track.ObjectRemoved: "del", track.TTL: "set", track.FenceRemoved: "set"} {
		e.Reason = reason
		if got := tile38Of(e); !strings.HasPrefix(got, `{"command":"`+want+`","group":"v42/9","detect":"exit",`) {
			t.Error(got)
		}
	}
	e = event()
	e.Kind, e.Fence, e.Fleet, e.ID = track.Outside, nil, "north", `a"b`
	if got := tile38Of(e); !strings.Contains(got, `"meta":{"fleet":"north"},"key":"tracts"`) || !strings.Contains(got, `"id":"a\"b"`) {
		t.Error(got)
	}
}

// A record of the journal gives the same text.
func TestTile38OfAStoredRecord(t *testing.T) {
	r := NewRecord(event(), "")
	stored, rest, err := ParseRecord(AppendRecord(nil, &r))
	if err != nil || len(rest) > 0 {
		t.Fatal(err)
	}
	if got, want := string(AppendTile38(nil, &stored)), tile38Of(event()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
