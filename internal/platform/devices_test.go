package platform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protowire"

	"paddock/internal/platform"
	"paddock/internal/platform/doors/source"
	"paddock/internal/platform/doors/source/sourcetest"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
	"paddock/internal/process/strictyaml"
	"paddock/wire"
)

// reading is one position of a phone's day, in the units of this program.
type reading struct {
	at                                 time.Time
	lon, lat                           float64
	speed, heading, accuracy, altitude float64
}

// phoneDay is a walk with a reading each quarter of an hour until now.
func phoneDay() (day []reading) {
	const n = 96
	begin := time.Now().UTC().Truncate(time.Second).Add(-n * 15 * time.Minute)
	for i := range n {
		a := 2 * math.Pi * float64(i) / n
		day = append(day, reading{
			at: begin.Add(time.Duration(i) * 15 * time.Minute), lon: 13.4 + math.Round(1e5*math.Cos(a))/1e7, lat: 52.5 + math.Round(1e5*math.Sin(a))/1e7,
			speed: float64(i%7) * 2.5, heading: float64(i * 3), accuracy: float64(4 + i%3), altitude: float64(30 + i%5),
		})
	}
	return day
}

const knots = 3600.0 / 1852

// forms are the ways in which phones send a reading over HTTP: method, path, content type, body.
var forms = map[string]func(r reading) (method, path, contentType, body string){
	"osmand": func(r reading) (string, string, string, string) {
		q := url.Values{
			"id": {"osmand"}, "lat": {num(r.lat)}, "lon": {num(r.lon)}, "timestamp": {fmt.Sprint(r.at.Unix())}, "hdop": {num(r.accuracy)},
			"altitude": {num(r.altitude)}, "speed": {num(r.speed * knots)}, "bearing": {num(r.heading)},
		}
		return http.MethodGet, "in/osmand/KEY?" + q.Encode(), "", ""
	},
	"form": func(r reading) (string, string, string, string) {
		body := fmt.Sprintf("id=form&location=%v,%v&timestamp=%s&accuracy=%v&altitude=%v&speed=%v&heading=%v&batt=80", r.lat, r.lon, r.at.Format(time.RFC3339), r.accuracy, r.altitude, num(r.speed*knots), r.heading)
		return http.MethodPost, "in/osmand?key=KEY", "application/x-www-form-urlencoded", body
	},
	"client9": func(r reading) (string, string, string, string) {
		body := fmt.Sprintf(`{"location":{"timestamp":%q,"coords":{"latitude":%v,"longitude":%v,"accuracy":%v,"speed":%v,"heading":%v,"altitude":%v},"is_moving":true,"battery":{"level":0.8,"is_charging":false}},"device_id":"client9"}`,
			r.at.Format("2006-01-02T15:04:05.000Z"), r.lat, r.lon, r.accuracy, r.speed, r.heading, r.altitude)
		return http.MethodPost, "in/osmand/KEY", "application/json", body
	},
	"forwarded": func(r reading) (string, string, string, string) {
		body := fmt.Sprintf(`{"position":{"id":0,"deviceId":1,"protocol":"gt06","fixTime":%q,"outdated":false,"valid":true,"latitude":%v,"longitude":%v,"altitude":%v,"speed":%s,"course":%v,"accuracy":%v,"attributes":{"batteryLevel":80}},"device":{"id":1,"name":"Truck","uniqueId":"forwarded"}}`,
			r.at.Format("2006-01-02T15:04:05.000+00:00"), r.lat, r.lon, r.altitude, num(r.speed*knots), r.heading, r.accuracy)
		return http.MethodPost, "in/traccar/KEY", "application/json", body
	},
	"jane/phone": func(r reading) (string, string, string, string) {
		return http.MethodPost, "in/owntracks/KEY", "application/json", ownTracks(r, "owntracks/jane/phone")
	},
}

func num(v float64) string { return fmt.Sprintf("%.9g", v) }

// ownTracks is a reading as a message of OwnTracks.
func ownTracks(r reading, topic string) string {
	return fmt.Sprintf(`{"_type":"location","tid":"JJ","lat":%v,"lon":%v,"tst":%d,"acc":%v,"alt":%v,"vel":%s,"cog":%v,"topic":%q}`,
		r.lat, r.lon, r.at.Unix(), r.accuracy, r.altitude, num(r.speed*3.6), r.heading, topic)
}

// feedOf is a reading as a feed of GTFS-realtime with one vehicle.
func feedOf(r reading) []byte {
	sub := func(m []byte, n protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), inner)
	}
	var at []byte
	for n, v := range map[protowire.Number]float64{1: r.lat, 2: r.lon, 3: r.heading, 5: r.speed} {
		at = protowire.AppendFixed32(protowire.AppendTag(at, n, protowire.Fixed32Type), math.Float32bits(float32(v)))
	}
	vehicle := sub(sub(nil, 1, sub(nil, 1, []byte("trip-7"))), 2, at)
	vehicle = protowire.AppendVarint(protowire.AppendTag(vehicle, 5, protowire.VarintType), uint64(r.at.Unix()))
	vehicle = sub(vehicle, 8, sub(nil, 1, []byte("bus")))
	return sub(sub(nil, 1, sub(nil, 1, []byte("2.0"))), 2, sub(sub(nil, 1, []byte("e1")), 4, vehicle))
}

// sourcesOf reads the section sources of a file.
func sourcesOf(t *testing.T, text string) []source.Settings {
	t.Helper()
	file, root := strictyaml.Parse("paddock.yaml", []byte(text))
	all := source.Read(root)
	if err := file.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// logged is a log that tests read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A day of a phone in each form ends as the same positions: the object's last one, and its track.
// The key of the URLs is in no log line and no list.
func TestAPhonesDayInEachForm(t *testing.T) {
	const key, token = "k3yOfThePhone", "t0kenOfTheOperator"
	broker := sourcetest.Mosquitto(t)
	day := phoneDay()
	var shown atomic.Int64 // of the feed
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(feedOf(day[shown.Load()])) }))
	defer feed.Close()
	cfg := keeping(t.TempDir())
	cfg.HTTP.Token = token
	cfg.Access.Keys = []keyring.Key{{Name: "phones", SHA256: keyring.DigestOf(key), Verbs: keyring.PositionsWrite.Names()}}
	log := &logged{}
	r := startWith(t, platform.Options{
		Config: cfg, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Sources: sourcesOf(t, fmt.Sprintf("- mqtt: mqtt://%s\n  user: %s\n  password: %s\n  topics: [owntracks/+/+]\n  format: owntracks\n- gtfs_rt: %s\n  every: 1s\n", broker.Addr, sourcetest.User, sourcetest.Password, feed.URL)),
	})
	get := func(path string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v %s", path, res.Status, err, text.String())
		}
		return text.Bytes()
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !done(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s", what, get("v1/doors"))
			}
		}
	}
	doors := func() string { return string(get("v1/doors")) }
	until("the broker is connected", func() bool { return strings.Contains(doors(), `"connected":true,"connects":1`) })
	for _, reading := range day {
		for name, form := range forms {
			method, path, contentType, body := form(reading)
			status, answer, err := r.call(method, strings.Replace(path, "KEY", key, 1), contentType, []byte(body))
			if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"accepted":1`) && string(answer) != "[]\n" {
				t.Fatalf("%s: %d %s %v", name, status, answer, err)
			}
		}
	}
	for i, reading := range day {
		if i%8 == 0 || i == len(day)-1 {
			broker.Publish("owntracks/joe/mqtt", ownTracks(reading, "owntracks/joe/mqtt"), 1)
		}
	}
	shown.Store(int64(len(day) - 1))
	last := day[len(day)-1]
	ids := []string{"bus", "joe/mqtt"}
	for name := range forms {
		ids = append(ids, name)
	}
	for _, id := range ids {
		path := "v1/objects/" + url.PathEscape(id)
		until(id, func() bool {
			return bytes.Contains(get("v1/objects"), fmt.Appendf(nil, `"id":%q`, id)) && strings.Contains(string(get(path)), last.at.Format("2006-01-02T15:04:05.000Z"))
		})
		var o struct{ Lon, Lat, Speed, Heading, Accuracy, Altitude float64 }
		if err := json.Unmarshal(get(path), &o); err != nil {
			t.Fatal(err)
		}
		near := func(a, b, by float64) bool { return math.Abs(a-b) <= by }
		degrees := 1e-7
		if id == "bus" { // its format has 32 bits for a number, and fewer fields
			degrees, o.Accuracy, o.Altitude = 4e-6, last.accuracy, last.altitude
		}
		if !near(o.Lon, last.lon, degrees) || !near(o.Lat, last.lat, degrees) || !near(o.Speed, last.speed, 1e-3) || !near(o.Heading, last.heading, 1e-3) || o.Accuracy != last.accuracy || o.Altitude != last.altitude {
			t.Errorf("%s: %+v, want %+v", id, o, last)
		}
	}
	for name := range forms {
		var track struct {
			Geometry struct{ Coordinates [][2]float64 }
		}
		if err := json.Unmarshal(get("v1/objects/"+url.PathEscape(name)+"/track"), &track); err != nil {
			t.Fatal(err)
		}
		if got := track.Geometry.Coordinates; len(got) != len(day) || math.Abs(got[40][0]-day[40].lon) > 1e-7 || math.Abs(got[40][1]-day[40].lat) > 1e-7 {
			t.Errorf("%s: a track of %d, want %d", name, len(got), len(day))
		}
	}
	if status, _, err := r.call(http.MethodGet, "in/osmand/"+key+"?id=osmand&lat=95&lon=1", "", nil); err != nil || status != http.StatusOK {
		t.Error(status, err)
	}
	list, metrics := doors(), string(get("metrics"))
	if !strings.Contains(list, `"input":"id=osmand&lat=95&lon=1"`) || !strings.Contains(metrics, `paddock_source_connected{source="mqtt"} 1`) || !strings.Contains(metrics, `paddock_door_rejected_total{door="osmand",reason="place"} 1`) {
		t.Errorf("%s\n%s", list, metrics)
	}
	r.signal()
	r.awaitEnd()
	for what, text := range map[string]string{"the list of doors": list, "the metrics": metrics, "the log": log.String()} {
		if strings.Contains(text, key) || strings.Contains(text, token) || strings.Contains(text, sourcetest.Password) {
			t.Errorf("%s shows a secret: %s", what, text)
		}
	}
}

// The bus and wire list what they reject, as HTTP does: the object if it is known, and the reason.
func TestRejectionsOfBusAndWire(t *testing.T) {
	r := start(t, config.Default(), nil)
	nc, err := nats.Connect("nats://" + r.BusAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for subject, body := range map[string]string{"pos.f.v1": `{"lat":95,"lon":1}`, "pos.f.v2": `{"lat":5,"lon":1}`, "pos.f": `{}`} {
		if _, err := nc.Request(subject, []byte(body), patience); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := wire.Dial(t.Context(), "tcp", r.WireAddr().String(), &wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body, err := position.Append(nil, &position.Position{ID: "w1", Time: time.Now().UnixMilli(), Lon: 1, Lat: 95})
	if err != nil {
		t.Fatal(err)
	}
	last, err := conn.PostAck(t.Context(), wireapi.KindUpdate, body)
	if err == nil {
		err = conn.WaitAcked(t.Context(), last)
	}
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Doors []struct {
			Name               string
			Accepted, Rejected int
			Reasons            map[string]int
			Last               []struct{ Object, Reason, Input string }
		}
	}
	r.ask(&list, http.MethodGet, "v1/doors", "", nil)
	for _, d := range list.Doors {
		switch d.Name {
		case "bus":
			if d.Accepted != 1 || d.Rejected != 2 || d.Reasons["place"] != 1 || d.Reasons["body"] != 1 || !strings.Contains(fmt.Sprint(d.Last), "{v1 lat: 95 is out of range") {
				t.Errorf("%+v", d)
			}
		case "wire":
			if d.Accepted != 0 || d.Rejected != 1 || d.Last[0].Object != "w1" || !strings.HasPrefix(d.Last[0].Input, "hex:01") {
				t.Errorf("%+v", d)
			}
		case "http":
		default:
			t.Errorf("a door %s", d.Name)
		}
	}
	if len(list.Doors) != 3 {
		t.Errorf("%+v", list)
	}
}
