package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
)

// TestSeveral plays random inputs to a pipeline whose rules are about several objects. Whenever no
// work is postponed, what its events have begun and not ended is what an independent look at all
// objects finds. Now and then another pipeline goes on with a copy of the journal, as after a
// crash, and at the end the journal is verified.
func TestSeveral(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) { newGathering(t, seed).play(300) })
	}
}

// gathering is a pipeline with rules about several objects, and what its events have begun.
type gathering struct {
	*testing.T
	*rand.Rand
	catalog *fence.Catalog
	book    *rulebook.Book
	config  Config
	log     *journal.Memory
	pub     *published
	p       *Pipeline
	sent    int

	read  int               // events that are part of begun
	begun map[string]string // id of the event that began it, by kind, rule, set and fence
	told  map[string]int    // events by kind and reason
}

func newGathering(t *testing.T, seed uint64) *gathering {
	r := rand.New(rand.NewPCG(seed, 11))
	g := &gathering{
		T: t, Rand: r, log: journal.NewMemory(), pub: &published{}, book: rulebook.New(track.Policy{}),
		begun: map[string]string{}, told: map[string]int{}, config: Config{
			Workers: 1 + r.IntN(4), Track: track.Options{TTL: time.Minute, Initial: track.InitialEnter},
			CheckpointEvery: []int{1, 20, 60}[seed%3], // with 1 the first records are removed
		},
	}
	g.p, g.catalog = openWith(t, g.config, g.log, func(c *fence.Catalog) {
		addSet(t, c, "zone", unitSquare("a", 0), unitSquare("b", 1))
		addSet(t, c, "s", overlapping(3)...)
	}, g.book)
	g.p.Start(g.pub)
	if err := g.p.Settle(); err != nil { // the sets are in the journal
		t.Fatal(err)
	}
	t.Cleanup(func() { g.p.Close(context.Background()) })
	return g
}

// name returns the name of one of 80 objects.
func (g *gathering) name() string { return fmt.Sprint([]string{"bus-", "van-"}[g.IntN(2)], g.IntN(40)) }

func (g *gathering) play(steps int) {
	for range steps {
		switch what := g.IntN(24); {
		case what < 12:
			g.move()
		case what < 14:
			for range 1 + g.IntN(20) {
				if _, err := g.p.Remove("f", g.name()); err != nil {
					g.Fatal(err)
				}
			}
		case what < 16:
			zone, _ := g.catalog.Get("zone")
			if _, _, err := zone.Put(unitSquare(fmt.Sprint("z", g.IntN(3)), 2*g.Float64())); err != nil {
				g.Fatal(err)
			}
		case what < 17:
			zone, _ := g.catalog.Get("zone")
			zone.Delete(fmt.Sprint("z", g.IntN(3)))
		case what < 19:
			time.Sleep(time.Duration(g.IntN(40)) * time.Second)
		case what < 23:
			g.rule()
		case g.IntN(4) == 0:
			g.crash()
		case g.IntN(2) == 0: // the records behind a clean end are applied again after a crash
			g.stop()
			g.move()
			g.crash()
		}
		if g.IntN(3) > 0 {
			g.check()
		}
	}
	g.crash()
	g.p.Close(context.Background())
	v := verify(g.T, g.config, g.log)
	if v.Whole && v.Events == 0 {
		g.Errorf("%+v", v)
	}
	g.Logf("%+v", v)
	names, _ := g.log.Names(pastLatches)
	if oldest, _ := g.log.Bounds(); len(names) > 0 && oldest > 1 && names[0] < pastLatch(oldest) {
		g.Errorf("%s is kept, and the records begin with %d", names[0], oldest)
	}
	g.Log(g.told)
}

// move sends positions, some in the squares and some beside them.
func (g *gathering) move() {
	b := &Batch{}
	for range 1 + g.IntN(60) {
		g.sent++
		q := fix(g.name(), 0)
		q.Lon, q.Time = 3*g.Float64(), track.MillisOf(time.Now())+track.Millis(g.sent)
		b.Positions = append(b.Positions, q)
	}
	if err := g.p.TrySubmit(b, nil); err != nil {
		g.Fatal(err)
	}
}

// rule adds, changes or removes a rule.
func (g *gathering) rule() {
	allow := func(*rule.Rule) error { return nil }
	id := fmt.Sprint("r", g.IntN(4))
	if g.IntN(4) == 0 {
		_ = g.book.Delete(id, allow) // it may not be there
		return
	}
	r := &rule.Rule{
		ID: id, Set: []string{"zone", "zone", "s"}[g.IntN(3)], Objects: []string{"*", "bus-*", "van-1*"}[g.IntN(3)],
		Fleet: []string{"", "f"}[g.IntN(2)], AtLeast: 1 + g.IntN(12), Disabled: g.IntN(8) == 0,
	}
	if g.IntN(3) == 0 {
		r.Fences.IDs = []string{"a", "z1"}
	}
	if g.IntN(4) == 0 {
		r.AtLeast, r.Detect = 0, rule.Enter
	}
	if g.IntN(3) == 0 {
		r.Set, r.Detect, r.AtLeast, r.Fences = "", 0, 0, rule.Fences{}
		r.Near = &rule.Near{Objects: []string{"*", "van-*", "bus-1*"}[g.IntN(3)], Metres: float64(1 + g.IntN(9000))}
	}
	if g.IntN(3) == 0 {
		text := fmt.Sprintf(`{"id":"x","set":"s","active":{"zone":"UTC","week":{"mon-sun":["00:%02d-00:%02d","00:%02d-24:00"]}}}`, g.IntN(10), 10+g.IntN(10), 20+g.IntN(20))
		timed, err := rule.Parse([]byte(text))
		if err != nil {
			g.Fatal(err)
		}
		r.Active = timed.Active
	}
	if _, _, err := g.book.Put(r, allow); err != nil {
		g.Fatal(err)
	}
}

// rest waits until no work is postponed.
func (g *gathering) rest() {
	time.Sleep(1500 * time.Millisecond)
	synctest.Wait()
	if g.p.busy(g.p.clock.now()) {
		g.Fatal("there is work left")
	}
}

// check compares what events have begun with what holds.
func (g *gathering) check() {
	g.rest()
	g.follow()
	holds, may := g.counted(), map[string]bool{}
	g.paired(holds, may)
	for key := range g.begun {
		if !holds[key] && !may[key] {
			g.Errorf("%s does not hold, and has not ended", key)
		}
	}
	for key := range holds {
		if g.begun[key] == "" {
			g.Errorf("%s holds, and has not begun", key)
		}
	}
	if g.Failed() {
		g.FailNow()
	}
}

// told is an event as a subscriber reads it.
type toldEvent struct {
	ID, Source, Type, Subject string
	Data                      struct {
		Set     string
		Fence   struct{ ID string }
		Object  struct{ ID string }
		Other   struct{ ID string }
		Rule    string
		Count   int
		AtLeast int `json:"at_least"`
		Visit   string
		Reason  string
		Since   time.Time
		At      time.Time
	}
}

// follow reads the new events: a begin and an end alternate, and each begin has its own id.
func (g *gathering) follow() {
	all := g.pub.json()
	for _, text := range all[g.read:] {
		var e toldEvent
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			g.Fatal(err)
		}
		what, begins := strings.CutSuffix(strings.TrimPrefix(e.Type, "paddock.fence."), "_begin")
		what, ends := strings.CutSuffix(what, "_end")
		if !begins && !ends {
			continue
		}
		g.told[what+fmt.Sprint(begins)+" "+e.Data.Reason]++
		key, id := fmt.Sprint(what, " ", e.Data.Rule, " ", e.Data.Set, "/", e.Data.Fence.ID), "count/"+e.Data.Rule+"/"+e.Data.Fence.ID+"/"
		if what == "near" {
			key = pairKey(e.Data.Rule, e.Data.Object.ID, e.Data.Other.ID)
			id = "near/" + e.Data.Rule + "/f/" + e.Data.Object.ID + "/f/" + e.Data.Other.ID + "/"
		}
		switch enough := e.Data.Count >= e.Data.AtLeast; {
		case what == "count" && (enough != begins || e.Data.AtLeast == 0), !strings.HasPrefix(e.ID, id):
			g.Errorf("%s", text)
		case begins && (g.begun[key] != "" || e.Data.Visit != e.ID || e.Data.Since != e.Data.At):
			g.Errorf("%s begins twice: %s", key, text)
		case ends && (g.begun[key] != e.Data.Visit || e.Data.Visit == "" || e.Data.At.Before(e.Data.Since)):
			g.Errorf("%s ends that began with %q: %s", key, g.begun[key], text)
		}
		if g.begun[key] = e.ID; ends {
			delete(g.begun, key)
		}
	}
	g.read = len(all)
}

// isSelected reports whether a pattern of the rules above selects an object.
func isSelected(pattern, id string) bool {
	return pattern == "" || strings.HasPrefix(id, strings.TrimSuffix(pattern, "*"))
}

// pairKey names a pair, which keeps its first object if the rule comes to select the other one.
func pairKey(id, a, b string) string { return fmt.Sprint("near ", id, " ", min(a, b), " ", max(a, b)) }

// inForce returns the rules that are open now.
func (g *gathering) inForce() (rules []*rule.Rule) {
	for _, r := range g.book.State().Rules().Rules() {
		if !r.Disabled && r.Active.Open(time.Now()) {
			rules = append(rules, r)
		}
	}
	return rules
}

// paired adds the pairs of objects that are near each other, and the ones that may be, between
// the two distances.
func (g *gathering) paired(holds, may map[string]bool) {
	objects, _ := g.p.Objects(Query{})
	for _, r := range g.inForce() {
		if r.Near == nil {
			continue
		}
		for i, a := range objects {
			for _, b := range objects[i+1:] {
				switch {
				case a.State == track.Silent || b.State == track.Silent:
					continue
				case isSelected(r.Objects, a.ID) && isSelected(r.Near.Objects, b.ID):
				case isSelected(r.Objects, b.ID) && isSelected(r.Near.Objects, a.ID):
				default:
					continue
				}
				metric := geometry.MetricAt(a.Point)
				key := pairKey(r.ID, a.ID, b.ID)
				switch metres := metric.To(b.Point); {
				case metres <= r.Near.Metres:
					holds[key] = true
				case metres <= r.Near.Exit():
					may[key] = true
				}
			}
		}
	}
}

// counted looks at all objects and rules that count.
func (g *gathering) counted() map[string]bool {
	counts, least := map[string]int{}, map[string]int{}
	objects, _ := g.p.Objects(Query{})
	for _, r := range g.inForce() {
		if r.AtLeast == 0 {
			continue
		}
		for _, o := range objects {
			if !isSelected(r.Objects, o.ID) {
				continue
			}
			for _, v := range o.Fences {
				if v.Set != r.Set || len(r.Fences.IDs) > 0 && !slices.Contains(r.Fences.IDs, v.Fence.Key) {
					continue
				}
				key := fmt.Sprint("count ", r.ID, " ", v.Set, "/", v.Fence.Key)
				counts[key]++
				least[key] = r.AtLeast
			}
		}
	}
	holds := map[string]bool{}
	for key, n := range counts {
		if n >= least[key] {
			holds[key] = true
		}
	}
	return holds
}

// stop goes on with another pipeline after a clean end.
func (g *gathering) stop() {
	g.rest()
	g.p.Close(context.Background())
	g.book = rulebook.New(track.Policy{})
	g.p, g.catalog = openWith(g.T, g.config, g.log, nil, g.book)
	g.p.Start(g.pub)
}

// crash goes on with another pipeline on a copy of the journal, which is verified.
func (g *gathering) crash() {
	rests := g.IntN(2) == 0 // else amid work
	if rests {
		g.rest()
	}
	synctest.Wait()
	copied := g.log.Clone()
	before := len(g.pub.json())
	book := rulebook.New(track.Policy{})
	p, catalog := openWith(g.T, g.config, copied, nil, book)
	if got, want := stored(g.T, copied), g.pub.json(); len(got) < before || !slices.Equal(got[:before], want[:before]) {
		g.Fatalf("%d events are stored, %d were published", len(got), before)
	}
	if rests && !reflect.DeepEqual(states(g.T, p), states(g.T, g.p)) {
		g.Fatal("another state")
	}
	verify(g.T, g.config, copied)
	g.p.Close(context.Background()) // its events after the crash are of no more interest
	g.pub = &published{records: g.pub.records[:before:before]}
	g.log, g.p, g.catalog, g.book = copied, p, catalog, book
	p.Start(g.pub)
}
