// Package survival tests that a platform loses nothing that it has acknowledged, however it ends. A
// [Survivor] sends positions by every interface, edits fences and follows the events of one
// platform after the other, and compares what each knows with what was acknowledged.
package survival

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// Survivor is the outside of a platform that keeps its state. The addresses are set before each
// platform is used.
type Survivor struct {
	URL       string // with a slash at its end
	Bus, Wire string // nats://host:port, host:port

	// Rules makes the survivor change rules and policies too.
	Rules bool

	mu         sync.Mutex
	sent       int64
	edits      int
	refused    error            // a change of a rule or policy that should have been taken
	times      map[string]int64 // of the newest acknowledged position, by object
	generation uint64           // of the set, acknowledged
	cursor     string           // of a subscriber
	events     []string         // that it has
}

// New returns a survivor of a platform without sets, whose first position of an object is an enter.
func New() *Survivor { return &Survivor{times: map[string]int64{}} }

// Load sends, edits and subscribes until the context ends. Errors are no failures: the platform may
// end before the load does.
func (s *Survivor) Load(ctx context.Context) {
	var clients sync.WaitGroup
	for _, work := range []func(context.Context) error{s.byHTTP, s.byBus, s.byWire, s.edit, s.subscribe} {
		clients.Go(func() {
			for ctx.Err() == nil {
				if work(ctx) == nil {
					continue
				}
				select { // the platform may be gone
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	clients.Wait()
}

// Moment is what has been acknowledged and seen up to a moment.
type Moment struct {
	times      map[string]int64
	generation uint64
	cursor     string
	events     int
}

// Moment returns the present moment.
func (s *Survivor) Moment() Moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Moment{maps.Clone(s.times), s.generation, s.cursor, len(s.events)}
}

// Return forgets what was acknowledged and seen after a moment, because the next platform goes on
// from there.
func (s *Survivor) Return(to Moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times, s.generation, s.cursor, s.events = to.times, to.generation, to.cursor, s.events[:to.events]
}

// Verify compares what the platform knows with what was acknowledged.
func (s *Survivor) Verify(ctx context.Context) error {
	for id, at := range s.times {
		var o struct{ T time.Time }
		if _, err := s.call(ctx, http.MethodGet, "v1/objects/"+id, "", &o); err != nil || o.T.UnixMilli() < at {
			return fmt.Errorf("%s was acknowledged at %d, and is at %d: %v", id, at, o.T.UnixMilli(), err)
		}
	}
	if s.generation > 0 {
		var sets struct{ Sets []struct{ Generation uint64 } }
		if _, err := s.call(ctx, http.MethodGet, "v1/sets", "", &sets); err != nil || len(sets.Sets) != 1 || sets.Sets[0].Generation < s.generation {
			return fmt.Errorf("generation %d was acknowledged: %+v: %v", s.generation, sets, err)
		}
		if err := s.audited(ctx, sets.Sets[0].Generation); err != nil {
			return err
		}
	}
	if err := s.subscribe(ctx); err != nil {
		return fmt.Errorf("the cursor %s: %w", s.cursor, err)
	}
	return s.again(ctx)
}

// audited compares the number of changes of the set, acknowledged or not, with that of their
// entries in the audit.
func (s *Survivor) audited(ctx context.Context, generation uint64) error {
	var entries uint64
	for before, more := "", true; more; {
		var page struct {
			Changes []struct{ Action, Failed string }
			Next    string
		}
		if _, err := s.call(ctx, http.MethodGet, "v1/audit?limit=10000&before="+before, "", &page); err != nil {
			return err
		}
		for _, c := range page.Changes {
			if c.Failed == "" && (c.Action == "set.put" || c.Action == "fence.put") {
				entries++
			}
		}
		before, more = page.Next, page.Next != ""
	}
	if entries < generation {
		return fmt.Errorf("the set is at generation %d, and the audit has %d changes of it", generation, entries)
	}
	return nil
}

// again compares the subscriber's events with what the platform answers now.
func (s *Survivor) again(ctx context.Context) error {
	cursor := ""
	for at := 0; at < len(s.events); {
		path := "v1/events?wait=0&limit=10000"
		if cursor == "" {
			path += "&from=2020-01-01T00:00:00Z"
		} else {
			path += "&cursor=" + cursor
		}
		var text string
		head, err := s.call(ctx, http.MethodGet, path, "", &text)
		if err != nil {
			return err
		}
		cursor = head.Get("Paddock-Cursor")
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
		if len(lines) == 0 {
			return fmt.Errorf("the subscriber has %d events, the platform %d", len(s.events), at)
		}
		for _, line := range lines[:min(len(lines), len(s.events)-at)] {
			if line != s.events[at] {
				return fmt.Errorf("event %d was %s, and is %s", at+1, s.events[at], line)
			}
			at++
		}
	}
	return nil
}

// Rest reads the events that the subscriber does not have yet.
func (s *Survivor) Rest(ctx context.Context) error {
	for more := true; more; {
		before := len(s.events)
		if err := s.subscribe(ctx); err != nil {
			return err
		}
		more = len(s.events) > before
	}
	return s.again(ctx)
}

// Report counts what a survivor has seen.
type Report struct {
	Objects    int // whose positions were acknowledged
	Generation uint64
	Events     int
	Kinds      map[string]int // of events, and their reasons
}

// doors name the interfaces by the ids of their objects.
var doors = []string{"http", "bus", "wire"}

// Judge examines all events of the subscriber: of each object none is missing or there twice, and
// enters and exits alternate, as do the begins and ends of what rules tell about several objects.
// It is an error if an interface has acknowledged nothing.
func (s *Survivor) Judge() (report Report, err error) {
	report = Report{len(s.times), s.generation, len(s.events), map[string]int{}}
	for _, door := range doors {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(s.times)), func(id string) bool { return strings.HasPrefix(id, door) }) {
			return report, fmt.Errorf("no position was acknowledged by %s", door)
		}
	}
	if s.refused != nil {
		return report, s.refused
	}
	seqs := map[string]uint64{}
	in, pairs := map[string]bool{}, begun{}
	for _, text := range s.events {
		var e struct {
			Type string
			Data struct {
				Fence, Object struct{ ID string }
				Seq           uint64
				Reason        string
			}
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return report, err
		}
		report.Kinds[strings.TrimPrefix(e.Type, "paddock.fence.")+" "+e.Data.Reason]++
		if e.Data.Seq == 0 {
			if err := pairs.judge(text); err != nil {
				return report, err
			}
			continue
		}
		object, fence := e.Data.Object.ID, e.Data.Object.ID+"/"+e.Data.Fence.ID
		if seqs[object]++; e.Data.Seq != seqs[object] {
			return report, fmt.Errorf("event %d of %s where %d has to come: %s", e.Data.Seq, object, seqs[object], text)
		}
		if enters := e.Type == "paddock.fence.enter"; enters || e.Type == "paddock.fence.exit" {
			if in[fence] == enters {
				return report, fmt.Errorf("%s again: %s", e.Type, text)
			}
			in[fence] = enters
		}
	}
	return report, nil
}

// call makes a request that has to succeed.
func (s *Survivor) call(ctx context.Context, method, path, body string, answer any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
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

// next returns a later position of an object of a door. Every other one is in the fence a; every
// fifth object stays there.
func (s *Survivor) next(door string) position.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	lon := float64(s.sent / 20 % 2)
	if s.sent%5 == 0 {
		lon = 0
	}
	return position.Position{
		ID: fmt.Sprint(door, s.sent%20), Lon: lon, Lat: 0.5,
		Time: time.Now().UnixMilli() - 1_000_000 + int64(s.sent), // always later than the one before
	}
}

func (s *Survivor) acknowledged(p position.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[p.ID] = max(s.times[p.ID], p.Time)
}

// result is the answer to a position.
type result struct {
	Accepted, Late int
	Rejected       []struct{ Reason string }
}

func (s *Survivor) judgeAnswer(p position.Position, r result) error {
	if r.Accepted != 1 {
		return fmt.Errorf("%+v", r)
	}
	s.acknowledged(p)
	return nil
}

func document(p position.Position) string {
	return fmt.Sprintf(`{"id":%q,"lon":%v,"lat":%v,"t":%d}`, p.ID, p.Lon, p.Lat, p.Time)
}

func (s *Survivor) byHTTP(ctx context.Context) error {
	p := s.next("http")
	var r result
	if _, err := s.call(ctx, http.MethodPost, "v1/positions", document(p), &r); err != nil {
		return err
	}
	return s.judgeAnswer(p, r)
}

func (s *Survivor) byBus(ctx context.Context) error {
	nc, err := nats.Connect(s.Bus, nats.NoReconnect())
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

func (s *Survivor) byWire(ctx context.Context) error {
	conn, err := wire.Dial(ctx, "tcp", s.Wire, &wire.Config{})
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

// rule changes a rule: which objects it selects, what it tells, and its hours, which end with the
// minute.
func (s *Survivor) rule(ctx context.Context) error {
	s.mu.Lock()
	n := s.sent
	s.mu.Unlock()
	now := time.Now().UTC()
	bodies := []string{
		`{"set":"zone","detect":["enter","exit","dwell"],"dwell":{"after":"1s","every":"1s"}}`,
		`{"set":"zone","objects":"http*","detect":["enter","exit","inside"]}`,
		fmt.Sprintf(`{"set":"zone","active":{"zone":"UTC","week":{"mon-sun":["%s-%s"]}}}`, now.Format("15:04"), now.Add(time.Minute).Format("15:04")),
		`{"set":"zone","fences":["a"],"detect":["enter","exit","outside"],"outside":{"every":"1s"}}`,
		`{"set":"zone","count":{"at_least":12}}`,
		`{"set":"zone","objects":"*1","count":{"at_least":2}}`,
		`{"objects":"http1*","near":{"objects":"bus1*","metres":9000}}`,
	}
	id := fmt.Sprint("r", n%3)
	if n%7 == 0 {
		_, err := s.call(ctx, http.MethodDelete, "v1/rules/"+id, "", new(string))
		return s.noteRefusal(err, "404")
	}
	_, err := s.call(ctx, http.MethodPut, "v1/rules/"+id, bodies[n%int64(len(bodies))], new(string))
	return s.noteRefusal(err, "")
}

// noteRefusal keeps the first error of a change that the platform answered, but for one status.
func (s *Survivor) noteRefusal(err error, expected string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && strings.Contains(err.Error(), ": 4") && (expected == "" || !strings.Contains(err.Error(), expected)) && s.refused == nil {
		s.refused = err
	}
	return err
}

// policy changes the policy of the set.
func (s *Survivor) policy(ctx context.Context) error {
	s.mu.Lock()
	n := s.sent
	s.mu.Unlock()
	bodies := []string{
		`{"initial":"enter"}`, `{"initial":"enter","fixes":2}`, `{"initial":"enter","enter_after":"50ms","exit_after":"20ms"}`,
		`{"initial":"enter","metres":10,"fixes":3,"sure":100}`, `{"initial":"enter","ttl":"100ms"}`,
	}
	_, err := s.call(ctx, http.MethodPut, "v1/sets/zone/policy", bodies[n%int64(len(bodies))], new(string))
	return s.noteRefusal(err, "404") // the set may not be there yet
}

// edit moves a fence, or makes the set; now and then it changes a rule or the policy.
func (s *Survivor) edit(ctx context.Context) error {
	s.mu.Lock()
	east, turn := 0.6+float64(s.sent%3), s.edits%4
	s.edits++
	s.mu.Unlock()
	switch {
	case turn == 1 && s.Rules:
		return s.rule(ctx)
	case turn == 3 && s.Rules:
		return s.policy(ctx)
	}
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
func (s *Survivor) subscribe(ctx context.Context) error {
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
