package platform_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/wire"
)

// wireConn connects by wire.
func (r *running) wireConn() *wire.Conn {
	r.t.Helper()
	c, err := wire.Dial(r.t.Context(), "tcp", r.WireAddr().String(), &wire.Config{MaxMessage: 1 << 24})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// onWire follows all events by wire.
func (r *running) onWire(c *wire.Conn) *subscriber {
	r.t.Helper()
	stream, err := c.Open(r.t.Context(), wireapi.KindEvents, wire.OpenOptions{})
	if err == nil {
		err = stream.WriteMsg([]byte(`{}`))
	}
	var first []byte
	if err == nil {
		first, err = stream.ReadMsg(nil)
	}
	if err != nil || !strings.HasPrefix(string(first), `{"type":"paddock.cursor"`) {
		r.t.Fatalf("%v: %s", err, first)
	}
	s := &subscriber{ended: make(chan struct{})}
	go func() { // ends with the platform
		defer close(s.ended)
		s.got, s.err = readMessages(stream)
	}()
	return s
}

// readMessages reads events to a clean end, and hangs up.
func readMessages(stream *wire.Stream) (got []delivery, err error) {
	defer stream.Close()
	for {
		m, err := stream.ReadMsg(nil)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		var record struct{ Type string }
		if err := json.Unmarshal(m, &record); err != nil {
			return got, err
		}
		if record.Type != "paddock.cursor" {
			got = append(got, delivery{payload: string(m)})
		}
	}
}

// wireBody is a position in one of its two forms.
func wireBody(t *testing.T, fleet, id string, p place, at int64, asMap bool) []byte {
	t.Helper()
	var b []byte
	var err error
	if asMap {
		m := map[string]any{"id": id, "lon": p.lon, "lat": p.lat, "t": at}
		if fleet != "" {
			m["fleet"] = fleet
		}
		b, err = cbor.Marshal(m)
	} else {
		b, err = position.Append(nil, &position.Position{Fleet: fleet, ID: id, Lon: p.lon, Lat: p.lat, Time: at})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sendByWire sends bodies and waits until all of them are acknowledged.
func sendByWire(t *testing.T, c *wire.Conn, bodies [][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last uint64
	for _, b := range bodies {
		number, err := c.PostAck(ctx, wireapi.KindUpdate, b)
		if err != nil {
			t.Fatal(err)
		}
		last = number
	}
	if err := c.WaitAcked(ctx, last); err != nil {
		t.Fatal(err)
	}
}

// reportByWire sends the places of the buses before or after the move, alternating between the two
// forms.
func reportByWire(t *testing.T, c *wire.Conn, buses []vehicle, moved bool) {
	t.Helper()
	var bodies [][]byte
	for i, v := range buses {
		at, when := v.from, v.fromTime
		if moved {
			at, when = v.to, v.time
		}
		b := wireBody(t, fleetWire, v.id, at, when, i%2 == 0)
		bodies = append(bodies, b)
		if moved && i%3 == 0 {
			bodies = append(bodies, b) // late, so it changes nothing
		}
	}
	sendByWire(t, c, bodies)
}

// checkSearchByWire compares the answers by wire with those by HTTP, byte for byte.
func checkSearchByWire(t *testing.T, r *running, points []place) {
	c := r.wireConn()
	const part = 1000
	for from := 0; from < len(points); from += part {
		some := points[from:min(from+part, len(points))]
		pairs := make([]string, len(some))
		compact := []byte{1, 2}
		for i, p := range some {
			pairs[i] = "[" + p.lonText + "," + p.latText + "]"
			compact = binary.LittleEndian.AppendUint64(compact, math.Float64bits(p.lon))
			compact = binary.LittleEndian.AppendUint64(compact, math.Float64bits(p.lat))
		}
		document := []byte(`{"points":[` + strings.Join(pairs, ",") + `]}`)
		status, want, err := r.call(http.MethodPost, "v1/search", "application/json", document)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v", status, err)
		}
		for name, body := range map[string][]byte{"JSON": document, "compact": compact} {
			got, err := c.Call(t.Context(), wireapi.KindSearch, body)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s, from point %d on: %v, %d bytes, not the %d of HTTP", name, from, err, len(got), len(want))
			}
		}
	}
}

// The wire door refuses clients without the token, and the metrics count them.
func TestWireToken(t *testing.T) {
	cfg := config.Default()
	cfg.Wire.Token = "s3cret"
	r := start(t, cfg, square(t))
	stranger := r.wireConn()
	<-stranger.Done()
	if e, ok := errors.AsType[*wire.Error](stranger.Err()); !ok || e.Code != wire.Unauthenticated {
		t.Errorf("a stranger: %v", stranger.Err())
	}
	c, err := wire.Dial(t.Context(), "tcp", r.WireAddr().String(), &wire.Config{Auth: wire.TokenAuth("bus 7", []byte("s3cret"))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sendByWire(t, c, [][]byte{wireBody(t, "", "v1", place{lon: 0.5, lat: 0.5}, shuttleTime, false), []byte("bad")})
	answer, err := c.Call(t.Context(), wireapi.KindSearch, []byte(`[0.5,0.5]`))
	if want := `{"fences":[{"set":"zone","id":"square","properties":null}]}` + "\n"; err != nil || string(answer) != want {
		t.Errorf("%v, %s", err, answer)
	}
	_, metrics, err := r.call(http.MethodGet, "metrics", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"paddock_wire_connections 1", "paddock_wire_denied_total 1", "paddock_wire_positions_total 2", "paddock_wire_searches_total 1",
		"paddock_wire_subscribers 0", "paddock_wire_refused_total 0", "paddock_wire_large_refused_total 0",
		`paddock_track_updates_total{result="accepted"} 1`, `paddock_track_updates_total{result="rejected"} 1`,
	} {
		if !strings.Contains(string(metrics), "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}
