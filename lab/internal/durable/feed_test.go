package durable

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

const zone = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"a","properties":{},
	"geometry":{"type":"Polygon","coordinates":[[[13,52],[14,52],[14,53],[13,53],[13,52]]]}}]}`

func zones(t *testing.T) (dir string, p *places) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zone.json"), []byte(zone), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPlaces(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// Vehicles begin inside a fence, stay near it, and report later times, on the grid.
func TestFleets(t *testing.T) {
	_, p := zones(t)
	if p.subject != "1 sets, 1 fences (zone)" {
		t.Error(p.subject)
	}
	all := p.fleets(5, 2)
	if len(all[0].vehicles) != 3 || len(all[1].vehicles) != 2 || all[1].vehicles[0].id != "vehicle-1" {
		t.Fatalf("%+v", all)
	}
	times := map[string]int64{}
	var at, before position.Position
	for i := range 3000 {
		all[0].step(int64(1000+i/100), &at)
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
	if _, err := readPlaces(empty); err == nil || !strings.Contains(err.Error(), "has no fences") {
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
	b := &bench{Options: Options{Batch: 100, Window: 3}}
	fleets := p.fleets(1050, 2)
	w, err := b.feed(t.Context(), addr, fleets, load{positions: 1050})
	if err != nil || w.positions != 1050 || got.Load() != 1050 || len(w.latencies) != 12 {
		t.Errorf("%+v, %v, %d came", w, err, got.Load())
	}
	w, err = b.feed(t.Context(), addr, fleets, load{length: 20 * time.Millisecond})
	if err != nil || w.positions == 0 || w.positions != got.Load()-1050 || w.elapsed < 20*time.Millisecond {
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
	b := &bench{Options: Options{Batch: 100, Window: 1}}
	go func() {
		<-came
		cancel()
	}()
	if _, err := b.feed(ctx, addr, p.fleets(1000, 2), load{length: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
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
		if words[0] == "SETCHAN" {
			answer = ":1\r\n"
		}
		_, _ = io.WriteString(nc, answer)
	}
}

// The peer gets the fences, and each position as a point.
func TestPeer(t *testing.T) {
	dir, places := zones(t)
	var commands sync.Map
	p := &peer{
		b: &bench{Options: Options{Sets: dir, Batch: 10, Window: 2}}, addr: redisStub(t, &commands), fleets: places.fleets(55, 2),
	}
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
	w, err := p.feed(t.Context(), load{positions: 55})
	if err != nil || w.positions != 55 || len(w.latencies) != 6 {
		t.Errorf("%+v, %v", w, err)
	}
	if text, _ := commands.Load("SET fleet vehicle-54"); text == nil || !strings.Contains(text.(string), " POINT 52.") {
		t.Error(text)
	}
	if w, err = p.feed(t.Context(), load{length: 10 * time.Millisecond}); err != nil || w.positions == 0 {
		t.Errorf("%+v, %v", w, err)
	}
	if err := (&redis{in: bufio.NewReader(strings.NewReader("-ERR no\r\n"))}).answer(); err == nil || !strings.Contains(err.Error(), "ERR no") {
		t.Error(err)
	}
}
