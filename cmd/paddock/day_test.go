package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"paddock/internal/city"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// day is a part of yesterday in which vehicles send a position each second, and the test's own
// record of it.
type day struct {
	vehicles int
	begin    time.Time
	length   time.Duration

	fleet     *city.Fleet
	middle    city.Fix // of the fence
	ids       []string
	sums      []hash.Hash64 // of each vehicle's lines of CSV, without the arrival
	noon      []city.Fix
	turns     [][]turn // entries and exits of each vehicle
	inside    []bool
	last      []time.Time
	late      []position.Position
	fixes     int
	positions []position.Position // of a second
}

// turn is an entry or an exit, between two positions.
type turn struct{ after, until time.Time }

// half is half the width of the fence, in degrees.
const half = 0.01

// newDay returns ten minutes of a few vehicles, or a whole day of as many as PADDOCK_DAY says.
func newDay(t *testing.T) *day {
	t.Helper()
	yesterday := time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	d := &day{vehicles: 20, begin: yesterday.Add(12*time.Hour - 5*time.Minute), length: 10 * time.Minute}
	if text := os.Getenv("PADDOCK_DAY"); text != "" {
		var err error
		if d.vehicles, err = strconv.Atoi(text); err != nil || d.vehicles < 1 {
			t.Fatalf("PADDOCK_DAY=%s is not a number of vehicles", text)
		}
		d.begin, d.length = yesterday, 24*time.Hour
	}
	town := city.New(city.Config{Seed: 4, Districts: 200, Vehicles: d.vehicles})
	d.fleet, d.middle = town.Fleet(), town.Fleet().Step(time.Second, nil)[0]
	d.ids, d.noon, d.turns = make([]string, d.vehicles), make([]city.Fix, d.vehicles), make([][]turn, d.vehicles)
	d.inside, d.last = make([]bool, d.vehicles), make([]time.Time, d.vehicles)
	for range d.vehicles {
		d.sums = append(d.sums, xxhash.New())
	}
	return d
}

func (d *day) fence() string {
	w, s, e, n := d.middle.Lon-half, d.middle.Lat-half, d.middle.Lon+half, d.middle.Lat+half
	return fmt.Sprintf(`{"type":"Feature","id":"middle","properties":{},"geometry":{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}}`,
		w, s, e, s, e, n, w, n, w, s)
}

// second makes and records the positions of a second. The first vehicle is without a network now
// and then, and sends these positions half a minute late.
func (d *day) second(n int, fixes []city.Fix) []position.Position {
	at := d.begin.Add(time.Duration(n) * time.Second)
	positions := d.positions[:0]
	for i := range fixes {
		f := &fixes[i]
		p := position.Position{
			Fleet: "city", ID: f.ID, Time: at.UnixMilli(), Lon: f.Lon, Lat: f.Lat,
			Speed: position.Known(float32(f.Speed)), Heading: position.Known(float32(f.Heading)), Accuracy: position.Known(float32(f.Accuracy)),
		}
		d.ids[i] = f.ID
		d.record(i, &p, at)
		if !at.After(d.begin.Truncate(24 * time.Hour).Add(12 * time.Hour)) {
			d.noon[i] = *f
		}
		if i == 0 && n%7 == 3 {
			d.late = append(d.late, p)
			continue
		}
		positions = append(positions, p)
		if in := math.Abs(f.Lon-d.middle.Lon) < half && math.Abs(f.Lat-d.middle.Lat) < half; in != d.inside[i] {
			d.turns[i] = append(d.turns[i], turn{d.last[i], at})
			d.inside[i] = in
		}
		d.last[i] = at
	}
	if n%30 == 29 {
		positions = append(positions, d.late...)
		d.late = d.late[:0]
	}
	d.positions = positions
	d.fixes += len(fixes)
	return positions
}

// record adds a line of CSV to the sum of a vehicle.
func (d *day) record(i int, p *position.Position, at time.Time) {
	b := at.AppendFormat(nil, "2006-01-02T15:04:05.000Z")
	for _, v := range []float64{p.Lon, p.Lat} {
		b = strconv.AppendFloat(append(b, ','), v, 'f', -1, 64)
	}
	for _, m := range []position.Measure{p.Accuracy, p.Speed, p.Heading} {
		b = strconv.AppendFloat(append(b, ','), float64(m.Value), 'f', -1, 32)
	}
	_, _ = d.sums[i].Write(append(b, ",\n"...)) // a hash takes everything
}

// send sends the day over wire, as fast as it goes.
func (d *day) send(t *testing.T, address string) {
	t.Helper()
	conn, err := wire.Dial(t.Context(), "tcp", address, &wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var sent []uint64 // last positions of seconds that are not acknowledged
	var fixes []city.Fix
	for n := range int(d.length / time.Second) {
		fixes = d.fleet.Step(time.Second, fixes[:0])
		if len(sent) == 8 {
			if err := conn.WaitAcked(t.Context(), sent[0]); err != nil {
				t.Fatal(err)
			}
			sent = sent[1:]
		}
		sent = append(sent, d.post(t, conn, d.second(n, fixes)))
	}
	if err := conn.WaitAcked(t.Context(), sent[len(sent)-1]); err != nil {
		t.Fatal(err)
	}
}

func (d *day) post(t *testing.T, conn *wire.Conn, positions []position.Position) (last uint64) {
	t.Helper()
	defer conn.Cork()()
	var body []byte
	for i := range positions {
		var err error
		if body, err = position.Append(body[:0], &positions[i]); err == nil {
			last, err = conn.PostAck(t.Context(), wireapi.KindUpdate, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return last
}

// answers are what a platform says of the day, as sums of its answers.
type answers map[string]uint64

// verify compares the answers of a platform with the record, and returns them.
func (d *day) verify(t *testing.T, p *upProcess) answers {
	t.Helper()
	all := answers{}
	for i, id := range d.ids {
		all[id] = d.verifyTrack(t, p, i)
		path := "v1/visits?fleet=city&limit=10000&object=" + id
		text := p.get(t, path)
		all[path] = xxhash.Sum64String(text)
		d.verifyVisits(t, i, text)
	}
	path := "v1/objects?fleet=city&limit=10000&at=" + d.begin.Truncate(24*time.Hour).Add(12*time.Hour).Format(time.RFC3339)
	text := p.get(t, path)
	all[path] = xxhash.Sum64String(text)
	d.verifyNoon(t, text)
	return all
}

// get returns the text of an answer with status 200.
func (p *upProcess) get(t *testing.T, path string) string {
	t.Helper()
	status, text := p.send(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %.200s", path, status, text)
	}
	return text
}

// verifyTrack compares the lines of a vehicle's day with the record, and returns their sum.
func (d *day) verifyTrack(t *testing.T, p *upProcess, i int) uint64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%sv1/objects/%s/track?fleet=city&format=csv&limit=100000&from=%s&to=%s",
		p.url, d.ids[i], d.begin.Format(time.RFC3339), d.begin.Add(d.length).Format(time.RFC3339)), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	whole, read := xxhash.New(), xxhash.New()
	in := bufio.NewReader(res.Body)
	_, _ = in.ReadString('\n') // the names
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = whole.WriteString(line)
		at, rest, _ := strings.Cut(line, ",")
		_, rest, _ = strings.Cut(rest, ",") // the arrival
		_, _ = read.WriteString(at + "," + rest)
	}
	if res.StatusCode != http.StatusOK || read.Sum64() != d.sums[i].Sum64() {
		t.Errorf("%s: %s, and other positions than were sent", d.ids[i], res.Status)
	}
	return whole.Sum64()
}

// verifyVisits compares visits with the turns of a vehicle: entry, exit, entry and so on.
func (d *day) verifyVisits(t *testing.T, i int, text string) {
	t.Helper()
	var page struct {
		Visits []struct {
			Set, Fence string
			Begin, End time.Time
			Open       bool
		}
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		t.Fatal(err)
	}
	turns := d.turns[i]
	if len(page.Visits) != (len(turns)+1)/2 {
		t.Errorf("%s: %d visits, want those of %d turns", d.ids[i], len(page.Visits), len(turns))
		return
	}
	for n, v := range page.Visits {
		if !turns[2*n].holds(v.Begin) || v.Fence != "middle" || v.Set != "zones" {
			t.Errorf("%s: visit %+v, want the entry %+v", d.ids[i], v, turns[2*n])
		}
		if open := 2*n+1 == len(turns); v.Open != open || !open && !turns[2*n+1].holds(v.End) {
			t.Errorf("%s: visit %+v; the turns are %+v", d.ids[i], v, turns)
		}
	}
}

func (t turn) holds(at time.Time) bool { return !at.Before(t.after) && !at.After(t.until) }

// verifyNoon compares the fleet at noon with the record.
func (d *day) verifyNoon(t *testing.T, text string) {
	t.Helper()
	var page struct {
		Objects []struct {
			ID       string
			Lon, Lat float64
		}
		Next string
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Objects) != d.vehicles || page.Next != "" {
		t.Fatalf("%d objects at noon, %v", len(page.Objects), err)
	}
	noon := map[string]city.Fix{}
	for i := range d.noon {
		noon[d.noon[i].ID] = d.noon[i]
	}
	for _, o := range page.Objects {
		if f := noon[o.ID]; o.Lon != f.Lon || o.Lat != f.Lat {
			t.Errorf("%s is at %v %v at noon, want %v %v", o.ID, o.Lon, o.Lat, f.Lon, f.Lat)
		}
	}
}

// A fleet's day comes in over wire, as fast as it goes. Its tracks, its visits and the fleet at
// noon come back as they were sent, and a backup that is restored elsewhere answers the same.
func TestADay(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	limit := upTestTimeout + d.length/12 // two hours for a whole day
	start := func(data string) *upProcess {
		return startUpAs(t, programFor(t, limit, "up", "--data", data, "--initial", "enter",
			"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"))
	}
	begun := time.Now()
	lap := func(what string) {
		t.Logf("%s: %v", what, time.Since(begun).Round(time.Second/10))
		begun = time.Now()
	}
	p := start(t.TempDir())
	if status, answer := p.send(t, http.MethodPut, "v1/sets/zones", d.fence()); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	d.send(t, p.wire)
	lap(fmt.Sprintf("%d positions of %d vehicles sent", d.fixes, d.vehicles))
	want := d.verify(t, p)
	lap("read and compared")
	for _, line := range strings.Split(p.get(t, "metrics"), "\n") {
		if name, value, _ := strings.Cut(line, " "); name == "paddock_history_bytes" || name == "paddock_journal_bytes" || strings.HasPrefix(name, "paddock_history_gaps") {
			n, _ := strconv.ParseFloat(value, 64) // a number of ours
			t.Logf("%s: %.0f, %.1f for each position", name, n, n/float64(d.fixes))
		}
	}
	file, data := filepath.Join(t.TempDir(), "backup.tar"), filepath.Join(t.TempDir(), "data")
	for _, args := range [][]string{{"backup", "-o", file, "--server", p.url}, {"restore", file, "--data", data}} {
		if code, _, stderr := outcomeFor(t, limit, args...); code != 0 {
			t.Fatalf("%s: code %d: %s", args, code, stderr)
		}
	}
	p.terminate(t)
	lap("saved, restored elsewhere, and ended")
	other := start(data)
	for path, sum := range d.verify(t, other) {
		if want[path] != sum {
			t.Errorf("%s: another answer from the backup", path)
		}
	}
	other.terminate(t)
	lap("read from the backup and compared")
}
