package httpapi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"

	"paddock/internal/process/keyring"
)

// everyObject returns all pages of a list.
func (tw *town) everyObject(query url.Values, headers ...string) (all []objectJSON) {
	tw.Helper()
	for after := ""; ; {
		query.Set("after", after)
		page := decode[objectPage](tw, tw.get("/v1/objects?"+query.Encode(), headers...))
		all = append(all, page.Objects...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

func namesOf(objects []objectJSON) (names []string) {
	for _, o := range objects {
		names = append(names, o.Fleet+"/"+o.ID)
	}
	return names
}

// A page ends early if its objects are in very many fences, and the next one goes on behind it.
func TestPagesOfObjectsInManyFences(t *testing.T) {
	const fences, objects = 1000, 60
	tw := newTown(t, options{emptyCatalog: true})
	tw.addSquares(fences)
	var body []byte
	for i := range objects {
		body = fmt.Appendf(body, `{"id":"v%02d","lon":5,"lat":5}`+"\n", i)
	}
	tw.expect(tw.post("/v1/positions", string(body)), 200, "")
	got := 0
	for after, more := "", true; more; more = after != "" {
		r := tw.get("/v1/objects?limit=1000&after=" + after)
		if len(r.body) > maxPageProps+fences*visitBytes {
			t.Errorf("a page of %d bytes", len(r.body))
		}
		page := decode[objectPage](tw, r)
		for i, o := range page.Objects {
			if o.ID != fmt.Sprintf("v%02d", got+i) || len(o.Fences) != fences {
				t.Errorf("%s is in %d fences", o.ID, len(o.Fences))
			}
		}
		got, after = got+len(page.Objects), page.Next
	}
	if got != objects {
		t.Errorf("%d objects", got)
	}
}

// Names may have any character: no two objects have one place in the pages.
func TestPagesOfNamesWithZeros(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.post("/v1/positions", `[{"fleet":"f","id":"\u0000g","lon":1,"lat":1},{"fleet":"f\u0000","id":"g","lon":1,"lat":1},{"fleet":"f\u0001","id":"g","lon":1,"lat":1}]`), 200, "")
	if got := tw.everyObject(url.Values{"limit": {"1"}}); len(got) != 3 {
		t.Errorf("%q", namesOf(got))
	}
}

// TestObjectsOfAnArea holds that the pages of an area are what a look at every object finds, over
// the antimeridian and at the poles too.
func TestObjectsOfAnArea(t *testing.T) {
	tw := newTown(t, options{})
	r := rand.New(rand.NewPCG(5, 6))
	var body []byte
	for i := range 600 {
		lon, lat := math.Remainder(180+r.NormFloat64()*3, 360), r.NormFloat64()*3
		switch i % 4 {
		case 1:
			lon, lat = r.Float64()*360-180, 90-r.Float64()*2
		case 2:
			lon, lat = r.Float64()*360-180, -90
		}
		body = fmt.Appendf(body, `{"id":"o%d","fleet":"f%d","lon":%.7f,"lat":%.7f}`+"\n", i, i%3, lon, lat)
	}
	tw.expect(tw.post("/v1/positions", string(body)), 200, "")
	all := tw.everyObject(url.Values{"limit": {"10000"}})
	if len(all) != 600 {
		t.Fatalf("%d objects", len(all))
	}
	turn := func(degrees float64) float64 { return math.Mod(degrees+720, 360) }
	for _, c := range []struct {
		bbox, fleet string
		has         func(o *objectJSON) bool
	}{
		{"178,-5,-178,5", "", func(o *objectJSON) bool { return math.Abs(o.Lat) <= 5 && turn(o.Lon-178) <= 4 }},
		{"-179,-5,179,5", "", func(o *objectJSON) bool { return math.Abs(o.Lat) <= 5 && turn(o.Lon+179) <= 358 }},
		{"-180,89,180,90", "f1", func(o *objectJSON) bool { return o.Lat >= 89 && o.Fleet == "f1" }},
		{"10,-90,11,-80", "", func(o *objectJSON) bool { return o.Lat == -90 || o.Lat <= -80 && turn(o.Lon-10) <= 1 }},
	} {
		want := namesOf(slices.DeleteFunc(slices.Clone(all), func(o objectJSON) bool { return !c.has(&o) }))
		if len(want) == 0 {
			t.Fatalf("%s has none", c.bbox)
		}
		for _, limit := range []string{"7", "1000"} {
			got := tw.everyObject(url.Values{"bbox": {c.bbox}, "fleet": {c.fleet}, "limit": {limit}})
			if !slices.Equal(namesOf(got), want) {
				t.Errorf("%s limit %s:\n%v\nwant\n%v", c.bbox, limit, namesOf(got), want)
			}
		}
	}
	near := tw.everyObject(url.Values{"near": {"180,0.5,90000"}, "limit": {"11"}})
	var want []string
	for i := range all { // within 100 km of the equator a degree is one of two lengths, to 1 %
		o := &all[i]
		d := math.Hypot(math.Remainder(o.Lon-180, 360)*111_320, (o.Lat-0.5)*110_574)
		switch at := slices.IndexFunc(near, func(n objectJSON) bool { return n.ID == o.ID }); {
		case math.Abs(d-90_000) < 900:
			continue
		case (d < 90_000) != (at >= 0):
			t.Errorf("%s is at %v m: listed %v", o.ID, d, at >= 0)
		case at >= 0 && (near[at].Distance == nil || math.Abs(*near[at].Distance-d) > 0.01*d+0.01):
			t.Errorf("%s is at %v m, not %v", o.ID, d, near[at].Distance)
		case at >= 0:
			want = append(want, o.ID)
		}
	}
	if len(want) < 5 {
		t.Errorf("only %v are near", want)
	}
}

// TestObjectsSince holds that since compares the time at which a position arrived, and not its own.
func TestObjectsSince(t *testing.T) {
	tw := newTown(t, options{})
	tw.move("early", 0, 1, 5)
	seen := decode[objectJSON](tw, tw.get("/v1/objects/early")).Seen
	list := func(since string) string {
		return fmt.Sprint(namesOf(tw.everyObject(url.Values{"since": {since}})))
	}
	if got := list(seen); got != "[default/early]" {
		t.Errorf("since its arrival: %s", got)
	}
	if got := list("2999-01-01T00:00:00Z"); got != "[]" {
		t.Errorf("since then: %s", got)
	}
	for query, detail := range map[string]string{
		"since=yesterday":                      `query: since "yesterday": not a time of RFC 3339 such as 2026-01-31T15:04:05Z`,
		"bbox=1,2,3":                           `query: bbox "1,2,3": 3 numbers: want west,south,east,north`,
		"near=1,2,-3":                          `query: near "1,2,-3": the distance is not a number of metres from 0 to 100000`,
		"at=2026-01-31T15:04:05Z&near=1,2,3":   "query: at goes with fleet and prefix alone; GET /v1/visits has the past of set and fence",
		"at=2026-01-31T15:04:05Z&bbox=1,2,3,4": "query: at goes with fleet and prefix alone; GET /v1/visits has the past of set and fence",
		"at=2026-01-31T15:04:05Z&since=" + "2026-01-31T15:04:05Z": "query: at goes with fleet and prefix alone; GET /v1/visits has the past of set and fence",
	} {
		tw.problem(tw.get("/v1/objects?"+query), 400, detail)
	}
}

// TestObjectsOfAnAreaByKey holds that a key for a fleet gets the objects of that fleet alone.
func TestObjectsOfAnAreaByKey(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	for name, fleets := range map[string][]string{"all": nil, "one": {"a"}, "two": {"a", "b"}} {
		must(t, ring.Add(keyring.Key{Name: name, SHA256: keyring.DigestOf(name), Verbs: []string{"objects:read", "positions:write"}, Fleets: fleets}))
	}
	tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired = ring, true }})
	tw.expect(tw.post("/v1/positions", `{"id":"x","fleet":"a","lon":1,"lat":5}`+"\n"+`{"id":"y","fleet":"b","lon":1,"lat":5}`, "Authorization", "Bearer all"), 200, "")
	for _, area := range []string{"bbox=0,0,9,9", "near=1,5,10", "since=2026-01-31T15:04:05Z"} {
		q, err := url.ParseQuery(area)
		must(t, err)
		if got := fmt.Sprint(namesOf(tw.everyObject(q, "Authorization", "Bearer one"))); got != "[a/x]" {
			t.Errorf("%s: %s", area, got)
		}
		tw.problem(tw.get("/v1/objects?fleet=b&"+area, "Authorization", "Bearer one"), 403, `the key "one" is not for the fleet "b"`)
		tw.problem(tw.get("/v1/objects?"+area, "Authorization", "Bearer two"), 400, `query: fleet missing: the key "two" is for several, so name one`)
		q.Set("fleet", "b")
		if got := fmt.Sprint(namesOf(tw.everyObject(q, "Authorization", "Bearer two"))); got != "[b/y]" {
			t.Errorf("%s: %s", area, got)
		}
	}
}
