package platform_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// problem returns the detail of an answer that must have a status.
func (r *running) problem(status int, method, path string) string {
	r.t.Helper()
	got, answer, err := r.call(method, path, "", nil)
	var p struct{ Detail string }
	if err != nil || got != status || json.Unmarshal(answer, &p) != nil {
		r.t.Fatalf("%s %s: %d, %v: %.300s", method, path, got, err, answer)
	}
	return p.Detail
}

// The past of an object is served at once, after a restart, in pages and in each form, until it is
// erased.
func TestThePastIsServed(t *testing.T) {
	data := t.TempDir()
	r := start(t, keeping(data), nil)
	r.put("v1/sets/s", squareOf("f", 1))
	begin := time.Now().UTC().Add(-26 * time.Hour).Truncate(time.Hour)
	at := func(minute int) string { return begin.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339) }
	post := func(id string, minute int, lon, lat float64, more string) {
		t.Helper()
		r.ask(&accounts{}, http.MethodPost, "v1/positions", "application/json", fmt.Appendf(nil, `{"id":%q,"lon":%v,"lat":%v,"t":%q%s}`, id, lon, lat, at(minute), more))
	}
	post("v", 0, 20, 20, "")
	post("v", 10, 1, 1, `,"speed":3.5,"props":{"line":"M1"}`)
	post("v", 100, 20.5, 20, "")
	post("v", 50, 1, 1.00001, "") // late
	post("v", 50, 7, 7, "")       // and once more
	post("v", 1560, 1, 1, "")
	post("w", 20, 1, 1, "")
	want := `"coordinates":[[20,20],[1,1],[1,1.00001],[20.5,20],[1,1]]`
	for range 2 {
		if got := r.text("v1/objects/v/track"); !strings.Contains(got, want) || !strings.Contains(got, `"times":["`+begin.Format("2006-01-02T15:04:05.000Z")) {
			t.Errorf("track %s", got)
		}
		r.stop()
		r = start(t, keeping(data), nil)
	}
	for query, want := range map[string]string{
		"format=ndjson&from=" + at(10) + "&to=" + at(50): `"lon":1,"lat":1,"speed":3.5,"props":{"line":"M1"}}` + "\n",
		"format=csv&from=" + at(1000):                    ",1,1,,,,\n",
		"format=gpx":                                     `<trkpt lat="1" lon="1"><time>` + begin.Add(10*time.Minute).Format("2006-01-02T15:04:05.000Z") + `</time></trkpt>`,
		"limit=2":                                        `[[20,20],[1,1]]`,
		"tolerance=5":                                    `"coordinates":[[20,20],[1,1],[20.5,20],[1,1]]`,
		"to=" + at(1):                                    `"geometry":{"type":"Point","coordinates":[20,20]}`,
		"to=" + at(0):                                    `"geometry":null`,
		"fleet=none":                                     `"geometry":null`,
	} {
		got := r.text("v1/objects/v/track?" + query)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", query, got, want)
		}
		if strings.Contains(query, "gpx") {
			if err := xml.Unmarshal([]byte(got), &struct{}{}); err != nil {
				t.Error(err)
			}
		}
	}
	var page struct {
		Next     string
		Geometry struct{ Coordinates json.RawMessage }
	}
	r.ask(&page, http.MethodGet, "v1/objects/v/track?limit=2", "", nil)
	r.ask(&page, http.MethodGet, "v1/objects/v/track?limit=2&after="+page.Next, "", nil)
	if got := string(page.Geometry.Coordinates); got != "[[1,1.00001],[20.5,20]]" {
		t.Errorf("the second page is %s", got)
	}

	var visits struct {
		Visits []struct {
			Object, Begin, End, Visit string
			Open                      bool
		}
	}
	r.ask(&visits, http.MethodGet, "v1/visits?set=s&fence=f", "", nil)
	if v := visits.Visits; len(v) != 3 || v[0].Object != "v" || v[0].Open || v[0].End == "" || !v[1].Open || !v[2].Open || v[2].End != "" {
		t.Errorf("visits %+v", v)
	}
	if got := r.text("v1/visits?object=w&format=csv"); !strings.HasPrefix(got, "set,fence,fleet,object,begin,end,open,visit,reason\ns,f,default,w,") {
		t.Errorf("visits %s", got)
	}
	var past struct {
		Objects []struct {
			ID  string
			Lon float64
		}
	}
	r.ask(&past, http.MethodGet, "v1/objects?at="+at(120), "", nil)
	if o := past.Objects; len(o) != 2 || o[0].ID != "v" || o[0].Lon != 20.5 || o[1].ID != "w" {
		t.Errorf("objects %+v", o)
	}
	for path, want := range map[string]string{
		"v1/objects?at=now": "RFC 3339", "v1/objects?set=s&at=" + at(0): "fleet and prefix",
		"v1/objects/v/track?tolerance=-1": "metres", "v1/objects/v/track?format=kml": "geojson", "v1/objects/v/track?from=" + at(1) + "&to=" + at(0): "behind",
		"v1/objects/v/track?after=x": "earlier answer", "v1/visits?format=xml": "csv", "v1/visits?limit=0": "limit", "v1/objects/v/track?limit=1000000": "limit",
	} {
		if got := r.problem(http.StatusBadRequest, http.MethodGet, path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}

	if status, answer, err := r.call(http.MethodDelete, "v1/objects/v?history=1", "", nil); err != nil || status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s, %v", status, answer, err)
	}
	for range 2 {
		if got := r.text("v1/objects/v/track"); !strings.Contains(got, `"geometry":null`) {
			t.Errorf("track %s", got)
		}
		if got := r.text("v1/visits?object=v"); got != `{"visits":[]}`+"\n" {
			t.Errorf("visits %s", got)
		}
		r.problem(http.StatusNotFound, http.MethodDelete, "v1/objects/v?history=1")
		r.stop()
		r = start(t, keeping(data), nil)
	}
	r.text("v1/visits") // after what the journal holds
	if got := r.text("metrics"); !strings.Contains(got, "paddock_history_gaps_total 0") || !strings.Contains(got, "paddock_history_lag_records 0") {
		t.Error("no metrics of the history")
	}
}

func TestWithoutAPast(t *testing.T) {
	r := start(t, keeping(""), nil)
	for _, path := range []string{"v1/objects/v/track", "v1/visits", "v1/objects?at=2026-01-31T15:04:05Z"} {
		if got := r.problem(http.StatusNotFound, http.MethodGet, path); !strings.Contains(got, "--data") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := r.problem(http.StatusNotFound, http.MethodDelete, "v1/objects/v?history=1"); !strings.Contains(got, "--data") {
		t.Error(got)
	}
}

// The past has no object that was refused because there are too many.
func TestThePastOfARefusedObject(t *testing.T) {
	cfg := keeping(t.TempDir())
	cfg.Limits.MaxObjects = 1
	post := func(r *running, first int) (refused string) {
		t.Helper()
		for n := range 1000 {
			id := fmt.Sprint("v", first+n)
			status, answer, err := r.call(http.MethodPost, "v1/positions", "application/json", fmt.Appendf(nil, `{"id":%q,"lon":1,"lat":1}`, id))
			if err != nil || status != http.StatusOK && status != http.StatusTooManyRequests {
				t.Fatalf("%d, %v: %.300s", status, err, answer)
			}
			if status == http.StatusTooManyRequests {
				return id
			}
		}
		t.Fatal("none was refused")
		return ""
	}
	r := start(t, cfg, nil)
	refused := post(r, 0)
	if got := r.text("v1/objects/v0/track"); !strings.Contains(got, `[1,1]`) {
		t.Errorf("track %s", got)
	}
	for range 2 {
		if got := r.text("v1/objects/" + refused + "/track"); !strings.Contains(got, `"geometry":null`) {
			t.Errorf("track of %s: %s", refused, got)
		}
		r.stop()
		r = start(t, cfg, nil)
	}
}
