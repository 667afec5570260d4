package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// platformKills is the number of kills where PADDOCK_PLATFORM_KILLS is not set.
const platformKills = 10

// survivor is a platform that is killed again and again, and what it has acknowledged so far.
type survivor struct {
	t    *testing.T
	data string
	*upProcess

	mu         sync.Mutex
	sent       int
	times      map[string]int64 // of the newest acknowledged position, by object
	generation uint64           // of the set, acknowledged
	cursor     string           // of a subscriber
	events     []string         // that it has
}

// TestPlatformIsKilled kills a platform at random moments, while positions come in by HTTP, the bus
// and wire, and fences are edited. Each time the next one knows every acknowledged position and
// edit, and a subscriber goes on with its cursor. In the end the subscriber has every event once,
// and a replay of the kept records gives the same events.
func TestPlatformIsKilled(t *testing.T) {
	t.Parallel()
	kills := platformKills
	if text := os.Getenv("PADDOCK_PLATFORM_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("%d kills, seed %d", kills, seed)
	plan := killPlan{kills, rand.New(rand.NewPCG(seed, 0))}
	s := &survivor{t: t, data: t.TempDir(), times: map[string]int64{}}
	for range kills {
		s.start()
		s.verify()
		ctx, stop := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for _, work := range []func(context.Context) error{s.byHTTP, s.byBus, s.byWire, s.edit, s.subscribe} {
			clients.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					if err := work(ctx); err != nil && ctx.Err() == nil {
						select { // the process may be gone
						case <-ctx.Done():
						case <-time.After(5 * time.Millisecond):
						}
					}
				}
			})
		}
		plan.pass(ctx, 600*time.Millisecond)
		_ = s.Process.Kill()
		stop()
		clients.Wait()
		_ = s.Wait() // it was killed
	}
	s.start()
	s.verify()
	for more := true; more; {
		before := len(s.events)
		if err := s.subscribe(t.Context()); err != nil {
			t.Fatal(err)
		}
		more = len(s.events) > before
	}
	s.terminate(t)
	s.judge()
}

func (s *survivor) start() {
	s.t.Helper()
	s.upProcess = startUpFor(s.t, 5*time.Minute, "up", "--data", s.data, "--initial", "enter",
		"--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")
}

// call makes a request that has to succeed.
func (s *survivor) call(ctx context.Context, method, path, body string, answer any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	if to, ok := answer.(*string); ok {
		*to = string(text)
		return res.Header, nil
	}
	return res.Header, json.Unmarshal(text, answer)
}

// next returns a later position of an object of a door. Every other one is in the fence a.
func (s *survivor) next(door string) position.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	return position.Position{
		ID: fmt.Sprint(door, s.sent%20), Lon: float64(s.sent / 20 % 2), Lat: 0.5,
		Time: time.Now().UnixMilli() - 1_000_000 + int64(s.sent), // always later than the one before
	}
}

func (s *survivor) acknowledged(p position.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[p.ID] = max(s.times[p.ID], p.Time)
}

// result is the answer to a position.
type result struct {
	Accepted, Late int
	Rejected       []struct{ Reason string }
}

func (s *survivor) judgeAnswer(p position.Position, r result) error {
	if r.Accepted != 1 {
		return fmt.Errorf("%+v", r)
	}
	s.acknowledged(p)
	return nil
}

func document(p position.Position) string {
	return fmt.Sprintf(`{"id":%q,"lon":%v,"lat":%v,"t":%d}`, p.ID, p.Lon, p.Lat, p.Time)
}

func (s *survivor) byHTTP(ctx context.Context) error {
	p := s.next("http")
	var r result
	if _, err := s.call(ctx, http.MethodPost, "v1/positions", document(p), &r); err != nil {
		return err
	}
	return s.judgeAnswer(p, r)
}

func (s *survivor) byBus(ctx context.Context) error {
	nc, err := nats.Connect(s.bus, nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	for ctx.Err() == nil {
		p := s.next("bus")
		m, err := nc.RequestWithContext(ctx, "pos.default."+p.ID, []byte(document(p)))
		if err != nil {
			return err
		}
		var r result
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		if err := s.judgeAnswer(p, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *survivor) byWire(ctx context.Context) error {
	conn, err := wire.Dial(ctx, "tcp", s.wire, &wire.Config{})
	if err != nil {
		return err
	}
	defer conn.Close()
	for ctx.Err() == nil {
		var sent []position.Position
		var last uint64
		for range 10 {
			p := s.next("wire")
			body, err := position.Append(nil, &p)
			if err != nil {
				return err
			}
			if last, err = conn.PostAck(ctx, wireapi.KindUpdate, body); err != nil {
				return err
			}
			sent = append(sent, p)
		}
		if err := conn.WaitAcked(ctx, last); err != nil {
			return err
		}
		for _, p := range sent {
			s.acknowledged(p)
		}
	}
	return nil
}

// edit moves a fence, or makes the set.
func (s *survivor) edit(ctx context.Context) error {
	s.mu.Lock()
	east := 0.6 + float64(s.sent%3)
	s.mu.Unlock()
	const feature = `{"type":"Feature","id":%q,"properties":{},"geometry":{"type":"Polygon","coordinates":[[[-1,0],[%v,0],[%v,1],[-1,1],[-1,0]]]}}`
	var done struct{ Generation uint64 }
	_, err := s.call(ctx, http.MethodPut, "v1/sets/zone/fences/b", fmt.Sprintf(feature, "b", east, east), &done)
	if err != nil && strings.Contains(err.Error(), "404") {
		_, err = s.call(ctx, http.MethodPut, "v1/sets/zone", `{"type":"FeatureCollection","features":[`+fmt.Sprintf(feature, "a", 0.5, 0.5)+`]}`, &done)
	}
	if err == nil {
		s.mu.Lock()
		s.generation = max(s.generation, done.Generation)
		s.mu.Unlock()
	}
	return err
}

// subscribe reads the events behind the subscriber's cursor.
func (s *survivor) subscribe(ctx context.Context) error {
	s.mu.Lock()
	path := "v1/events?wait=0&limit=1000"
	if s.cursor != "" {
		path += "&cursor=" + s.cursor
	}
	s.mu.Unlock()
	var text string
	head, err := s.call(ctx, http.MethodGet, path, "", &text)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor = head.Get("Paddock-Cursor")
	s.events = append(s.events, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })...)
	return nil
}

// verify compares what the platform knows with what it has acknowledged.
func (s *survivor) verify() {
	s.t.Helper()
	for id, at := range s.times {
		var o struct{ T time.Time }
		if _, err := s.call(s.t.Context(), http.MethodGet, "v1/objects/"+id, "", &o); err != nil || o.T.UnixMilli() < at {
			s.t.Fatalf("%s was acknowledged at %d, and is at %d: %v", id, at, o.T.UnixMilli(), err)
		}
	}
	if s.generation > 0 {
		var sets struct{ Sets []struct{ Generation uint64 } }
		if _, err := s.call(s.t.Context(), http.MethodGet, "v1/sets", "", &sets); err != nil || len(sets.Sets) != 1 || sets.Sets[0].Generation < s.generation {
			s.t.Fatalf("generation %d was acknowledged: %+v, %v", s.generation, sets, err)
		}
	}
	if err := s.subscribe(s.t.Context()); err != nil {
		s.t.Fatalf("the cursor %s: %v", s.cursor, err)
	}
}

// judge examines all events, and the records that have caused them.
func (s *survivor) judge() {
	s.t.Helper()
	seqs := map[string]uint64{}
	in := map[string]bool{}
	for _, text := range s.events {
		var e struct {
			Type string
			Data struct {
				Fence, Object struct{ ID string }
				Seq           uint64
			}
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			s.t.Fatal(err)
		}
		object, fence := e.Data.Object.ID, e.Data.Object.ID+"/"+e.Data.Fence.ID
		if seqs[object]++; e.Data.Seq != seqs[object] {
			s.t.Fatalf("event %d of %s where %d has to come: %s", e.Data.Seq, object, seqs[object], text)
		}
		if enters := e.Type == "paddock.fence.enter"; in[fence] == enters {
			s.t.Fatalf("%s again: %s", e.Type, text)
		} else {
			in[fence] = enters
		}
	}
	out, err := program(s.t, "check", "--replay", "--json", "--data", s.data).Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		s.t.Fatalf("check --replay: %v: %s", err, exit.Stderr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	var found struct {
		Positions, Events int
		Whole             bool
	}
	if err := json.Unmarshal(out, &found); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%d objects, generation %d, %d events; %s", len(s.times), s.generation, len(s.events), strings.Join(strings.Fields(string(out)), " "))
	if !found.Whole || found.Events != len(s.events) || len(s.events) == 0 || len(s.times) != 60 {
		s.t.Errorf("the subscriber has %d events, the records cause %d; %d objects", len(s.events), found.Events, len(s.times))
	}
}
