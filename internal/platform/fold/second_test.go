package fold

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// history is two partitions and their second fold. Each input is a record of its own.
type history struct {
	*testing.T
	set     *fence.Set
	rules   *rule.Table
	policy  track.Policy
	parts   [2]*Partition
	second  *Second
	now     track.Millis
	number  uint64
	latches map[string]Latch
}

// begin is midnight of a Saturday.
var begin = track.MillisOf(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

func newHistory(t *testing.T) *history {
	set, err := fence.NewSet("yard", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{T: t, set: set, now: begin, second: NewSecond(), latches: map[string]Latch{}}
	h.policy = track.Policy{TTL: time.Hour}
	for i := range h.parts {
		h.parts[i] = NewPartition(track.Options{})
	}
	h.rules, err = rule.NewTable(nil)
	h.check(err)
	h.fence("bay", 0)
	return h
}

func (h *history) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// fence puts a square that is a degree wide from a longitude on.
func (h *history) fence(key string, lon float64) {
	f := fence.Fence{Key: key, Geometry: geometry.MultiPolygon{{{{Lon: lon, Lat: 0}, {Lon: lon + 1, Lat: 0}, {Lon: lon + 1, Lat: 1}, {Lon: lon, Lat: 1}}}}}
	if h.set.Snapshot().Len() == 0 {
		_, err := h.set.Replace(&geojson.Collection{Fences: []fence.Fence{f}})
		h.check(err)
		return
	}
	_, _, err := h.set.Put(f)
	h.check(err)
}

func (h *history) view() *track.View {
	p := h.policy
	return &track.View{Sets: []track.TrackedSet{{Name: "yard", Snapshot: h.set.Snapshot(), Policy: &p}}, Rules: h.rules}
}

// play plays the lines of a text, and returns the events, each behind the line that caused it.
//
//   - 1m              time passes
//     rule {...}        a rule is put
//     drop ID           a rule is deleted
//     fence KEY LON     a fence is put
//     unfence KEY       a fence is deleted
//     remove OBJECT     an object is removed
//     OBJECT LON ...    positions of one record, at latitude 0.5
func (h *history) play(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		before, _, _ := strings.Cut(line, "->")
		before = strings.TrimSpace(before)
		out.WriteString(before)
		for _, e := range h.record(before) {
			out.WriteString(" -> " + describe(&e))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// record makes a record of a line.
func (h *history) record(line string) []track.Event {
	var told []track.Event
	words := strings.Fields(line)
	changed := true
	switch words[0] {
	case "+":
		d, err := time.ParseDuration(words[1])
		h.check(err)
		h.now += track.Millis(d.Milliseconds())
		changed = false
	case "rule":
		r, err := rule.Parse([]byte(strings.TrimPrefix(line, "rule ")))
		h.check(err)
		h.rules, err = h.rules.Put(r)
		h.check(err)
	case "drop":
		h.rules = h.rules.Delete(words[1])
	case "fence":
		var lon float64
		_, err := fmt.Sscan(words[2], &lon)
		h.check(err)
		h.fence(words[1], lon)
	case "unfence":
		h.set.Delete(words[1])
	case "remove":
		_, told = h.of(words[1]).Remove("f", words[1], h.now, told)
		changed = false
	default:
		h.now += 1000
		for i := 0; i+1 < len(words); i += 2 {
			var lon float64
			_, err := fmt.Sscan(words[i+1], &lon)
			h.check(err)
			p := &track.Position{Fleet: "f", ID: words[i], Lon: lon, Lat: 0.5, Time: h.now, Arrived: h.now, Props: json.RawMessage(`{}`)}
			_, told = h.of(p.ID).Shard.Apply(p, told)
		}
		changed = false
	}
	return h.end(changed, told)
}

// of returns the partition of an object.
func (h *history) of(id string) *Partition { return h.parts[int(id[len(id)-1])%len(h.parts)] }

// end ends the record. Events of one object are of no interest here.
func (h *history) end(changed bool, told []track.Event) []track.Event {
	view := h.view()
	for _, p := range h.parts {
		if changed {
			p.SetView(view, h.now)
		}
		p.Advance(h.now)
		for more := true; more; {
			told, more = p.Step(told[:0], StepEvents)
		}
		h.second.Take(p)
	}
	h.number++
	events, changes := h.second.End(Round{h.number, h.now, view}, nil)
	for _, l := range changes.Ended {
		if h.latches[l.Name] != l {
			h.Errorf("%+v ends, and %+v has begun", l, h.latches[l.Name])
		}
		delete(h.latches, l.Name)
	}
	for _, l := range changes.Begun {
		if h.latches[l.Name].Begun > 0 || l.Begun != h.number {
			h.Errorf("%+v begins in record %d, and %+v has begun", l, h.number, h.latches[l.Name])
		}
		h.latches[l.Name] = l
	}
	return events
}

// describe tells an event in a line.
func describe(e *track.Event) string {
	at := func(m track.Millis) string { return (time.Duration(m-begin) * time.Millisecond).String() }
	what := fmt.Sprint(e.Kind, " ", e.Rule, " ")
	if e.Several.Other != nil {
		what += fmt.Sprintf("%s %s %.0f m", e.ID, e.Several.Other.ID, e.Several.Metres)
	} else {
		what += fmt.Sprint(e.Fence.Key, " ", e.Several.Count, " of ", e.Several.AtLeast)
	}
	what += fmt.Sprint(" at ", at(e.At), " ", e.Reason)
	if e.Since != e.At {
		what += " since " + at(e.Since)
	}
	return what + fmt.Sprintf(" #%d/%d", e.Seq, e.Visit)
}

// TestHistories plays what the documentation promises, line by line. The number behind # is that of
// the record, and the one of the record whose event began it.
func TestHistories(t *testing.T) {
	for name, text := range map[string]string{
		"a count passes": `
			rule {"id":"full","set":"yard","count":{"at_least":2}}
			a 0.5
			b 1.5
			b 0.5 -> count_begin full bay 2 of 2 at 2.5s move #4/4
			c 0.5
			a 1.5
			b 1.5 -> count_end full bay 1 of 2 at 4.5s move since 2.5s #7/4
			b 0.5 -> count_begin full bay 2 of 2 at 6.5s move #8/8`,
		"several in a record are one change": `
			rule {"id":"full","set":"yard","count":{"at_least":2}}
			a 0.5 b 0.5 c 0.5 -> count_begin full bay 3 of 2 at 1s initial #2/2
			a 1.5 b 1.5 d 0.5 e 0.5
			a 0.5 a 1.5`,
		"a rule comes, changes and goes": `
			a 0.5 b 0.5 c 0.5
			rule {"id":"full","set":"yard","count":{"at_least":2}} -> count_begin full bay 3 of 2 at 1s rule_added #2/2
			rule {"id":"full","set":"yard","count":{"at_least":3}}
			rule {"id":"full","set":"yard","count":{"at_least":4}} -> count_end full bay 3 of 4 at 1s rule_removed #4/2
			rule {"id":"full","set":"yard","count":{"at_least":1}} -> count_begin full bay 3 of 1 at 1s rule_added #5/5
			rule {"id":"full","set":"yard","objects":"a","count":{"at_least":1}}
			rule {"id":"full","set":"yard","objects":"x","count":{"at_least":1}} -> count_end full bay 0 of 1 at 1s rule_removed #7/5
			rule {"id":"full","set":"yard","count":{"at_least":1}} -> count_begin full bay 3 of 1 at 1s rule_added #8/8
			rule {"id":"full","set":"yard","count":{"at_least":1},"enabled":false} -> count_end full bay 0 of 1 at 1s rule_removed #9/8
			rule {"id":"full","set":"yard","count":{"at_least":2}} -> count_begin full bay 3 of 2 at 1s rule_added #10/10
			drop full -> count_end full bay 0 of 2 at 1s rule_removed #11/10`,
		"fences, silence and objects end": `
			rule {"id":"full","set":"yard","count":{"at_least":2}}
			a 0.5 b 0.5 -> count_begin full bay 2 of 2 at 1s initial #2/2
			fence gate 0.2 -> count_begin full gate 2 of 2 at 1s fence_added #3/3
			unfence gate -> count_end full gate 0 of 2 at 1s fence_removed #4/3
			remove a -> count_end full bay 1 of 2 at 1s object_removed #5/2
			a 0.5 -> count_begin full bay 2 of 2 at 2s initial #6/6
			+ 1h -> count_end full bay 0 of 2 at 1h0m2s ttl since 2s #7/6
			b 0.5`,
		"hours": `
			rule {"id":"full","set":"yard","active":{"zone":"UTC","week":{"sat":["00:10-00:20"]}},"count":{"at_least":2}}
			a 0.5 b 0.5
			+ 15m -> count_begin full bay 2 of 2 at 10m0s schedule #3/3
			+ 15m -> count_end full bay 0 of 2 at 20m0s schedule since 10m0s #4/3`,
		"objects meet and part": `
			rule {"id":"near","objects":"a*","near":{"objects":"b*","metres":1000,"exit_metres":2000}}
			a1 0 b2 0.02
			b2 0.008 -> near_begin near a1 b2 891 m at 2s move #3/3
			a2 0.001 -> near_begin near a2 b2 779 m at 3s initial #4/4
			a1 -0.005
			b2 0.014 -> near_end near a1 b2 2115 m at 5s move since 2s #6/3
			b1 0 -> near_begin near a2 b1 111 m at 6s initial #7/7 -> near_begin near a1 b1 557 m at 6s initial #7/7
			a3 0.02 -> near_begin near a3 b2 668 m at 7s initial #8/8
			remove b1 -> near_end near a1 b1 557 m at 7s object_removed since 6s #9/7 -> near_end near a2 b1 111 m at 7s object_removed since 6s #9/7`,
		"both sides": `
			rule {"id":"near","near":{"metres":1000}}
			b 0 a 0 -> near_begin near a b 0 m at 1s initial #2/2
			a 0.0100
			b 0.0300 -> near_end near a b 2226 m at 3s move since 1s #4/2`,
		"rules of pairs": `
			a 0 b 0.008 c 0.03
			rule {"id":"near","near":{"metres":1000}} -> near_begin near a b 891 m at 1s rule_added #2/2
			rule {"id":"near","near":{"metres":3000}} -> near_begin near b c 2449 m at 1s rule_added #3/3
			rule {"id":"near","near":{"metres":500,"exit_metres":1000}} -> near_end near b c 2449 m at 1s rule_removed #4/3
			rule {"id":"near","objects":"x","near":{"metres":1000}} -> near_end near a b 891 m at 1s rule_removed #5/2
			rule {"id":"near","objects":"b","near":{"metres":1000}} -> near_begin near b a 891 m at 1s rule_added #6/6
			drop near -> near_end near b a 891 m at 1s rule_removed #7/6`,
		"silence of pairs, and hours": `
			rule {"id":"near","active":{"zone":"UTC","week":{"sat":["00:10-00:20","00:30-24:00"]}},"near":{"metres":1000}}
			a 0 b 0.008
			+ 15m -> near_begin near a b 891 m at 10m0s schedule #3/3
			+ 10m -> near_end near a b 891 m at 20m0s schedule since 10m0s #4/3
			+ 10m -> near_begin near a b 891 m at 30m0s schedule #5/5
			a 0
			+ 26m -> near_end near a b 891 m at 1h0m1s ttl since 30m0s #7/5
			b 0 -> near_begin near a b 0 m at 1h1m3s move #8/8`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.end(true, nil) // the fences, in a record without a number
			h.number = 0
			got := h.play(text)
			want := ""
			for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
				want += strings.TrimSpace(line) + "\n"
			}
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// request is a job of one position.
type request struct {
	at    track.Position
	trace string
}

func (r *request) Position(int32) *track.Position { return &r.at }

func (*request) Applied(int32, track.Outcome, *track.Shard) {}

func (r *request) Trace(int32) *track.Trace { return &track.Trace{Parent: r.trace, State: "s"} }

// An event has the trace of the position that caused it, also if that one waited for older ones,
// over a restart too. One that time has caused has none.
func TestTracesOfPositionsThatWait(t *testing.T) {
	h := newHistory(t)
	h.policy = track.Policy{Late: track.LateReorder, Reorder: time.Minute, TTL: time.Hour, Initial: track.InitialEnter}
	h.record(`rule {"id":"r","set":"yard"}`)
	of := func(events []track.Event) (told string) {
		for i := range events {
			if told += fmt.Sprint(" ", events[i].Kind); events[i].Trace != nil {
				told += fmt.Sprint(" of ", events[i].Trace.Parent, events[i].Trace.State)
			}
		}
		return told
	}
	apply := func(trace string, lon float64) string {
		h.now += 1000
		r := &request{track.Position{Fleet: "f", ID: "a", Lon: lon, Lat: 0.5, Time: h.now, Arrived: h.now}, trace}
		return of(h.of("a").Apply(r, []int32{0}, nil))
	}
	for _, c := range []struct{ got, want string }{
		{apply("first", 0.5), " enter of firsts"},
		{apply("second", 1.5), ""},
		{apply("third", 0.5), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	h.again()
	h.now += 58_500
	if got := apply("fourth", 0.6); got != " exit of seconds" {
		t.Errorf("%q", got)
	}
	h.now += 60_000
	h.of("a").Advance(h.now)
	events, _ := h.of("a").Step(nil, StepEvents)
	if got := of(events); got != " enter of thirds" {
		t.Errorf("%q", got)
	}
	h.now += 2 * 3_600_000
	if got := apply("fifth", 0.5); got != " exit" {
		t.Errorf("%q", got)
	}
}
