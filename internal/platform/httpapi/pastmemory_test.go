package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
)

// largePast returns a history of long properties: 400 positions of the object v, one in a minute,
// and one of each of 400 other objects.
func largePast(t *testing.T) *history.History {
	var positions []track.Position
	for n := range 400 {
		props := json.RawMessage(fmt.Sprintf(`{"n":%d,"x":%q}`, n, strings.Repeat("x", 48_000)))
		positions = append(positions,
			track.Position{Fleet: "default", ID: "v", Lon: 50, Lat: 5, Time: track.Millis(n) * 60_000, Props: props},
			track.Position{Fleet: "default", ID: fmt.Sprintf("o%03d", n), Lon: 50, Lat: 5, Props: props})
	}
	return pastOf(t, positions)
}

// A page of the past ends early if its properties are long, and the next one goes on behind it.
func TestPagesOfLongProperties(t *testing.T) {
	h := largePast(t)
	tw := newTown(t, options{config: func(c *Config) { c.History = h }})
	for _, format := range []string{"ndjson", "csv"} {
		after, times, pages := "", "", 0
		for more := true; more; more = after != "" {
			r := tw.get("/v1/objects/v/track?format=" + format + "&after=" + after)
			tw.expect(r, 200, "")
			for line := range strings.Lines(string(r.body)) {
				line = strings.TrimPrefix(line, `{"t":"`)
				if strings.HasPrefix(line, "1970-") {
					times += line[11:16] + " "
				}
			}
			if len(r.body) > maxWayProps+200<<10 {
				t.Errorf("%s: a page of %d bytes", format, len(r.body))
			}
			after = r.header.Get(nextHeader)
			pages++
		}
		var want strings.Builder
		for n := range 400 {
			fmt.Fprintf(&want, "%02d:%02d ", n/60, n%60)
		}
		if times != want.String() || pages != 2 {
			t.Errorf("%s: %d pages of %s", format, pages, times)
		}
	}
	for _, format := range []string{"geojson", "gpx"} { // without properties
		if r := tw.get("/v1/objects/v/track?format=" + format); r.status != 200 || r.header.Get(nextHeader) != "" || strings.Count(string(r.body), "T06:39:") != 1 {
			t.Errorf("%s: %d %.200s", format, r.status, r.body)
		}
	}
	var ids []string
	next, pages := "", 0
	for more := true; more; more = next != "" {
		page := decode[objectPage](tw, tw.get("/v1/objects?at=1970-01-01T06:00:00Z&limit=10000&after="+next))
		for i := range page.Objects {
			ids = append(ids, page.Objects[i].ID)
		}
		next = page.Next
		pages++
	}
	if len(ids) != 401 || ids[399] != "o399" || ids[400] != "v" || pages != 5 {
		t.Errorf("%d pages of %d objects", pages, len(ids))
	}
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// Answers about the past share the memory of large requests. One that finds no room is refused, and
// smaller ones are not.
func TestThePastSharesABound(t *testing.T) {
	h := largePast(t)
	tw := newTown(t, options{config: func(c *Config) { c.History, c.MaxBody = h, 512<<10 }})
	e := &track.Event{Kind: track.Enter, Set: "far", Fleet: "default", ID: "v", Seq: 1, Props: json.RawMessage(`{"x":"` + strings.Repeat("x", 1000) + `"}`)}
	for range 4000 {
		tw.log.Append([]events.Record{events.NewRecord(e, "")})
	}
	dryRun := func(to string) reply {
		return tw.post("/v1/rules/dry-run", `{"history":{"object":"v","from":"1970-01-01T00:00:00Z","to":"1970-01-01T`+to+`"}}`)
	}
	large := []reply{
		tw.get("/v1/objects/v/track?format=ndjson"), tw.get("/v1/objects/v/track?format=csv"),
		tw.get("/v1/objects?at=1970-01-01T06:00:00Z&limit=10000"), tw.get("/v1/events?wait=0"), dryRun("07:00:00Z"),
	}
	for _, r := range large {
		tw.problem(r, 503, "too many large requests at once: send it again later, or in smaller parts")
	}
	if n := tw.api.memory.Refused(); n != uint64(len(large)) {
		t.Errorf("%d refused", n)
	}
	for _, r := range []reply{
		tw.get("/v1/objects/v/track"), tw.get("/v1/objects/v/track?format=ndjson&limit=20"), tw.get("/v1/objects?at=1970-01-01T06:00:00Z&limit=5"),
		tw.get("/v1/events?wait=0&limit=1000"), dryRun("00:20:00Z"),
	} {
		tw.expect(r, 200, "")
	}
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// Lists of objects and of visits share the memory of large requests too.
func TestListsShareABound(t *testing.T) {
	const n = 600
	var positions []track.Position
	var body []byte
	for i := range n {
		id := fmt.Sprintf("v%03d", i)
		positions = append(positions, track.Position{Fleet: "default", ID: id, Lon: 5, Lat: 5})
		body = fmt.Appendf(body, `{"id":%q,"lon":5,"lat":5}`+"\n", id)
	}
	h := pastOf(t, positions)
	tw := newTown(t, options{config: func(c *Config) { c.History, c.MaxBody = h, 64<<10 }})
	tw.expect(tw.post("/v1/positions", string(body)), 200, "")
	others := tw.api.memory.Lease()
	for size := int64(4 * 64 << 10); !others.Hold(size); size -= 1024 {
	}
	for _, path := range []string{"/v1/visits", "/v1/visits?format=csv", "/v1/objects?limit=1000"} {
		tw.problem(tw.get(path), 503, "too many large requests at once: send it again later, or in smaller parts")
	}
	for _, path := range []string{"/v1/visits?limit=20", "/v1/objects?limit=20"} {
		tw.expect(tw.get(path), 200, "")
	}
	others.Release()
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}
