package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestSendRetries holds that positions are sent again, after the wait that is asked for, while the
// platform has no room or its connection breaks, and that each is accepted once. Lists of many
// objects and events are printed to their ends.
func TestSendRetries(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	p.dock(t)
	to, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var requests atomic.Int32
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"detail":"no room"}`, http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"detail":"too many objects"}`, http.StatusTooManyRequests)
		case 4: // the second batch
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		case 5: // a platform that is stopped after 400 positions
			body, _ := io.ReadAll(r.Body)
			lines := strings.SplitAfter(string(body), "\n")
			status, answer, err := p.try(r.Context(), http.MethodPost, "v1/positions", strings.Join(lines[:400], ""))
			if err != nil || status != http.StatusOK {
				t.Errorf("%d, %v", status, err)
			}
			var rest []string
			for i := 400; i < len(lines)-1; i++ {
				rest = append(rest, fmt.Sprintf(`{"index":%d,"reason":"not applied: shutting down, send it again later"}`, i))
			}
			_, _ = io.WriteString(w, strings.Replace(answer, `"rejected":[]`, `"rejected":[`+strings.Join(rest, ",")+"]", 1))
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(door.Close)
	file := filepath.Join(t.TempDir(), "day.ndjson")
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, `{"id":"v%d","lon":0.5,"lat":0.5,"t":%d}`+"\n", i, 1773314200000+i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := outcomeOf(t, "positions", "send", file, "--speed", "max", "--server", door.URL)
	if code != exitOK || stdout != "2500 positions sent: 2500 accepted, 0 late, 0 outliers; 0 rejected\n" {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	if n := requests.Load(); n != 7 {
		t.Errorf("%d requests", n)
	}
	for _, c := range []struct {
		args, element string
		n             int
	}{
		{"objects ls --json", `"state": `, 2500},
		{"objects ls", "docks/dock", 2500},
		{"objects ls --limit 1500", "docks/dock", 1500},
		{"visits", " open ", 2500},
		{"events ls --json", `"type":"paddock.fence.enter"`, 2500},
		{"events ls --limit 1200", " enter docks/dock ", 1200},
		{"events ls --last 1100", " enter docks/dock ", 1100},
	} {
		code, stdout, stderr := outcomeOf(t, append(strings.Fields(c.args), "--server", p.url)...)
		if n := strings.Count(stdout, c.element); code != exitOK || n != c.n {
			t.Errorf("%s: code %d, %d elements, want %d: %s", c.args, code, n, c.n, stderr)
		}
		if c.args == "objects ls --json" && !json.Valid([]byte(stdout)) {
			t.Error("the pages are no array")
		}
	}
}

// TestSendLoop holds that a recording is sent again and again with later times, and that SIGINT
// ends it with its summary.
func TestSendLoop(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	p.dock(t)
	file := filepath.Join(t.TempDir(), "v.csv")
	table := "t,lon,lat\n2026-03-12T11:16:40Z,0.5,0.5\n2026-03-12T11:16:41Z,1.5,0.5\n"
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	events := tail(t, p, "--since", "1h")
	cmd := program(t, "positions", "send", file, "--speed", "20x", "--loop", "--shift-to-now", "--server", p.url)
	var out logText
	cmd.Stdout, cmd.Stderr = &out, &out
	startOf(t, cmd)
	for range 3 {
		events.has(t, " enter docks/dock default/v")
		events.has(t, " exit docks/dock default/v")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), " accepted, 0 late, 0 outliers; 0 rejected\n") {
		t.Errorf("%v: %s", err, &out)
	}
}

// TestSendFeeds holds that recorded feeds are sent one behind the other, and that a vehicle whose
// time has not changed is late.
func TestSendFeeds(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	dir := t.TempDir()
	for name, vehicles := range map[string]map[string]uint64{
		"1.pb": {"a": 1773314200, "b": 1773314100}, "2.pb": {"a": 1773314230, "b": 1773314100},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), gtfsFeed(vehicles), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := outcomeOf(t, "positions", "send", filepath.Join(dir, "1.pb"), filepath.Join(dir, "2.pb"), "--speed", "max", "--fleet", "buses", "--server", p.url)
	if code != exitOK || stdout != "4 positions sent: 3 accepted, 1 late, 0 outliers; 0 rejected\n" {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	if o := p.request(t, http.MethodGet, "v1/objects/a?fleet=buses", ""); !strings.Contains(o, `"lon":13.5,"lat":52.5,"t":"2026-03-12T11:17:10.000Z"`) {
		t.Error(o)
	}
}

// gtfsFeed returns a feed of GTFS-realtime: the times of vehicles by their ids.
func gtfsFeed(vehicles map[string]uint64) []byte {
	field := func(b []byte, n protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), body)
	}
	message := field(nil, 1, field(nil, 1, []byte("2.0"))) // the header, with its version
	for id, at := range vehicles {
		var place []byte
		for i, v := range []float32{52.5, 13.5} {
			place = protowire.AppendFixed32(protowire.AppendTag(place, protowire.Number(i+1), protowire.Fixed32Type), math.Float32bits(v))
		}
		vehicle := field(field(nil, 2, place), 8, field(nil, 1, []byte(id)))
		vehicle = protowire.AppendVarint(protowire.AppendTag(vehicle, 5, protowire.VarintType), at)
		message = field(message, 2, field(field(nil, 1, []byte("e")), 4, vehicle))
	}
	return message
}
