package doors

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/bus"
	"paddock/fence/track"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

const zone = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"a","properties":{},
	"geometry":{"type":"Polygon","coordinates":[[[13,52],[14,52],[14,53],[13,53],[13,52]]]}}]}`

func zones(t *testing.T) (dir string, p *Places) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zone.json"), []byte(zone), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlaces(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// Vehicles begin inside a fence, stay near it, and report later times, on the grid.
func TestFleets(t *testing.T) {
	_, p := zones(t)
	if p.Subject != "1 sets, 1 fences (zone)" {
		t.Error(p.Subject)
	}
	all := p.Fleets(5, 2)
	if len(all[0].Vehicles) != 3 || len(all[1].Vehicles) != 2 || all[1].Vehicles[0].ID != "vehicle-1" {
		t.Fatalf("%+v", all)
	}
	times := map[string]int64{}
	var at, before position.Position
	for i := range 3000 {
		all[0].Step(int64(1000+i/100), &at)
		if at.Time <= times[at.ID] || at.Lon < 12.9 || at.Lon > 14.1 || at.Lat < 51.9 || at.Lat > 53.1 || at.Lon == before.Lon && at.Lat == before.Lat {
			t.Fatalf("%+v after %d", at, times[at.ID])
		}
		if text := strconv.FormatFloat(at.Lon, 'f', -1, 64); len(text) > len("13.1234567") {
			t.Fatal(text)
		}
		times[at.ID], before = at.Time, at
	}
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "e.json"), []byte(`{"type":"FeatureCollection","features":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlaces(empty); err == nil || !strings.Contains(err.Error(), "has no fences") {
		t.Error(err)
	}
}

// platformStub counts positions, in place of a platform.
func platformStub(t *testing.T, handle func(*wire.Posts) error) (addr string) {
	t.Helper()
	mux := wire.NewMux()
	mux.HandlePosts(wireapi.KindUpdate, func(_ context.Context, p *wire.Posts) error { return handle(p) })
	server := &wire.Server{Config: &wire.Config{Mux: mux}}
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// A load of a number of positions sends each object once, and one of a length ends. All are
// acknowledged, and each batch has its time.
func TestFeed(t *testing.T) {
	_, p := zones(t)
	var got atomic.Int64
	addr := platformStub(t, func(p *wire.Posts) error {
		for _, body := range p.All() {
			if _, err := position.Parse(body); err != nil {
				t.Error(err)
			}
			got.Add(1)
		}
		return nil
	})
	s := &Sender{Batch: 100, Window: 3}
	fleets := p.Fleets(1050, 2)
	w, err := s.Wire(t.Context(), addr, fleets, Load{Positions: 1050})
	if err != nil || w.Positions != 1050 || got.Load() != 1050 || len(w.Latencies) != 12 {
		t.Errorf("%+v, %v, %d came", w, err, got.Load())
	}
	w, err = s.Wire(t.Context(), addr, fleets, Load{Length: 20 * time.Millisecond})
	if err != nil || w.Positions == 0 || w.Positions != got.Load()-1050 || w.Elapsed < 20*time.Millisecond {
		t.Errorf("%+v, %v, %d came", w, err, got.Load())
	}
}

// A load ends when it is cancelled, also while the service acknowledges nothing.
func TestFeedIsCancelled(t *testing.T) {
	_, p := zones(t)
	release, came := make(chan struct{}), make(chan struct{}, 100)
	addr := platformStub(t, func(*wire.Posts) error {
		came <- struct{}{}
		<-release
		return nil
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	s := &Sender{Batch: 100, Window: 1}
	go func() {
		<-came
		cancel()
	}()
	if _, err := s.Wire(ctx, addr, p.Fleets(1000, 2), Load{Length: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Over HTTP each batch is a request of lines, and each connection has one under way.
func TestHTTP(t *testing.T) {
	_, p := zones(t)
	var got, refuse atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dec := ingest.Decoder{Arrived: track.MillisOf(time.Now()), MaxAhead: 60_000}
		text, err := io.ReadAll(r.Body)
		if err != nil && refuse.Load() > 0 {
			return // the sender has given up after the first refusal
		}
		if err != nil || r.URL.Path != "/v1/positions" || r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%v, %s: %v", err, r.URL, r.Header)
		}
		batch, err := dec.Decode(text)
		if err != nil || len(batch.Rejected) > 0 {
			t.Errorf("%v, %+v", err, batch)
			return
		}
		got.Add(int64(len(batch.Positions)))
		if p := batch.Positions[0]; p.Fleet != "http" {
			t.Errorf("%+v", p)
		}
		if refuse.Load() > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	s := &Sender{Batch: 100, Window: 3}
	fleets := s.Fleets(HTTP, p, "http", 1050, 2)
	if len(fleets) != 6 {
		t.Errorf("%d connections", len(fleets))
	}
	at := &Platform{HTTP: server.Listener.Addr().String()}
	w, err := s.Send(t.Context(), HTTP, at, fleets, Load{Positions: 1050})
	if err != nil || w.Positions != 1050 || got.Load() != 1050 || len(w.Latencies) != 12 {
		t.Errorf("%+v, %v, %d came", w, err, got.Load())
	}
	refuse.Store(1)
	if _, err = s.Send(t.Context(), HTTP, at, fleets, Load{Length: time.Hour}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("refused: %v", err)
	}
}

// On the bus each position is a message, and the last one of a batch has a reply.
func TestBus(t *testing.T) {
	_, p := zones(t)
	server, err := bus.New(bus.Config{Host: "127.0.0.1", Port: -1})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(t.Context())
	local := server.Local("platform")
	var got, asked, refuse atomic.Int64
	_, err = local.Subscribe("pos.>", "", func(msgs []bus.Msg) {
		for _, m := range msgs {
			fleet, id, err := busapi.ParsePositionSubject(m.Subject)
			dec := ingest.Decoder{Fleet: fleet, ID: id, Arrived: track.MillisOf(time.Now()), MaxAhead: 60_000}
			batch, err2 := dec.Decode(m.Data)
			if err != nil || err2 != nil || len(batch.Positions) != 1 || fleet != "bus" || !strings.HasPrefix(id, "vehicle-") {
				t.Errorf("%s %s: %v, %v", m.Subject, m.Data, err, err2)
			}
			got.Add(1)
			if m.Reply == "" {
				continue
			}
			asked.Add(1)
			answer := `{"accepted":1,"late":0,"rejected":[]}`
			if refuse.Load() > 0 {
				answer = `{"error":"overloaded"}`
			}
			_ = local.Publish(m.Reply, "", nil, []byte(answer))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &Sender{Agent: "test", Batch: 100, Window: 3}
	at := &Platform{Bus: server.Addr().String()}
	fleets := s.Fleets(Bus, p, "bus", 1050, 2)
	w, err := s.Send(t.Context(), Bus, at, fleets, Load{Positions: 1050})
	if err != nil || w.Positions != 1050 || got.Load() != 1050 || asked.Load() != 12 || len(w.Latencies) != 12 {
		t.Errorf("%+v, %v, %d came, %d with a reply", w, err, got.Load(), asked.Load())
	}
	refuse.Store(1)
	if _, err = s.Send(t.Context(), Bus, at, fleets, Load{Length: time.Hour}); err == nil || !strings.Contains(err.Error(), "overloaded") {
		t.Errorf("refused: %v", err)
	}
}

func TestParse(t *testing.T) {
	if all, err := Parse([]string{"bus", "wire"}); err != nil || !slices.Equal(all, []Door{Bus, Wire}) {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range [][]string{{"tcp"}, {"bus", "bus"}} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%v", bad)
		}
	}
}

// redisStub answers commands of the protocol of Redis as Tile38 does.
func redisStub(t *testing.T, commands *sync.Map) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer nc.Close()
				serveRedis(nc, commands)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

func serveRedis(nc io.ReadWriter, commands *sync.Map) {
	in := bufio.NewReader(nc)
	line := func() string {
		text, _ := in.ReadString('\n')
		return strings.TrimSpace(text)
	}
	for {
		n, err := strconv.Atoi(strings.TrimPrefix(line(), "*"))
		if err != nil {
			return
		}
		var words []string
		for range n {
			line() // the length
			words = append(words, line())
		}
		name := words[0] + " " + words[1]
		if words[0] == "SET" {
			name += " " + words[2]
		}
		commands.Store(name, strings.Join(words, " "))
		answer := "+OK\r\n"
		if words[0] == "SETCHAN" || words[0] == "SETHOOK" {
			answer = ":1\r\n"
		}
		_, _ = io.WriteString(nc, answer)
	}
}

// The peer gets the fences, and each position as a point.
func TestPeer(t *testing.T) {
	dir, places := zones(t)
	var commands sync.Map
	p := &Peer{sets: dir, addr: redisStub(t, &commands)}
	s, fleets := &Sender{Batch: 10, Window: 2}, places.Fleets(55, 2)
	c, err := p.dial(t.Context())
	if err == nil {
		err = p.setFences(c)
		c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	text, _ := commands.Load("SETCHAN zone/a")
	if text, _ := text.(string); !strings.HasPrefix(text, `SETCHAN zone/a WITHIN fleet FENCE DETECT enter,exit OBJECT {"type":"Polygon",`) {
		t.Error(text)
	}
	w, err := s.Tile38(t.Context(), p, fleets, Load{Positions: 55})
	if err != nil || w.Positions != 55 || len(w.Latencies) != 6 {
		t.Errorf("%+v, %v", w, err)
	}
	if text, _ := commands.Load("SET fleet vehicle-54"); text == nil || !strings.Contains(text.(string), " POINT 52.") {
		t.Error(text)
	}
	p.Endpoint = "http://127.0.0.1:9/"
	if c, err = p.dial(t.Context()); err == nil {
		err = p.setFences(c)
		c.Close()
	}
	text, _ = commands.Load("SETHOOK zone/a")
	if text, _ := text.(string); err != nil || !strings.HasPrefix(text, `SETHOOK zone/a http://127.0.0.1:9/ WITHIN fleet FENCE DETECT enter,exit OBJECT {"type":"Polygon",`) {
		t.Error(text, err)
	}
	if w, err = s.Tile38(t.Context(), p, fleets, Load{Length: 10 * time.Millisecond}); err != nil || w.Positions == 0 {
		t.Errorf("%+v, %v", w, err)
	}
	if err := (&redis{plainConn: &plainConn{in: bufio.NewReader(strings.NewReader("-ERR no\r\n"))}}).answer(); err == nil || !strings.Contains(err.Error(), "ERR no") {
		t.Error(err)
	}
}
