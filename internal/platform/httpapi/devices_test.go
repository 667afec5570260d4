package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/process/keyring"
)

// counted is a town whose doors count. With a key it asks for that, which may send positions, or
// for the operator's.
func counted(t *testing.T, key string) *town {
	t.Helper()
	return countedWith(t, key, io.Discard)
}

// operatorsKey is that of an administrator in a town with keys.
const operatorsKey = "operator's"

// countedWith is counted with a log.
func countedWith(t *testing.T, key string, to io.Writer) *town {
	t.Helper()
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	if key != "" {
		must(t, ring.Add(keyring.Key{Name: "phone", SHA256: keyring.DigestOf(key), Verbs: []string{"positions:write"}}))
		must(t, ring.Add(keyring.Key{Name: "root", SHA256: keyring.DigestOf(operatorsKey), Verbs: []string{"admin"}}))
	}
	return newTown(t, options{server: func(s *http.Server) { s.ErrorLog = log.New(to, "", 0) }, config: func(c *Config) {
		c.Keys, c.KeyRequired, c.Doors = ring, key != "", &doors.Doors{}
		registry := prometheus.NewRegistry()
		registry.MustRegister(c.Doors)
		c.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	}})
}

// state is what GET /v1/objects/{id} shows of an object.
type state struct {
	Lon, Lat                           float64
	T                                  string
	Speed, Heading, Accuracy, Altitude *float64
	Props                              map[string]any
	Fleet                              string
}

func (tw *town) object(id, headers string) state {
	tw.Helper()
	r := tw.get("/v1/objects/"+id, "Authorization", headers)
	if r.status != http.StatusOK {
		tw.Fatalf("%s: %d %s", id, r.status, r.body)
	}
	return decode[state](tw, r)
}

// Each form of a report ends as the same position in the units of this program.
func TestReports(t *testing.T) {
	tw := counted(t, "")
	const t0 = "2026-03-12T11:16:45Z"
	const result = `{"accepted":1,"late":0,"rejected":[]}`
	tw.expect(tw.get("/in/osmand?id=a&lat=52.5&lon=13.4&timestamp=1773314205&hdop=4&altitude=34&speed=36&bearing=90&batt=87"), 200, result)
	tw.expect(tw.post("/in/osmand", "deviceid=b&location=52.5,13.4&timestamp=1773314205000&accuracy=4&altitude=34&speed=36&heading=90&batt=87", "Content-Type", "application/x-www-form-urlencoded"), 200, result)
	const client9 = `{"location":{"timestamp":"` + t0 + `","coords":{"latitude":52.5,"longitude":13.4,"accuracy":4,"speed":18.52,"heading":90,"altitude":34},"battery":{"level":0.87}},"device_id":"c"}`
	tw.expect(tw.post("/in/osmand", client9, "Content-Type", "application/json"), 200, result)
	tw.expect(tw.post("/in/traccar", `{"position":{"fixTime":"2026-03-12T11:16:45.000+00:00","valid":true,"latitude":52.5,"longitude":13.4,"altitude":34,"speed":36,"course":90,"accuracy":4,"attributes":{"batteryLevel":87}},"device":{"uniqueId":"d"}}`, "Content-Type", "application/json"), 200, result)
	tw.expect(tw.post("/in/owntracks", `{"_type":"location","lat":52.5,"lon":13.4,"tst":1773314205,"acc":4,"alt":34,"vel":66.672,"cog":90,"batt":87}`, "X-Limit-U", "jane", "X-Limit-D", "phone"), 200, `[]`)
	tw.expect(tw.get("/?id=f&lat=52.5&lon=13.4&timestamp=1773314205&accuracy=4&altitude=34&speed=18.52&speed_unit=ms&bearing=90&batt=87"), 200, result)
	tw.expect(tw.get("/in/osmand?id=g&lat=52.5&lon=13.4&timestamp=1773314205&accuracy=4&altitude=34&speed=36&bearing=90&batt=87&fleet=vans"), 200, result)
	for _, id := range []string{"a", "b", "c", "d", "jane%2Fphone", "f", "g?fleet=vans"} {
		s := tw.object(id, "")
		close := func(got *float64, want float64) bool { return got != nil && *got > want-1e-3 && *got < want+1e-3 }
		if s.Lat != 52.5 || s.Lon != 13.4 || !strings.HasPrefix(s.T, "2026-03-12T11:16:45") || !close(s.Accuracy, 4) || !close(s.Altitude, 34) || !close(s.Speed, 18.52) || !close(s.Heading, 90) || s.Props["battery"] != 87.0 {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// A body may be packed, and is bounded packed and unpacked.
func TestPackedReports(t *testing.T) {
	tw := counted(t, "")
	const body = `{"_type":"location","lat":1,"lon":2,"tid":"JJ"}`
	tw.expect(tw.post("/in/owntracks", gzipped(body), "Content-Encoding", "gzip"), 200, `[]`)
	tw.problem(tw.post("/in/owntracks", gzipped(body+strings.Repeat(" ", maxReport)), "Content-Encoding", "gzip"), 413, "body: larger than 1048576 bytes when unpacked")
	tw.problem(tw.post("/in/owntracks", body+strings.Repeat(" ", maxReport)), 413, "body: larger than 1048576 bytes; send it in parts")
	tw.problem(tw.post("/in/owntracks", body, "Content-Encoding", "gzip"), 400, "body: not gzip, as Content-Encoding says")
	tw.problem(tw.post("/in/owntracks", gzipped(body)[:30], "Content-Encoding", "gzip"), 400, "body: the gzip is cut off")
	tw.problem(tw.post("/in/owntracks", body, "Content-Encoding", "br"), 415, `Content-Encoding: "br": send the body as it is, or with gzip`)
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// What can never be accepted is answered as done, as devices would repeat it for ever; it is
// counted and listed. What no device of the format sends is an error.
func TestRejectedReports(t *testing.T) {
	tw := counted(t, "")
	const ahead = `{"position":{"fixTime":"2126-03-12T11:16:45Z","latitude":1,"longitude":2},"device":{"uniqueId":"d"}}`
	for _, r := range []reply{
		tw.get("/in/osmand?id=a&lat=95&lon=13.4"),
		tw.get("/in/osmand?id=a&lat=52&lon=13.4&valid=false"),
		tw.post("/in/traccar", ahead),
		tw.post("/in/owntracks", `{"_type":"encrypted","data":"x"}`),
	} {
		if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	tw.expect(tw.post("/in/owntracks", `{"_type":"lwt","tst":1}`), 200, `[]`)
	tw.expect(tw.post("/in/owntracks", ""), 200, `[]`)
	tw.problem(tw.get("/in/osmand?lat=95&lon=13.4"), 400, "id: missing")
	tw.problem(tw.post("/in/traccar", "{"), 400, "body: malformed JSON: unexpected end of JSON input")
	tw.problem(tw.post("/v1/positions", `[`), 400, "body: malformed JSON: unexpected end of JSON input at byte 1")
	tw.expect(tw.post("/v1/positions", `{"id":"v","lat":95,"lon":1}`), 400, "")
	list := decode[struct{ Doors []doors.Status }](tw, tw.get("/v1/doors")).Doors
	got := map[string]string{}
	for _, d := range list {
		got[d.Name] = fmt.Sprint(d.Accepted, d.Ignored, d.Rejected, d.Reasons, d.Last[0].Object, " ", d.Last[0].Field, " ", d.Last[0].Input)
	}
	for name, want := range map[string]string{
		"osmand":    "0 0 3 map[id:1 no_fix:1 place:1] id lat=95&lon=13.4",
		"traccar":   "0 0 2 map[body:1 time:1] body {",
		"owntracks": `0 2 1 map[encrypted:1] encrypted {"_type":"encrypted","data":"x"}`,
		"http":      `0 0 2 map[body:1 place:1]v lat {"id":"v","lat":95,"lon":1}`,
	} {
		if strings.Join(strings.Fields(got[name]), " ") != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got[name], want)
		}
	}
	metrics := string(tw.get("/metrics").body)
	for _, line := range []string{
		`paddock_door_rejected_total{door="osmand",reason="place"} 1`, `paddock_door_positions_total{door="http",result="accepted"} 0`, `paddock_door_ignored_total{door="owntracks"} 2`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s in\n%s", line, metrics)
		}
	}
}

// A page of another site cannot forge positions, not even by an image.
func TestReportsOfPages(t *testing.T) {
	tw := counted(t, "")
	for _, path := range []string{"/in/osmand?id=a&lat=1&lon=2", "/?id=a&lat=1&lon=2"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://elsewhere.example"}, {"Origin", "null"}} {
			tw.problem(tw.get(path, headers...), 403, "cross-origin request from a browser")
		}
		for _, headers := range [][]string{{}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", tw.url}} {
			tw.expect(tw.get(path, headers...), 200, "")
		}
	}
	if r := tw.send(request{method: "GET", path: "/in/osmand?id=a&lat=1&lon=2", host: "evil.example"}); r.status != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name: %d %s", r.status, r.body)
	}
}

func TestReportPathsAndMethods(t *testing.T) {
	tw := counted(t, "")
	const noDoor = "no door of this name: there are /in/osmand, /in/owntracks and /in/traccar, each with the key behind it"
	for _, path := range []string{"/in/", "/in/none", "/in/none/key", "/in/osmand2?id=a&lat=1&lon=2"} {
		tw.problem(tw.get(path), 404, noDoor)
	}
	for method, want := range map[string]int{"PUT": 405, "DELETE": 405, "PATCH": 405, "GET": 200} {
		if r := tw.send(request{method: method, path: "/in/osmand?id=a&lat=1&lon=2"}); r.status != want {
			t.Errorf("%s: %d", method, r.status)
		}
	}
	tw.problem(tw.get("/in/traccar"), 405, "this path takes POST")
	for _, path := range []string{"/?id=a&lat=1", "/?lat=1&lon=2", "/in", "/in?id=a&lat=1&lon=2"} { // these are not for devices
		if r := tw.get(path); r.status == http.StatusOK {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// The key of a device is taken from the path, the query, or Basic or Bearer.
func TestKeysOfDevices(t *testing.T) {
	tw := counted(t, "s3cret")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("jane:s3cret"))
	const q = "id=a&lat=1&lon=2"
	for path, header := range map[string]string{
		"/in/osmand/s3cret?" + q: "", "/in/osmand/s3cret/?" + q: "", "/in/osmand?key=s3cret&" + q: "", "/in/osmand?" + q + "&k%65y=s3cret": "",
		"/?key=s3cret&" + q: "", "/in/osmand/?" + q: "Bearer s3cret", "/in/osmand?" + q: basic,
	} {
		if r := tw.get(path, "Authorization", header); r.status != 200 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/in/osmand?" + q, "/in/osmand/wrong?" + q, "/in/osmand?key=wrong&" + q, "/?" + q, "/in/none/s3crets", "/in/osmand/s3cret/more?" + q, "/in/s3cre"} {
		if r := tw.get(path); r.status != 401 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := tw.get("/v1/objects?key=s3cret"); r.status != 401 { // elsewhere there is no such key
		t.Error(r.status)
	}
	const visible = `the key "root" may do more than positions:write: it is not for URLs, which others see`
	for _, path := range []string{"/in/osmand/" + url.PathEscape(operatorsKey) + "?" + q, "/in/osmand?key=" + url.QueryEscape(operatorsKey) + "&" + q} {
		tw.problem(tw.get(path), 403, visible)
	}
	if r := tw.get("/in/osmand?"+q, "Authorization", "Bearer "+operatorsKey); r.status != 200 { // in a header it is
		t.Error(r.status)
	}
}

// lines gathers what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// The key of a URL is nowhere but in the URL: in no answer, no list, no metric, no log line, and
// not in the request that handlers see.
func TestKeysAreCut(t *testing.T) {
	const key = "k3yOfAPhone"
	logged := &lines{}
	for _, token := range []string{key, ""} {
		tw := countedWith(t, token, logged)
		texts := map[string]string{}
		for _, path := range []string{
			"/in/osmand/" + key + "?id=a&lat=95&lon=2", "/in/osmand?id=a&lat=x&lon=2&key=" + key, "/in/osmand/" + key, "/in/" + key, "/in/none/" + key + "?key=" + key,
			"/?id=a&lat=95&lon=2&key=" + key, "/in/osmand/" + key + "?%zz", "/in/osmand?key=" + key + "&%zz", "/in/osmand/" + key + "?id=a&lat=1&lon=2&speed_unit=x", "/in/traccar/" + key,
			"/in/osmand/" + key + "?id=a&lat=1&lon=2&fleet=" + strings.Repeat("x", 300),
		} {
			r := tw.get(path)
			texts[path] = fmt.Sprint(r.header, string(r.body))
			r = tw.post(path, "lat=95&lon=1&key="+key)
			texts["POST "+path] = fmt.Sprint(r.header, string(r.body))
		}
		texts["/v1/doors"] = string(tw.get("/v1/doors", "Authorization", "Bearer "+operatorsKey).body)
		texts["/metrics"] = string(tw.get("/metrics", "Authorization", "Bearer "+operatorsKey).body)
		if !strings.Contains(texts["/v1/doors"], "lat=95") {
			t.Errorf("nothing is listed: %s", texts["/v1/doors"])
		}
		tw.stop()
		texts["log"] = logged.b.String()
		for from, text := range texts {
			if strings.Contains(text, key) {
				t.Errorf("%s has the key: %s", from, text)
			}
		}
	}
	for _, target := range []string{"/in/osmand/" + key, "/in/osmand/%6b3yOfAPhone?key=" + key, "/?id=a&lat=1&lon=2&key=" + key, "/in/none/" + key, "/in/" + key + "?x=1"} {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		cut := cutKey(r)
		for _, at := range []*http.Request{r, cut} {
			if text := fmt.Sprint(at.URL, at.RequestURI, at.URL.RawPath, at.URL.RawQuery); strings.Contains(text, "3yOfAPhone") {
				t.Errorf("%s: %s", target, text)
			}
		}
	}
}

// FuzzKeysAreCut checks that whatever stands around a key in a URL, nothing of it is left.
func FuzzKeysAreCut(f *testing.F) {
	f.Add("osmand", "", "id=a&lat=1", "lon=2")
	f.Add("none", "/more/", "k%65y=x", "%zz&key")
	f.Add("", "//..", "", "")
	f.Fuzz(func(t *testing.T, door, tail, before, after string) {
		const key = "k3yOfAPhone"
		if strings.Contains(door+tail+before+after, key) || strings.Contains(door, "/") {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery = "/in/"+door+"/"+key+tail, before+"&key="+key+"&"+after
		r.URL.RawPath = r.URL.Path
		r.RequestURI = r.URL.RequestURI()
		for _, at := range []*http.Request{cutKey(r), r} {
			if text := fmt.Sprint(at.URL.String(), at.RequestURI, at.URL.RawPath, at.URL.RawQuery, at.URL.Path); strings.Contains(text, key) {
				t.Errorf("%q is left", text)
			}
		}
	})
}

// A report for which there is no room is refused, so that the device sends it again.
func TestReportsWithoutRoom(t *testing.T) {
	tw := newTown(t, options{track: track.Options{MaxObjects: 1}})
	full := 0
	for i := range 200 {
		if r := tw.get(fmt.Sprintf("/in/osmand?id=v%d&lat=1&lon=2", i)); r.status == http.StatusTooManyRequests && r.header.Get("Retry-After") != "" {
			full++
		} else if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if full < 100 {
		t.Errorf("%d are refused", full)
	}
	tw.api.cfg.Pipeline.Refuse("the disk is full")
	for path, body := range map[string]string{
		"/in/osmand": "id=a&lat=1&lon=2", "/in/owntracks": `{"_type":"location","lat":1,"lon":2,"tid":"JJ"}`,
		"/in/traccar": `{"position":{"latitude":1,"longitude":2},"device":{"uniqueId":"d"}}`,
	} {
		if r := tw.post(path, body); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), "the disk is full") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	for _, d := range decode[struct{ Doors []doors.Status }](tw, tw.get("/v1/doors")).Doors {
		if d.Name == "osmand" && (d.Reasons["full"] != uint64(full) || d.Reasons["overloaded"] != 1 || d.Last[0].Object != "a") {
			t.Errorf("%+v", d)
		}
	}
}
