package views

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
)

func square(key string, east float64) fence.Fence {
	return fence.Fence{Key: key, Geometry: geometry.MultiPolygon{{{
		{Lon: east}, {Lon: east + 1}, {Lon: east + 1, Lat: 1}, {Lon: east, Lat: 1}, {Lon: east},
	}}}}
}

func addSet(t *testing.T, c *fence.Catalog, name string, fences ...fence.Fence) *fence.Set {
	t.Helper()
	s, err := fence.NewSet(name, fence.Options{})
	if err == nil {
		_, err = s.Replace(&geojson.Collection{Fences: fences})
	}
	if err == nil {
		err = c.Add(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// describe lists id, name and number of fences of each set.
func describe(v *track.View, _ []byte) string {
	var sets []string
	for _, s := range v.Sets {
		sets = append(sets, fmt.Sprint(s.ID, " ", s.Name, " ", s.Snapshot.Len()))
	}
	return strings.Join(sets, ", ")
}

func TestViews(t *testing.T) {
	catalog := &fence.Catalog{}
	b := addSet(t, catalog, "b", square("x", 0))
	views := New(catalog, nil)
	first, _ := views.View()
	if again, _ := views.View(); again != first {
		t.Error("a new view though nothing has changed")
	}
	addSet(t, catalog, "a")
	second, _ := views.View()
	if got := describe(second, nil); second == first || got != "0 b 1, 1 a 0" {
		t.Errorf("with another set: %s", got)
	}
	if got := describe(first, nil); got != "0 b 1" {
		t.Errorf("a view has changed into %s", got)
	}
	if _, _, err := b.Put(square("y", 0)); err != nil {
		t.Fatal(err)
	}
	if got := describe(views.View()); got != "0 b 2, 1 a 0" {
		t.Errorf("with another fence: %s", got)
	}
	catalog.Remove("b")
	if got := describe(views.View()); got != "1 a 0" {
		t.Errorf("without the set: %s", got)
	}
	if err := catalog.Add(b); err != nil {
		t.Fatal(err)
	}
	if got := describe(views.View()); got != "1 a 0, 2 b 2" {
		t.Errorf("with the set again: %s", got)
	}
}

// content lists everything of a view that its fold depends on.
func content(v *track.View) string {
	var b strings.Builder
	for _, s := range v.Sets {
		fmt.Fprintf(&b, "%d %s %d:", s.ID, s.Name, s.Snapshot.Generation())
		for ref, f := range s.Snapshot.All() {
			fmt.Fprintf(&b, " %d=%s%s%v", ref, f.Key, f.Properties, f.Geometry)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// differs shows the first difference of two texts.
func differs(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-40, 0)
	return fmt.Sprintf("%.100q, want %.100q", got[from:], want[from:])
}

func open(t *testing.T, c *fence.Catalog, log journal.Journal) *Views {
	t.Helper()
	v, err := Open(Options{Catalog: c, Journal: log, Files: func() []byte { return []byte("files of " + fmt.Sprint(c.Len())) }})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// edit changes a catalog at random.
func edit(t *testing.T, r *rand.Rand, c *fence.Catalog) {
	t.Helper()
	name := fmt.Sprint("set-", r.IntN(4))
	set, ok := c.Get(name)
	if !ok {
		var fences []fence.Fence
		for i := range r.IntN(600) {
			fences = append(fences, square(fmt.Sprint("f", i), r.Float64()*100))
		}
		addSet(t, c, name, fences...)
		return
	}
	switch r.IntN(8) {
	case 0:
		c.Remove(name)
	case 1:
		if _, err := set.Replace(&geojson.Collection{Fences: []fence.Fence{square("only", 0)}}); err != nil {
			t.Fatal(err)
		}
	case 2, 3:
		set.Delete(fmt.Sprint("f", r.IntN(600)))
	default:
		f := square(fmt.Sprint("f", r.IntN(700)), r.Float64()*100)
		f.Properties = fmt.Appendf(nil, `{"n":%d}`, r.IntN(100))
		if _, _, err := set.Put(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoredViews edits sets, and reads every stored view again: with another Views, and from the
// start. What is not needed any more is removed.
func TestStoredViews(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 8))
		catalog, log := &fence.Catalog{}, journal.NewMemory()
		views := open(t, catalog, log)
		if err := views.Adopt(nil); err != nil {
			t.Fatal(err)
		}
		type stored struct{ id, want string }
		var all []stored
		for n := range 100 {
			edit(t, r, catalog)
			if r.IntN(3) > 0 {
				continue
			}
			if err := views.Stage(); err != nil {
				t.Fatal(err)
			}
			view, id := views.View()
			views.Begin(id, uint64(n+1))
			all = append(all, stored{string(id), content(view)})
			if r.IntN(10) == 0 {
				if err := views.Release(uint64(n + 1)); err != nil {
					t.Fatal(err)
				}
				all = all[len(all)-1:]
			}
		}
		restored := &fence.Catalog{}
		again := open(t, restored, log.Clone())
		for i, s := range all {
			if i%2 == 0 && i < len(all)-1 {
				continue // another one is decoded onto an older one
			}
			view, err := again.Decode([]byte(s.id))
			if err != nil {
				t.Fatal(err)
			}
			if got := content(view); got != s.want {
				t.Fatalf("view %d of %d: %s", i, len(all), differs(got, s.want))
			}
		}
		last := all[len(all)-1]
		if err := again.Adopt([]byte(last.id)); err != nil {
			t.Fatal(err)
		}
		view, id := again.View()
		if string(id) != last.id || content(view) != last.want {
			t.Errorf("the adopted view: %s", differs(content(view), last.want))
		}
		if got := string(again.Files()); !strings.HasPrefix(got, "files of ") {
			t.Errorf("files %q", got)
		}
		// It goes on with the same ids, and writes what changes alone.
		before, _ := again.store.log.Names(prefix)
		addSet(t, restored, "another", square("x", 1))
		if err := again.Stage(); err != nil {
			t.Fatal(err)
		}
		after, _ := again.store.log.Names(prefix)
		if n := len(after) - len(before); n > 3 {
			t.Errorf("a set of one fence makes %d documents", n)
		}
		if got, _ := again.View(); got.Sets[len(got.Sets)-1].ID != views.next {
			t.Errorf("the next id is %d, want %d", got.Sets[len(got.Sets)-1].ID, views.next)
		}
	}
}

// refusing is a journal that stores nothing while it is told to.
type refusing struct {
	*journal.Memory
	puts bool
}

func (r *refusing) Put(values ...journal.Value) error {
	if r.puts {
		return errors.New("no leader")
	}
	return r.Memory.Put(values...)
}

// What was refused is stored with the next view that has it.
func TestRefusedViews(t *testing.T) {
	for _, replicated := range []bool{false, true} {
		catalog, log := &fence.Catalog{}, &refusing{Memory: journal.NewMemory()}
		views, err := Open(Options{Catalog: catalog, Journal: log, Replicated: replicated})
		if err == nil {
			err = views.Adopt(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		addSet(t, catalog, "a", square("x", 0))
		log.puts = true
		if err := views.Stage(); err == nil {
			t.Error("nothing is refused")
		}
		log.puts = false
		for n := range 2 {
			if err := views.Stage(); err != nil {
				t.Fatal(err)
			}
			view, id := views.View()
			got, err := open(t, &fence.Catalog{}, log.Clone()).Decode(id)
			if err != nil {
				t.Fatalf("replicated %v: %v", replicated, err)
			}
			if content(got) != content(view) {
				t.Errorf("replicated %v: %s", replicated, differs(content(got), content(view)))
			}
			addSet(t, catalog, fmt.Sprint("b", n), square("y", 0))
		}
	}
}

// A document that is damaged, missing or cut off is refused.
func TestDamagedViews(t *testing.T) {
	catalog, log := &fence.Catalog{}, journal.NewMemory()
	addSet(t, catalog, "s", square("a", 0), square("b", 3))
	views := open(t, catalog, log)
	putRule(t, views, `{"id":"r","set":"s"}`)
	if err := views.Adopt(nil); err != nil {
		t.Fatal(err)
	}
	_, id := views.View()
	names, _ := log.Names(prefix)
	if len(names) != 5 {
		t.Fatalf("%q", names)
	}
	for _, name := range names {
		good, _ := log.Get(name)
		for at := range good {
			bad := slices.Clone(good)
			bad[at] ^= 1
			other := log.Clone()
			if err := other.Put(journal.Value{Name: name, Bytes: bad}); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t, &fence.Catalog{}, other).Decode(id); !errors.Is(err, ErrView) {
				t.Fatalf("%s, byte %d: %v", name, at, err)
			}
		}
		other := log.Clone()
		if err := other.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, &fence.Catalog{}, other).Decode(id); !errors.Is(err, ErrView) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := views.Decode(id[:5]); !errors.Is(err, ErrView) {
		t.Errorf("a short id: %v", err)
	}
}

func putRule(t *testing.T, v *Views, text string) {
	t.Helper()
	r, err := rule.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.book.Put(r, func(*rule.Rule) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// Rules and policies are part of the view: a change of them is a new one, an edit stores three
// documents, and they come back with every stored view and at the next start.
func TestRulesAreKept(t *testing.T) {
	catalog, log := &fence.Catalog{}, journal.NewMemory()
	addSet(t, catalog, "s", square("a", 0))
	addSet(t, catalog, "t", square("a", 0))
	views := open(t, catalog, log)
	if err := views.Adopt(nil); err != nil {
		t.Fatal(err)
	}
	books, ids := []*rulebook.State{views.book.State()}, [][]byte{views.current.Load().id}
	stage := func(most int) {
		t.Helper()
		before, _ := log.Names(prefix)
		if views.Staged() {
			t.Fatal("the change is not seen")
		}
		if err := views.Stage(); err != nil {
			t.Fatal(err)
		}
		after, _ := log.Names(prefix)
		if n := len(after) - len(before); n > most {
			t.Errorf("a change makes %d documents", n)
		}
		books, ids = append(books, views.book.State()), append(ids, views.current.Load().id)
	}
	for n := range 40 {
		putRule(t, views, fmt.Sprintf(`{"id":"r%d","set":"s"}`, n))
		stage(2)
	}
	if err := views.book.SetPolicy("s", &track.Policy{Metres: 3}); err != nil {
		t.Fatal(err)
	}
	stage(2)
	if view, _ := views.View(); view.Sets[0].Policy.Metres != 3 || view.Sets[1].Policy.Metres != 0 {
		t.Errorf("%+v, %+v", view.Sets[0].Policy, view.Sets[1].Policy)
	}
	if err := views.book.Delete("r7", func(*rule.Rule) error { return nil }); err != nil {
		t.Fatal(err)
	}
	stage(2)

	same := func(got, want *rulebook.State) {
		t.Helper()
		if string(got.Head()) != string(want.Head()) || fmt.Sprint(ruleTexts(got)) != fmt.Sprint(ruleTexts(want)) {
			t.Errorf("got %v of %s, want %v of %s", ruleTexts(got), got.Head(), ruleTexts(want), want.Head())
		}
	}
	again := open(t, &fence.Catalog{}, log)
	for _, n := range []int{3, 2, 40, 42, 0, 41} {
		if _, err := again.Decode(ids[n]); err != nil {
			t.Fatal(err)
		}
		same(again.store.decoded[hash(ids[n])].book, books[n])
	}
	if err := again.Adopt(ids[42]); err != nil {
		t.Fatal(err)
	}
	same(again.book.State(), books[42])
	if !again.Staged() {
		t.Error("an adopted view is staged again")
	}
	putRule(t, again, `{"id":"r7","set":"s"}`)
	before, _ := log.Names(prefix)
	if err := again.Stage(); err != nil {
		t.Fatal(err)
	}
	if after, _ := log.Names(prefix); len(after) != len(before) {
		t.Errorf("%d documents for a state that was there", len(after)-len(before))
	}
}

func ruleTexts(s *rulebook.State) (all []string) {
	for _, r := range s.Rules().Rules() {
		all = append(all, string(r.AppendJSON(nil)))
	}
	return all
}

func FuzzParseView(f *testing.F) {
	f.Add([]byte{viewVersion})
	f.Add(append([]byte{viewVersion, 3, 0, 0, 1, 0, 1, 's'}, make([]byte, 33)...))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if d, err := parseView(doc); err == nil && len(d.sets) > len(doc) {
			t.Errorf("%d sets of %d bytes", len(d.sets), len(doc))
		}
	})
}
