package track_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/sampling"
)

// spread is the tracker under test, with its objects on n shards, beside the oracle.
type spread struct {
	options track.Options
	sets    []*fence.Set
	policy  []*track.Policy // of the sets
	rules   *rule.Table
	abrupt  bool // new views come before the work that is due
	stored  bool // every other view is read from its stored form, as after a restart
	views   int
	told    []track.Event // by the last step
	shards  []*track.Shard
	oracle  *oracle
}

func newSpread(n int, o track.Options) *spread {
	s := &spread{options: o}
	for i, name := range sets {
		set, _ := fence.NewSet(name, fence.Options{Kind: fence.Kinds()[(n+i)%len(fence.Kinds())]})
		s.sets = append(s.sets, set)
	}
	s.policy = make([]*track.Policy, len(sets))
	for range n {
		shard := track.NewShard(o)
		shard.SetView(s.view(), 0)
		s.shards = append(s.shards, shard)
	}
	s.oracle = newOracle(o, s.part)
	return s
}

func (s *spread) part(id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32()) % len(s.shards)
}

func (s *spread) view() *track.View {
	v := &track.View{Rules: s.rules}
	s.views++
	stored := s.stored && s.views%2 == 0
	for i, set := range s.sets {
		t := track.TrackedSet{ID: track.SetID(i), Name: set.Name(), Snapshot: set.Snapshot(), Policy: s.policy[i]}
		if stored {
			t.Snapshot, t.Policy = storedFences(set), storedPolicy(t.Policy)
		}
		v.Sets = append(v.Sets, t)
	}
	if stored && v.Rules != nil {
		v.Rules = storedRules(v.Rules)
	}
	return v
}

// storedFences returns the fences of a set as they come back from their stored form.
func storedFences(set *fence.Set) *fence.Snapshot {
	was := set.Snapshot()
	pages := map[int][]byte{}
	for i, p := range was.Pages() {
		pages[i] = p.Append(nil)
	}
	restored, err := fence.NewSet(set.Name(), fence.Options{Kind: set.Kind()})
	if err != nil {
		panic(err)
	}
	now, err := restored.Restore(was.AppendHead(nil), pages)
	if err != nil {
		panic(err)
	}
	return now
}

func storedPolicy(p *track.Policy) *track.Policy {
	if p == nil {
		return nil
	}
	text, err := json.Marshal(p)
	restored := &track.Policy{}
	if err = errors.Join(err, json.Unmarshal(text, restored)); err != nil {
		panic(err)
	}
	return restored
}

func storedRules(t *rule.Table) *rule.Table {
	var all []*rule.Rule
	for _, r := range t.Rules() {
		restored, err := rule.Parse(r.AppendJSON(nil))
		if err != nil {
			panic(err)
		}
		all = append(all, restored)
	}
	restored, err := rule.NewTable(all)
	if err != nil {
		panic(err)
	}
	return restored
}

// step is one step of a history: an input, for the oracle and for the shards.
type step struct {
	position *track.Position
	remove   string
	set, key string
	fence    *fence.Fence // nil, with a key: the fence is deleted
	policy   *track.Policy
	rule     *oracleRule
	dropRule string
	now      track.Millis
}

// play gives the step to both and returns the events of both, ordered by object.
func (s *spread) play(t testing.TB, st *step) (got, want []string) {
	t.Helper()
	var events []track.Event
	each := func(do func(*track.Shard)) {
		for _, shard := range s.shards {
			do(shard)
			events = settled(shard, events)
		}
	}
	if s.rules != nil { // schedules open and close at their time
		want = s.oracle.advance(st.now)
		each(func(shard *track.Shard) { shard.Advance(st.now) })
	}
	switch {
	case st.position != nil:
		var outcome track.Outcome
		expected, more := s.oracle.apply(st.position)
		want = append(want, more...)
		outcome, events = s.shards[s.part(st.position.ID)].Apply(st.position, events)
		if outcome != expected && !s.abrupt {
			t.Errorf("outcome %v, want %v", outcome, expected)
		}
	case st.remove != "":
		want = append(want, s.oracle.remove(st.remove, st.now)...)
		_, events = s.shards[s.part(st.remove)].Remove("f", st.remove, st.now, events)
	case st.key != "" || st.policy != nil || st.rule != nil || st.dropRule != "":
		want = append(want, s.oracle.edit(st.now, func() { s.change(t, st) })...)
		if !s.abrupt { // what is due goes by the policies before
			each(func(shard *track.Shard) { shard.Advance(st.now) })
		}
		v := s.view()
		each(func(shard *track.Shard) { shard.SetView(v, st.now) })
	default:
		want = append(want, s.oracle.advance(st.now)...)
		each(func(shard *track.Shard) { shard.Advance(st.now) })
	}
	s.told = events
	s.checkProgress(t)
	for i := range events {
		name := fenceName{set: events[i].Set}
		if f := events[i].Fence; f != nil {
			name.key = f.Key
		}
		got = append(got, describe(&events[i], name))
	}
	byObject := func(a, b string) int { return strings.Compare(a[:strings.Index(a, "#")], b[:strings.Index(b, "#")]) }
	slices.SortStableFunc(got, byObject)
	slices.SortStableFunc(want, byObject)
	return got, want
}

// checkProgress checks how far along their corridors the events of the last step are.
func (s *spread) checkProgress(t testing.TB) {
	t.Helper()
	for i := range s.told {
		e := &s.told[i]
		if e.Fence == nil || bufferOf(e.Fence) == 0 {
			if e.Progress.Known {
				t.Errorf("progress %v in a fence that is no corridor", e.Progress)
			}
			continue
		}
		if !e.Progress.Known || !isAlong(e.Fence.Lines, e.Point, float64(e.Progress.Value)) {
			t.Errorf("progress %v of %v along %v", e.Progress, e.Point, e.Fence.Lines)
		}
	}
}

// change makes the step's change of the fences, in the sets and for the oracle.
func (s *spread) change(t testing.TB, st *step) {
	if st.rule != nil || st.dropRule != "" {
		s.changeRules(t, st)
		return
	}
	at := slices.Index(sets, st.set)
	set := s.sets[at]
	if st.policy != nil {
		s.policy[at], s.oracle.policies[st.set] = st.policy, *st.policy
		return
	}
	if st.fence == nil {
		set.Delete(st.key)
		s.oracle.delete(st.set, st.key)
		return
	}
	_, now, err := set.Put(*st.fence)
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := now.Lookup(st.key)
	s.oracle.put(st.set, *now.Fence(ref)) // a corridor has its area from the set
}

// changeRules puts or deletes a rule.
func (s *spread) changeRules(t testing.TB, st *step) {
	var list []oracleRule
	if s.rules == nil {
		s.rules, _ = rule.NewTable(nil)
	} else {
		list = slices.Clone(*s.oracle.rules)
	}
	id := st.dropRule
	if st.rule != nil {
		id = st.rule.ID
	}
	list = slices.DeleteFunc(list, func(r oracleRule) bool { return r.ID == id })
	if st.rule != nil {
		next, err := s.rules.Put(st.rule.Rule)
		if err != nil {
			t.Fatal(err)
		}
		s.rules, list = next, append(list, *st.rule)
	} else {
		s.rules = s.rules.Delete(id)
	}
	s.oracle.rules = &list
}

// move exports every shard, and goes on with new ones that import the states.
func (s *spread) move(t *testing.T) {
	t.Helper()
	v := s.view()
	for i, old := range s.shards {
		state, err := old.Export(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.shards[i] = track.NewShard(s.options)
		if err := s.shards[i].Import(state, v); err != nil {
			t.Fatal(err)
		}
		if again, err := s.shards[i].Export(nil); err != nil || !bytes.Equal(again, state) {
			t.Fatalf("another export of the same state differs: %v", err)
		}
	}
}

// history draws the steps of a history.
type history struct {
	*rand.Rand
	now      track.Millis
	policies bool // the sets have policies, and the fences are small
	rules    bool
	settled  bool                      // fences have settings, and fixes altitudes
	unit     float64                   // degrees of the side of a small fence
	place    map[string]geometry.Point // of each object, in units
	drafts   map[string]draft          // of the rules
}

// draft is what a rule keeps when it is edited.
type draft struct{ set, objects, fences, detect, when string }

func newHistory(seed uint64, policies bool) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000, unit: 1, policies: policies, place: map[string]geometry.Point{}, drafts: map[string]draft{}}
	if policies {
		h.unit = 1.0 / 1024 // 108 m
	}
	return h
}

func (h *history) next() *step {
	h.now += track.Millis(h.IntN(1500))
	switch what := h.IntN(40); {
	case what < 32:
		return h.position()
	case what < 33:
		return &step{remove: fmt.Sprint("o", h.IntN(9)), now: h.now}
	case what < 34 && h.policies:
		p := h.policy()
		return &step{set: sets[h.IntN(2)], policy: &p, now: h.now}
	case what < 35 && h.rules:
		return h.rule()
	case what < 36:
		h.now += track.Millis(h.IntN(20_000))
		return &step{now: h.now}
	}
	st := &step{set: sets[h.IntN(2)], key: fmt.Sprint("z", h.IntN(6)), now: h.now}
	if h.IntN(3) > 0 {
		side := h.unit
		if h.policies { // no place is exactly as far from a border as a share of the inradius
			side *= 1.25
		}
		sq := square(st.key, float64(h.IntN(4))*side, float64(h.IntN(4))*side, float64(1+h.IntN(2))*side)
		if h.rules {
			sq.Properties = pick(h, json.RawMessage(`{"kind":"x"}`), json.RawMessage(`{"kind":"y"}`), nil)
		}
		if h.settled {
			kind := "x"
			if sq.Properties != nil {
				kind = kindOf(&sq)
			}
			sq.Properties = fmt.Appendf(nil, `{"kind":%q%s}`, kind, h.settings())
		}
		if h.rules && h.IntN(3) == 0 {
			h.line(&sq)
		}
		st.fence = &sq
	}
	return st
}

// position moves an object, often exactly to a border.
func (h *history) position() *step {
	id := fmt.Sprint("o", h.IntN(9))
	at := geometry.Point{Lon: float64(h.IntN(9)) / 2, Lat: float64(h.IntN(9)) / 2}
	if old := h.place[id]; h.policies && h.IntN(6) > 0 {
		at = geometry.Point{Lon: old.Lon + float64(h.IntN(5)-2)/8, Lat: old.Lat + float64(h.IntN(5)-2)/8}
	}
	h.place[id] = at
	p := &track.Position{
		Fleet: "f", ID: id, Arrived: h.now, Time: h.now - track.Millis(h.IntN(4000)), Lon: at.Lon * h.unit, Lat: at.Lat * h.unit,
	}
	if h.policies {
		p.Accuracy = pick(h, track.Measure{}, track.Measure{}, track.Measured(3.3), track.Measured(17.7), track.Measured(150.5))
		if h.IntN(4) == 0 {
			p.Lon += (h.Float64() - 0.5) * h.unit / 2
		}
	}
	if h.settled {
		p.Altitude = pick(h, track.Measure{}, track.Measured(50), track.Measured(99.5), track.Measured(100), track.Measured(-30))
	}
	if h.IntN(4) == 0 {
		p.Props = fmt.Appendf(nil, `{"n":%d}`, h.IntN(9))
		p.Speed = track.Measured(float64(h.IntN(3)))
	}
	return &step{position: p, now: h.now}
}

// policy draws a policy.
func (h *history) policy() track.Policy {
	const second = time.Second
	return track.Policy{
		Fixes:          pick(h, 0, 1, 2, 3),
		Metres:         pick(h, 0, 7.3, 25.1),
		Sure:           pick(h, 0, 31.7, 100.3),
		AccuracyFactor: pick(h, 0, 0.5, 1),
		MaxAccuracy:    pick(h, 0, 0, 100.0),
		Altitude:       pick(h, track.AltitudeIgnore, track.AltitudeInside),
		EnterAfter:     pick(h, 0, 0, 4*second, 15*second),
		ExitAfter:      pick(h, 0, 0, 4*second, 15*second),
		MaxSpeed:       pick(h, 0, 7.9, 17.7),
		MaxGap:         pick(h, 0, 0, 5*second),
		TTL:            pick(h, 0, 20*second, 40*second),
		Late:           pick(h, track.LateDrop, track.LateDrop, track.LateHistory, track.LateReorder),
		Reorder:        pick(h, 2*second, 5*second),
		Initial:        pick(h, track.InitialNone, track.InitialInside, track.InitialEnter),
	}
}

// rule draws a rule, or the end of one.
func (h *history) rule() *step {
	st := &step{now: h.now}
	id := fmt.Sprint("r", h.IntN(5))
	if h.IntN(4) == 0 {
		st.dropRule = id
		return st
	}
	d, known := h.drafts[id]
	if !known || h.IntN(3) == 0 {
		d = draft{
			set: sets[h.IntN(2)], objects: pick(h, "*", "*", "o?", "o3", "*1", "x"),
			fences: pick(h, `"*"`, `"*"`, `["z0","z3","z4"]`, `{"where":{"kind":"x"}}`),
			detect: pick(h, `"enter","exit"`, `"enter"`, `"exit"`, `"inside"`, `"outside"`, `"cross","exit"`, `"dwell"`, `"enter","exit","inside","outside","cross","dwell"`),
			when:   pick(h, "", "", "speed > 1", "object.n == 3", `fence.kind == "x"`),
		}
		h.drafts[id] = d
	}
	objects, fences, detect, when := d.objects, d.fences, d.detect, d.when
	if when != "" && h.IntN(2) == 0 {
		detect += `,"condition"`
	}
	schedule := pick(h, schedules...)
	text := fmt.Sprintf(`{"id":%q,"set":%q,"objects":%q,"fences":%s,"detect":[%s],"active":%s,"enabled":%v`,
		id, d.set, objects, fences, detect, schedule.text, h.IntN(9) > 0)
	if strings.Contains(detect, "dwell") {
		text += pick(h, `,"dwell":{"after":"5s"}`, `,"dwell":{"after":"20s","every":"10s"}`, `,"dwell":{"after":"12s","every":"7s"}`)
	}
	if strings.Contains(detect, "inside") {
		text += pick(h, "", `,"inside":{"every":"9s"}`)
	}
	if strings.Contains(detect, "outside") {
		text += pick(h, "", `,"outside":{"every":"9s"}`)
	}
	if strings.Contains(detect, "cross") {
		text += pick(h, "", "", `,"direction":"left"`, `,"direction":"right"`)
	}
	if when != "" {
		text += fmt.Sprintf(`,"when":%q`, when)
	}
	parsed, err := rule.Parse([]byte(text + "}"))
	if err != nil {
		panic(fmt.Sprint(text, ": ", err))
	}
	st.rule = &oracleRule{Rule: parsed, selects: selectors[objects], when: conditions[when], open: schedule.open, last: schedule.last}
	if strings.Contains(fences, "where") {
		st.rule.where = "x"
	}
	return st
}

// selectors and conditions are the meaning of the texts in the rules that histories have.
var (
	selectors = map[string]func(id string) bool{
		"*": func(string) bool { return true }, "o?": func(string) bool { return true },
		"o3": func(id string) bool { return id == "o3" }, "*1": func(id string) bool { return id == "o1" },
		"x": func(string) bool { return false },
	}
	conditions = map[string]func(obj *oracleObject, f *fence.Fence) bool{
		"":                  func(*oracleObject, *fence.Fence) bool { return true },
		"speed > 1":         func(obj *oracleObject, _ *fence.Fence) bool { return obj.last.Speed.Known && obj.last.Speed.Value > 1 },
		"object.n == 3":     func(obj *oracleObject, _ *fence.Fence) bool { return string(obj.props) == `{"n":3}` },
		`fence.kind == "x"`: func(_ *oracleObject, f *fence.Fence) bool { return f != nil && kindOf(f) == "x" },
	}
)

func pick[T any](h *history, of ...T) T { return of[h.IntN(len(of))] }

// number is a number from the environment, or another one.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestAgainstTheOracle plays random histories to the tracker, on one shard and on up to 16, which
// are replaced now and then by others with the exported state. After each step every field of
// every event is as the oracle says.
func TestAgainstTheOracle(t *testing.T) {
	sampling.Sequential(t)
	histories, steps := number(t, "PADDOCK_HISTORIES", 200), number(t, "PADDOCK_STEPS", 1000)
	if os.Getenv("PADDOCK_HISTORIES") == "" {
		histories /= sampling.Slowdown
	}
	from := uint64(number(t, "PADDOCK_FROM", 0))
	for n := range uint64(histories) {
		seed := from + n
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			defer endsUndecided(t)
			o := track.Options{}
			if seed%4 == 0 {
				o = track.Options{Initial: track.Initial(seed / 4 % 3), TTL: 30 * time.Second}
			}
			h, one, many := newHistory(seed, seed%4 != 0), newSpread(1, o), newSpread(2+int(seed%15), o)
			h.rules, many.stored = seed%4 >= 2, seed%3 == 0
			h.settled = h.policies && seed%5 < 3
			for n := range steps {
				st := h.next()
				for _, s := range []*spread{one, many} {
					if got, want := s.play(t, st); !slices.Equal(got, want) || t.Failed() {
						t.Fatalf("step %d, %d shards:\n got %q\nwant %q", n, len(s.shards), got, want)
					}
					if h.IntN(50) == 0 {
						s.move(t)
					}
				}
			}
		})
	}
}

// endsUndecided ends a history that the oracle cannot decide. One in a thousand does not matter.
func endsUndecided(t *testing.T) {
	switch reason := recover().(type) {
	case nil:
	case tooNear:
		t.Log("the history ends here: ", string(reason))
	default:
		panic(reason)
	}
}

// stateOf returns the exported state of a shard after a history, and the fences.
func stateOf(t testing.TB, seed uint64, steps int) ([]byte, *track.View) {
	s, h := newSpread(1, track.Options{Initial: track.InitialEnter, TTL: 30 * time.Second}), newHistory(seed, seed%2 == 0)
	for range steps {
		s.play(t, h.next())
	}
	state, err := s.shards[0].Export(nil)
	if err != nil {
		t.Fatal(err)
	}
	return state, s.view()
}

// A state that is cut off, or does not fit the fences, changes nothing.
func TestImportRefuses(t *testing.T) {
	state, v := stateOf(t, 1, 300)
	shard := track.NewShard(track.Options{})
	shard.Apply(at("kept", 1, 0.5, 0.5), nil)
	for n := range state {
		if err := shard.Import(state[:n], v); err == nil {
			t.Fatalf("%d of %d bytes were taken", n, len(state))
		}
	}
	if err := shard.Import(append(slices.Clone(state), 0), v); !errors.Is(err, track.ErrState) {
		t.Errorf("a byte too many: %v", err)
	}
	newer := append([]byte{state[0] + 1}, state[1:]...)
	if err := shard.Import(newer, v); !errors.Is(err, track.ErrStateVersion) {
		t.Errorf("a newer version: %v", err)
	}
	if err := shard.Import(state, &track.View{}); !errors.Is(err, track.ErrStateFences) {
		t.Errorf("without the fences: %v", err)
	}
	if _, ok := shard.Get("f", "kept"); !ok || shard.Len() != 1 {
		t.Error("the shard has changed")
	}
}

// A shard whose objects have not all met the present fences cannot be exported.
func TestExportWaitsForTheFences(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.fix(1, 0.5, 0.5)
	w.set.Delete("a")
	w.shard.SetView(w.view(), 2000)
	if _, err := w.shard.Export(nil); !errors.Is(err, track.ErrUnsettled) {
		t.Errorf("error %v", err)
	}
	settled(w.shard, nil)
	if _, err := w.shard.Export(nil); err != nil {
		t.Error(err)
	}
}

// FuzzImport: no bytes make Import panic, or take much more memory than they are long. Bytes that
// are taken make a state that can be exported and used.
func FuzzImport(f *testing.F) {
	state, v := stateOf(f, 2, 400)
	f.Add(state)
	f.Fuzz(func(t *testing.T, b []byte) {
		shard := track.NewShard(track.Options{TTL: time.Second})
		if shard.Import(b, v) != nil {
			return
		}
		again, err := shard.Export(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := track.NewShard(track.Options{}).Import(again, v); err != nil {
			t.Errorf("its own export is refused: %v", err)
		}
		shard.Apply(at("o1", 1e7, 0.5, 0.5), nil)
		shard.Advance(1 << 40)
		settled(shard, nil)
	})
}

// story checks what each object's events say one after the other.
type story struct {
	seq    map[string]uint64
	known  map[string]bool
	inside map[string]uint64 // "object fence" -> visit
}

func newStory() *story { return &story{map[string]uint64{}, map[string]bool{}, map[string]uint64{}} }

func (s *story) add(t *testing.T, events []track.Event) {
	t.Helper()
	for _, e := range events {
		if before := s.seq[e.ID]; e.Seq <= before || s.known[e.ID] && e.Seq != before+1 {
			t.Fatalf("%s: event %d after %d", e.ID, e.Seq, before)
		}
		s.known[e.ID] = true
		s.seq[e.ID] = e.Seq
		where := e.ID + " " + e.Fence.Key
		visit, in := s.inside[where]
		switch e.Kind {
		case track.Enter:
			if in || e.Visit != e.Seq {
				t.Fatalf("%s: enters again (visit %d, seq %d)", where, e.Visit, e.Seq)
			}
			s.inside[where] = e.Visit
		case track.Exit:
			if in && visit != e.Visit || !in && e.Visit != 0 {
				t.Fatalf("%s: leaves visit %d, entered %d", where, e.Visit, visit)
			}
			delete(s.inside, where)
		}
		if e.At < e.Since {
			t.Fatalf("%s: left at %d, before it entered at %d", where, e.At, e.Since)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	w.expectNoAllocations(at("o", 1, 0.5, 0.5))
}

// An object that has visited some fences of a list, so that its marks are in another order.
func TestOutsideDoesNotAllocate(t *testing.T) {
	shard, _ := outsider(t, 500, 50)
	p, events := at("o", 1e6, -5, -5), make([]track.Event, 0, 16)
	// hot: a fix outside of all fences.
	if n := testing.AllocsPerRun(100, func() {
		p.Time++
		if _, out := shard.Apply(p, events[:0]); len(out) > 0 {
			t.Fatalf("told again: %v", tell(out))
		}
	}); n != 0 {
		t.Errorf("%v allocations a fix", n)
	}
}

// A vehicle that drives over a border and back leaves nothing on the way.
func TestPendingChangesDoNotAllocate(t *testing.T) {
	side := 400 * metre
	w := newWorld(t, track.Options{}, square("west", -side, -side/2, side), square("east", 0, -side/2, side))
	policy, err := track.ParsePolicy("steady")
	if err != nil {
		t.Fatal(err)
	}
	w.policy = &policy
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	events := make([]track.Event, 0, 16)
	p, told, step := at("o", 1, -100*metre, 0), 0, 10*metre
	// hot: the path of a fix that is contrary, and of one that confirms.
	if n := testing.AllocsPerRun(500, func() {
		p.Time += 1000
		if p.Lon += step; p.Lon > 100*metre || p.Lon < -100*metre {
			step = -step
		}
		_, out := w.shard.Apply(p, events[:0])
		told += len(out)
	}); n != 0 {
		t.Errorf("%v allocations a fix", n)
	}
	if told < 40 {
		t.Errorf("%d events: the vehicle does not drive over the border", told)
	}
}

// A state of version 3 may be that of a program that did not remember which times of dwelling were
// told. A changed rule does not tell them again.
func TestImportOfDwelling(t *testing.T) {
	state, err := os.ReadFile("testdata/state-v3.bin")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.setRules(`[{"id":"r","set":"s","detect":["dwell"],"dwell":{"after":"60s","every":"30s"}},{"id":"q","set":"s","detect":["dwell"],"dwell":{"after":"20s"}}]`)
	if err := w.shard.Import(state, w.view()); err != nil {
		t.Fatal(err)
	}
	w.setRules(`[{"id":"r","set":"s","detect":["dwell"],"dwell":{"after":"50s","every":"20s"}},{"id":"q","set":"s","detect":["dwell"],"dwell":{"after":"10s"}}]`)
	expect(t, w.edit(w.view(), 70_000), "")
	expect(t, w.advance(115_000), "dwell a 1m31s move by r, dwell a 1m51s move by r")
}

// A state of version 2 has no altitudes. Its pending changes and waiting fixes go on.
func TestImportOfVersion2(t *testing.T) {
	state, err := os.ReadFile("testdata/state-v2.bin")
	if err != nil {
		t.Fatal(err)
	}
	side := 200 * metre
	w := newWorld(t, track.Options{}, square("a", -side, -side/2, side), square("b", -side, -side/2, side))
	w.policy = &track.Policy{Fixes: 3, Late: track.LateReorder, Reorder: 5 * time.Second, TTL: time.Hour}
	if err := w.shard.Import(state, w.view()); err != nil {
		t.Fatal(err)
	}
	if o, _ := w.shard.Get("f", "o"); len(o.Pending) != 2 || o.Pending[0].Fixes != 2 || o.Altitude.Known {
		t.Errorf("%+v", o)
	}
	expect(t, w.advance(25_000), "enter a 500ms move, enter b 500ms move")
}

// A state that the program before wrote is read: its objects are in the same fences, and go on.
func TestImportOfVersion1(t *testing.T) {
	state, err := os.ReadFile("testdata/state-v1.bin")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, track.Options{Initial: track.InitialEnter, TTL: time.Minute}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	if err := w.shard.Import(state, w.view()); err != nil {
		t.Fatal(err)
	}
	if w.shard.Len() != 4 || w.shard.Silent() != 1 {
		t.Errorf("%d objects, %d silent", w.shard.Len(), w.shard.Silent())
	}
	var found []string
	for _, o := range w.shard.Select(nil, &track.Filter{}, nil) {
		line := fmt.Sprint(o.ID, " ", o.State, " ", o.Time, " ", string(o.Props), " ", o.Speed, " ", o.Accuracy)
		for _, v := range o.Fences {
			line += fmt.Sprint(" ", v.Fence.Key, " since ", v.Since, " visit ", v.Visit)
		}
		found = append(found, line)
	}
	want := []string{
		"o moving 64000  {0 false} {0 false} a since 64000 visit 5 b since 64000 visit 6",
		`p dwelling 63000 {"k":1} {3 true} {7 true} b since 63000 visit 3`,
		"q unknown 64500  {0 false} {0 false} a since 64500 visit 3 b since 64500 visit 4",
		"silent silent 4000  {0 false} {0 false}",
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("got %q\nwant %q", found, want)
	}
	expect(t, w.fix(70, 5, 5), "exit a 1m4.667s move, exit b 1m6s move")
	expect(t, w.advance(124_500), "exit a 2m4.5s ttl, exit b 2m4.5s ttl, exit b 2m4.5s ttl")
	again, err := w.shard.Export(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := track.NewShard(track.Options{}).Import(again, w.view()); err != nil {
		t.Error(err)
	}
}
