package platform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus/bustest"
	"paddock/internal/process/config"
)

// nycDir holds real data that is not part of the repository. Its README describes the files.
const nycDir = "../../../shared/data/nyc"

const (
	busesFile  = "nyc_mta_buses.geojson"
	nycBuses   = 1962
	step       = 300.0          // metres that every bus moves
	busMinutes = 10             // and as long after its position in the file
	fleetHTTP  = "default"      // whose positions come by HTTP
	fleetBus   = "Fleet 2 (§.>" // whose moves come by the bus; its name needs escapes
	fleetWire  = "by wire"      // whose positions come by wire
)

// nycSets are the sets of polygons by name, which is their order, with the
// number of their fences.
var nycSets = []struct {
	name, file string
	fences     int
}{
	{"nyc-burroughs", "nyc_burroughs.geojson", 5},
	{"nyc-census-2010-tracts", "nyc_census_2010_tracts.geojson", 2165},
	{"nyc-ntas", "nyc_ntas.geojson", 195},
}

// vehicle is one bus: its two places, and the oracle's answers for both.
type vehicle struct {
	id             string
	feature        json.RawMessage // as in the file
	from, to       place
	before, after  []hit // at from and to as the tracker rounds them
	fromTime, time int64 // Unix milliseconds
}

// place is a point as JSON texts and as numbers, given and rounded.
type place struct {
	lonText, latText string
	lon, lat         float64
	snapLon, snapLat float64
}

// newPlace rounds the decimal text itself, as the product does not.
func newPlace(lon, lat string) (p place, err error) {
	p.lonText, p.latText = lon, lat
	for text, to := range map[string][2]*float64{lon: {&p.lon, &p.snapLon}, lat: {&p.lat, &p.snapLat}} {
		if *to[0], err = strconv.ParseFloat(text, 64); err != nil {
			return p, err
		}
		if *to[1], err = strconv.ParseFloat(strconv.FormatFloat(*to[0], 'f', 7, 64), 64); err != nil {
			return p, err
		}
	}
	return p, nil
}

// moved returns the place step metres further in a direction in degrees.
func (p *place) moved(t *testing.T, bearing float64) place {
	const metresPerDegree = 111_320
	sin, cos := math.Sincos(bearing * math.Pi / 180)
	lat := p.lat + step*cos/metresPerDegree
	lon := p.lon + step*sin/metresPerDegree/math.Cos(p.lat*math.Pi/180)
	q, err := newPlace(strconv.FormatFloat(lon, 'g', -1, 64), strconv.FormatFloat(lat, 'g', -1, 64))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// readBuses reads the vehicles and moves them.
func readBuses(t *testing.T, o *oracle) []vehicle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(nycDir, busesFile))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Features []json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	vehicles := make([]vehicle, len(file.Features))
	for i, raw := range file.Features {
		var f struct {
			Properties struct{ Vehicle, TS string }
			Geometry   struct{ Coordinates [2]json.Number }
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		v := &vehicles[i]
		v.id, v.feature = f.Properties.Vehicle, raw
		at, err := time.Parse(time.RFC3339Nano, f.Properties.TS)
		if err != nil {
			t.Fatal(err)
		}
		v.fromTime = at.UnixMilli()
		v.time = at.Add(busMinutes * time.Minute).UnixMilli()
		if v.from, err = newPlace(string(f.Geometry.Coordinates[0]), string(f.Geometry.Coordinates[1])); err != nil {
			t.Fatal(err)
		}
		v.to = v.from.moved(t, float64(i*137%360))
	}
	parallel(len(vehicles), func(i int) {
		v := &vehicles[i]
		v.before, v.after = o.at(v.from.snapLon, v.from.snapLat), o.at(v.to.snapLon, v.to.snapLat)
	})
	return vehicles
}

// parallel calls f for 0 to n-1 on a few goroutines and waits for them.
func parallel(n int, f func(int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// startNYC starts a platform with the sets, and returns how many fences each has. With
// PADDOCK_CLUSTER_URL it is the node of a cluster, whose log is there and empty.
func startNYC(t *testing.T) (r *running, fences map[string]int) {
	t.Helper()
	cfg, fences := config.Default(), map[string]int{}
	for _, s := range nycSets {
		fences[s.name] = s.fences
	}
	if cfg.Cluster.URL = os.Getenv("PADDOCK_CLUSTER_URL"); cfg.Cluster.URL == "" {
		cfg.Sets.Dir, fences["nyc-mta-buses"] = nycDir, 0 // the file of points is an empty set
		return start(t, cfg, nil), fences
	}
	cfg.Data.Dir = t.TempDir()
	r = start(t, cfg, nil)
	for _, s := range nycSets {
		text, err := os.ReadFile(filepath.Join(nycDir, s.file))
		if err != nil {
			t.Fatal(err)
		}
		if status, answer, err := r.call(http.MethodPut, "v1/sets/"+s.name, "application/geo+json", text); err != nil || status != http.StatusCreated {
			t.Fatalf("%s: %d %s %v", s.name, status, answer, err)
		}
	}
	return r, fences
}

// TestNYC runs the platform on three real sets of fences and the positions of a
// city's buses, against an oracle.
func TestNYC(t *testing.T) {
	if _, err := os.Stat(nycDir); err != nil {
		t.Skipf("the NYC data is absent: %v", err)
	}
	r, fences := startNYC(t)
	var o oracle
	for _, s := range nycSets {
		o.read(t, s.name, filepath.Join(nycDir, s.file))
	}
	buses := readBuses(t, &o)
	if len(buses) != nycBuses {
		t.Fatalf("%d buses, want %d", len(buses), nycBuses)
	}
	if t.Run("sets", func(t *testing.T) { checkSets(t, r, fences) }); t.Failed() {
		return
	}
	t.Run("positions", func(t *testing.T) { report(t, r, buses) })
	t.Run("search", func(t *testing.T) { checkSearch(t, r, &o, buses) })
	if !t.Failed() {
		checkMoves(t, r, buses)
	}
}

// checkSets checks that every polygon has become a fence.
func checkSets(t *testing.T, r *running, want map[string]int) {
	var answer struct {
		Sets []struct {
			Name   string
			Fences int
		}
	}
	r.ask(&answer, http.MethodGet, "v1/sets", "", nil)
	got := map[string]int{}
	for _, s := range answer.Sets {
		got[s.Name] = s.Fences
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("sets %v, want %v", got, want)
	}
}

// report posts the places of the buses in each form of positions, one fleet for each form. All
// positions must be accepted, and a first position causes no event.
func report(t *testing.T, r *running, buses []vehicle) {
	var lines, features bytes.Buffer
	for _, v := range buses {
		fmt.Fprintf(&lines, "{\"id\":%q,\"lon\":%s,\"lat\":%s,\"t\":%d}\n", v.id, v.from.lonText, v.from.latText, v.fromTime)
		features.Write(v.feature)
		features.WriteByte('\n')
	}
	whole, err := os.ReadFile(filepath.Join(nycDir, busesFile))
	if err != nil {
		t.Fatal(err)
	}
	const names = "id_property=vehicle&time_property=ts"
	r.take(nycBuses, "v1/positions", "application/x-ndjson", lines.Bytes())
	r.take(nycBuses, "v1/positions?fleet=Fleet%202%20(%C2%A7.%3E&"+names, "application/x-ndjson", features.Bytes())
	r.take(nycBuses, "v1/positions?fleet=whole&"+names, "application/geo+json", whole)
	reportByWire(t, r.wireConn(), buses, false)
	if n := r.Objects(); n != 4*nycBuses {
		t.Errorf("%d objects, want %d", n, 4*nycBuses)
	}
	if n := r.Totals().Events; n != 0 {
		t.Errorf("first positions caused %d events", n)
	}
	for _, v := range []*vehicle{&buses[0], &buses[nycBuses/2], &buses[nycBuses-1]} {
		for _, fleet := range []string{"default", "Fleet%202%20(%C2%A7.%3E", "whole", "by%20wire"} {
			checkObject(t, r, v, fleet)
		}
	}
}

// checkObject compares the state of a bus with its position in the file.
func checkObject(t *testing.T, r *running, v *vehicle, fleet string) {
	t.Helper()
	var got struct {
		Lon, Lat float64
		T        time.Time
		Fences   []struct{ Set, Fence string }
	}
	r.ask(&got, http.MethodGet, "v1/objects/"+strings.ReplaceAll(v.id, " ", "%20")+"?fleet="+fleet, "", nil)
	in := []hit{}
	for _, f := range got.Fences {
		in = append(in, hit{f.Set, f.Fence})
	}
	if got.Lon != v.from.snapLon || got.Lat != v.from.snapLat || got.T.UnixMilli() != v.fromTime || !reflect.DeepEqual(in, v.before) {
		t.Errorf("%s of %s: %+v, want %v in %v", v.id, fleet, got, v.from, v.before)
	}
}

// found is the answer for one point.
type found struct{ Fences []hit }

// checkSearch looks up the places of the buses, and corners of fences, in each form of the request.
// All answers are the oracle's, in its order.
func checkSearch(t *testing.T, r *running, o *oracle, buses []vehicle) {
	var points []place
	for i := range buses {
		points = append(points, buses[i].from)
	}
	for i := range buses {
		points = append(points, buses[i].to)
	}
	points = append(points, corners(t, o, 997)...)
	want := make([][]hit, len(points))
	parallel(len(points), func(i int) { want[i] = o.at(points[i].lon, points[i].lat) })
	check := func(how string, i int, f found) {
		if !reflect.DeepEqual(f.Fences, want[i]) {
			t.Errorf("%s %s, %s: in %v, want %v", how, points[i].lonText, points[i].latText, f.Fences, want[i])
		}
	}

	parallel(len(buses), func(i int) { // the first places; the rest comes in batches
		status, answer, err := r.call(http.MethodGet, "v1/search?lon="+points[i].lonText+"&lat="+points[i].latText, "", nil)
		var f found
		if err != nil || status != http.StatusOK || json.Unmarshal(answer, &f) != nil {
			t.Errorf("GET: %d, %v: %.300s", status, err, answer)
			return
		}
		check("GET", i, f)
	})

	checkSearchByWire(t, r, points)
	pairs := make([]string, len(points))
	for i, p := range points {
		pairs[i] = "[" + p.lonText + "," + p.latText + "]"
	}
	var batch struct{ Results []found }
	r.ask(&batch, http.MethodPost, "v1/search", "application/json", []byte(`{"points":[`+strings.Join(pairs, ",")+`]}`))
	if len(batch.Results) != len(points) {
		t.Fatalf("%d results for %d points", len(batch.Results), len(points))
	}
	for i, f := range batch.Results {
		check("POST", i, f)
	}

	_, answer, err := r.call(http.MethodPost, "v1/search", "application/x-ndjson", []byte(strings.Join(pairs, "\n")))
	if err != nil || bytes.Count(answer, []byte{'\n'}) != len(points) {
		t.Fatalf("%v, %d lines for %d points", err, bytes.Count(answer, []byte{'\n'}), len(points))
	}
	i := 0
	for line := range bytes.Lines(answer) {
		var f found
		if err := json.Unmarshal(line, &f); err != nil {
			t.Errorf("line %d: %v: %.300s", i, err, line)
		}
		check("POST NDJSON", i, f)
		i++
	}
}

// corners returns every n-th vertex of the fences and the middle of its edge: points that the rule
// gives to one of two neighbours.
func corners(t *testing.T, o *oracle, n int) (points []place) {
	text := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	count := 0
	for _, s := range o.sets {
		for _, f := range s.fences {
			for _, part := range f.parts {
				for _, e := range part.edges {
					if count++; count%n != 0 {
						continue
					}
					for _, at := range [][2]float64{{e.x0, e.y0}, {(e.x0 + e.x1) / 2, (e.y0 + e.y1) / 2}} {
						p, err := newPlace(text(at[0]), text(at[1]))
						if err != nil {
							t.Fatal(err)
						}
						points = append(points, p)
					}
				}
			}
		}
	}
	return points
}

// checkMoves moves every bus while subscribers of every kind follow. Each subscriber receives
// exactly the events that follow from the oracle, as the same bytes.
func checkMoves(t *testing.T, r *running, buses []vehicle) {
	sse, lines, python := r.sse(), r.lines(), r.onPython()
	wireConn := r.wireConn()
	byWire := r.onWire(wireConn)
	nc, natsgo := r.onBus()
	moveByHTTP(t, r, buses)
	moveByBus(t, nc, buses)
	before := r.Totals()
	reportByWire(t, wireConn, buses, true)
	if n := r.Totals(); n.Accepted != before.Accepted+nycBuses || n.Late != before.Late+(nycBuses+2)/3 || n.Rejected != before.Rejected {
		t.Errorf("moves by wire: %+v, before %+v", n, before)
	}
	if err := nc.Publish("test.end", nil); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if python != nil {
		<-python.ended // it reads to test.end, the others to the platform's end
	}
	r.signal()
	r.awaitEnd()

	reference := lines.all(t)
	known := map[string]event{}
	for _, d := range reference {
		known[d.payload] = decode(t, d.payload)
	}
	if len(known) != len(reference) {
		t.Errorf("%d different events among %d", len(known), len(reference))
	}
	t.Run("events", func(t *testing.T) { checkEvents(t, known, buses) })
	t.Run("sse", func(t *testing.T) {
		got := sse.all(t)
		if !slices.Equal(payloads(got), payloads(reference)) {
			t.Errorf("%d events, and not the %d of NDJSON in their order", len(got), len(reference))
		}
		for _, d := range got {
			if e := known[d.payload]; e.Type != "paddock.fence."+d.label {
				t.Errorf("event %s of type %s", d.label, e.Type)
			}
		}
	})
	t.Run("wire", func(t *testing.T) {
		if got := byWire.all(t); !slices.Equal(payloads(got), payloads(reference)) {
			t.Errorf("%d events, and not the %d of NDJSON in their order", len(got), len(reference))
		}
	})
	t.Run("nats.go", func(t *testing.T) { checkBus(t, natsgo.all(t), known) })
	t.Run("nats-py", func(t *testing.T) {
		bustest.Python(t)
		checkBus(t, python.all(t), known)
	})
}

// moveByHTTP moves one fleet with one request, which has each third line twice: the repetition is
// late and changes nothing.
func moveByHTTP(t *testing.T, r *running, buses []vehicle) {
	t.Helper()
	var body bytes.Buffer
	late := 0
	for i, v := range buses {
		line := fmt.Sprintf("{\"id\":%q,\"lon\":%s,\"lat\":%s,\"t\":%d}\n", v.id, v.to.lonText, v.to.latText, v.time)
		body.WriteString(line)
		if i%3 == 0 {
			body.WriteString(line)
			late++
		}
	}
	var a accounts
	r.ask(&a, http.MethodPost, "v1/positions", "application/x-ndjson", body.Bytes())
	if a.Accepted != nycBuses || a.Late != late || len(a.Rejected) != 0 {
		t.Fatalf("moves: %d accepted, %d late, rejected %v", a.Accepted, a.Late, a.Rejected)
	}
}

// moveByBus moves the other fleet, with a message for each bus.
func moveByBus(t *testing.T, nc *nats.Conn, buses []vehicle) {
	t.Helper()
	parallel(len(buses), func(i int) {
		v := &buses[i]
		body := fmt.Appendf(nil, `{"lon":%s,"lat":%s,"t":%d}`, v.to.lonText, v.to.latText, v.time)
		answer, err := nc.Request("pos."+token(fleetBus)+"."+token(v.id), body, patience)
		if err != nil {
			t.Errorf("%s: %v", v.id, err)
			return
		}
		var a accounts
		if err := json.Unmarshal(answer.Data, &a); err != nil || a.Accepted != 1 {
			t.Errorf("%s: %v: %s", v.id, err, answer.Data)
		}
	})
}

// token writes an id as a token of a subject, each byte separately.
func token(id string) (s string) {
	for _, c := range []byte(id) {
		if strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", rune(c)) {
			s += string(rune(c))
		} else {
			s += fmt.Sprintf("%%%02X", c)
		}
	}
	return s
}

func payloads(d []delivery) (p []string) {
	for _, one := range d {
		p = append(p, one.payload)
	}
	return p
}

// checkBus compares the messages of the bus with the events of the log: the order is the same for
// each object, and the subjects agree with the events.
func checkBus(t *testing.T, got []delivery, known map[string]event) {
	t.Helper()
	if len(got) != len(known) {
		t.Errorf("%d events, not the %d of NDJSON", len(got), len(known))
	}
	seq := map[[2]string]uint64{}
	for _, d := range got {
		e, ok := known[d.payload]
		if !ok {
			t.Errorf("no other door gave these bytes: %s", d.payload)
			continue
		}
		kind := strings.TrimPrefix(e.Type, "paddock.fence.")
		subject := strings.Join([]string{"fence", e.Data.Set, e.Data.Fence.ID, kind, token(e.Data.Object.Fleet), token(e.Data.Object.ID)}, ".")
		if d.label != subject {
			t.Errorf("event %s came on %s", d.payload, d.label)
		}
		object := [2]string{e.Data.Object.Fleet, e.Data.Object.ID}
		if seq[object]++; seq[object] != e.Data.Seq {
			t.Errorf("%v: event %d came as number %d", object, e.Data.Seq, seq[object])
		}
	}
}

// event is the part of an event that the tests read.
type event struct {
	ID, Type, Source, Subject string
	Time                      time.Time
	Data                      struct {
		Set    string
		Fence  struct{ ID string }
		Object struct {
			ID, Fleet  string
			Properties map[string]any
		}
		Point, Prev  struct{ Coordinates [2]float64 }
		At, T, Since time.Time
		Seq          uint64
		Reason       string
	}
}

func decode(t *testing.T, payload string) (e event) {
	t.Helper()
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		t.Fatalf("%v: %s", err, payload)
	}
	return e
}

// change is one event as the oracle computes it.
type change struct {
	fleet, id, set, fence, kind string
}

// checkEvents compares the events with the oracle's answers before and after
// the move, for the fleets that moved by HTTP, by the bus and by wire.
func checkEvents(t *testing.T, known map[string]event, buses []vehicle) {
	want := map[change]bool{}
	byID := map[string]*vehicle{}
	for i := range buses {
		v := &buses[i]
		byID[v.id] = v
		for _, fleet := range []string{fleetHTTP, fleetBus, fleetWire} {
			for _, h := range v.before {
				if !slices.Contains(v.after, h) {
					want[change{fleet, v.id, h.Set, h.ID, "exit"}] = true
				}
			}
			for _, h := range v.after {
				if !slices.Contains(v.before, h) {
					want[change{fleet, v.id, h.Set, h.ID, "enter"}] = true
				}
			}
		}
	}
	if len(want) < nycBuses {
		t.Fatalf("the oracle knows of %d changes only", len(want))
	}
	for payload, e := range known {
		c := change{e.Data.Object.Fleet, e.Data.Object.ID, e.Data.Set, e.Data.Fence.ID, strings.TrimPrefix(e.Type, "paddock.fence.")}
		if !want[c] {
			t.Errorf("nothing, or one event only, is due: %s", payload)
			continue
		}
		delete(want, c)
		checkEvent(t, &e, byID[c.id])
	}
	for c := range want {
		t.Errorf("missing: %+v", c)
	}
}

// checkEvent compares one event's places and times with the move.
func checkEvent(t *testing.T, e *event, v *vehicle) {
	t.Helper()
	d := &e.Data
	if d.Prev.Coordinates != [2]float64{v.from.snapLon, v.from.snapLat} || d.Point.Coordinates != [2]float64{v.to.snapLon, v.to.snapLat} {
		t.Errorf("%s: from %v to %v, not from %v to %v", e.ID, d.Prev, d.Point, v.from, v.to)
	}
	if at := d.At.UnixMilli(); at < v.fromTime || at > v.time || !d.At.Equal(e.Time) || d.T.UnixMilli() != v.time || d.Reason != "move" {
		t.Errorf("%s: at %v, t %v, reason %s", e.ID, d.At, d.T, d.Reason)
	}
	run, of := strings.CutPrefix(e.Source, "/sets/"+d.Set)
	if e.Subject != v.id || !of || run != "" && !strings.HasPrefix(run, "?run=") { // a journal has one run
		t.Errorf("%s: subject %q, source %q", e.ID, e.Subject, e.Source)
	}
}
