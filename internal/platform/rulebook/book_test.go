package rulebook

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

func parse(t testing.TB, text string) *rule.Rule {
	t.Helper()
	r, err := rule.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func allow(*rule.Rule) error { return nil }

func put(t testing.TB, b *Book, text string) {
	t.Helper()
	if _, _, err := b.Put(parse(t, text), allow); err != nil {
		t.Fatal(err)
	}
}

// texts lists rules with their files.
func texts(s *State) (all []string) {
	for _, r := range s.Rules().Rules() {
		all = append(all, string(r.AppendJSON(nil))+s.File(r.ID))
	}
	return all
}

func TestRules(t *testing.T) {
	b := New(track.Policy{})
	first := b.State()
	kept, created, err := b.Put(parse(t, `{"id":"a","set":"s","fleet":"*"}`), allow)
	if err != nil || !created || kept.Fleet != "" {
		t.Errorf("%+v, %v, %v", kept, created, err)
	}
	if _, created, err = b.Put(parse(t, `{"id":"a","set":"t"}`), allow); err != nil || created {
		t.Error(created, err)
	}
	same := b.State()
	if put(t, b, `{"id":"a","set":"t"}`); b.State() != same {
		t.Error("the same rule makes another state")
	}
	refused := errors.New("refused")
	refuse := func(old *rule.Rule) error {
		if old == nil || old.ID != "a" {
			t.Errorf("the guard gets %+v", old)
		}
		return refused
	}
	if _, _, err := b.Put(parse(t, `{"id":"a","set":"u"}`), refuse); err != refused || b.State() != same {
		t.Error(err)
	}
	if err := b.Delete("a", refuse); err != refused {
		t.Error(err)
	}
	if _, err := b.Edit("a", allow, func(old *rule.Rule) (*rule.Rule, error) { return old.Patch([]byte(`{"set":"v"}`)) }); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(texts(b.State())); !strings.Contains(got, `"set":"v"`) || len(texts(first)) != 0 {
		t.Errorf("%s; the first state has %v", got, texts(first))
	}
	if err := errors.Join(b.Delete("a", allow)); err != nil || b.State().Rules().Len() != 0 || !b.State().Pages()[pageOf("a")].Empty() {
		t.Error(err)
	}
	if err := b.Delete("a", allow); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := b.Edit("a", allow, nil); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// The number of rules about objects near each other is bounded, over the API and in files.
func TestNearIsBounded(t *testing.T) {
	b := New(track.Policy{})
	var all []*rule.Rule
	for n := range MaxNear {
		r := parse(t, fmt.Sprintf(`{"id":"n%d","near":{"metres":5}}`, n))
		all = append(all, r)
		if _, _, err := b.Put(r, allow); err != nil {
			t.Fatal(err)
		}
	}
	put(t, b, `{"id":"n1","near":{"metres":6}}`)
	put(t, b, `{"id":"c","set":"s","count":{"at_least":2}}`)
	more := parse(t, `{"id":"more","near":{"metres":5}}`)
	if _, _, err := b.Put(more, allow); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := New(track.Policy{}).SetFiles(Files{Rules: append(all, more), RulesFile: "rules.yaml"}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func TestPolicies(t *testing.T) {
	b := New(track.Policy{Metres: 1})
	if p, file, own := b.State().Policy("s"); p.Metres != 1 || file != "" || own {
		t.Errorf("%+v, %q, %v", p, file, own)
	}
	if err := b.SetPolicy("s", &track.Policy{Metres: 2}); err != nil {
		t.Fatal(err)
	}
	if p, _, own := b.State().Policy("s"); p.Metres != 2 || !own {
		t.Errorf("%+v, %v", p, own)
	}
	b.SetDefault(track.Policy{Metres: 3})
	if p, _, _ := b.State().Policy("other"); p.Metres != 3 {
		t.Errorf("%+v", p)
	}
	if err := b.SetPolicy("s", nil); err != nil {
		t.Error(err)
	}
	if err := b.SetPolicy("s", nil); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	ok := b.SetPolicy("gone", &track.Policy{})
	b.Forget("gone")
	if _, _, own := b.State().Policy("gone"); ok != nil || own {
		t.Error("the policy of a set that is gone is kept")
	}
}

// What files hold comes and goes with them, wins over the API, and cannot be changed there.
func TestFiles(t *testing.T) {
	b := New(track.Policy{})
	put(t, b, `{"id":"a","set":"api"}`)
	put(t, b, `{"id":"b","set":"api"}`)
	if err := b.SetPolicy("s", &track.Policy{Metres: 1}); err != nil {
		t.Fatal(err)
	}
	files := Files{
		Rules: []*rule.Rule{parse(t, `{"id":"b","set":"file"}`), parse(t, `{"id":"c","set":"file"}`)}, RulesFile: "rules.yaml",
		Policies: map[string]track.Policy{"s": {Metres: 2}, "t": {Metres: 3}},
		Names:    map[string]string{"s": "s.policy.yaml", "t": "t.policy.yaml"},
	}
	taken, err := b.SetFiles(files)
	if want := []string{"policy of the set s", "rule b"}; err != nil || !slices.Equal(taken, want) {
		t.Errorf("taken %q, %v", taken, err)
	}
	state := b.State()
	if p, file, _ := state.Policy("s"); p.Metres != 2 || file != "s.policy.yaml" {
		t.Errorf("%+v, %q", p, file)
	}
	for id, want := range map[string]string{"a": "", "b": "rules.yaml", "c": "rules.yaml"} {
		if got := state.File(id); got != want {
			t.Errorf("%s is of %q", id, got)
		}
	}
	var held *FileError
	for name, err := range map[string]error{
		"put":    func() error { _, _, err := b.Put(parse(t, `{"id":"b","set":"x"}`), allow); return err }(),
		"edit":   func() error { _, err := b.Edit("c", allow, nil); return err }(),
		"delete": b.Delete("c", allow),
		"policy": b.SetPolicy("t", nil),
	} {
		if !errors.As(err, &held) || !strings.Contains(err.Error(), ".yaml: change it there") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.SetFiles(files); err != nil || b.State() != state {
		t.Errorf("the same files make another state: %v", err)
	}
	if taken, err = b.SetFiles(Files{}); err != nil || len(taken) > 0 {
		t.Error(taken, err)
	}
	if got := fmt.Sprint(texts(b.State())); !strings.Contains(got, `"id":"a"`) || strings.Contains(got, "file") {
		t.Error(got)
	}
	if _, _, own := b.State().Policy("s"); own {
		t.Error("the policy of a file that is gone is kept")
	}
}

// A state comes back from its stored form as a change of any other state.
func TestStored(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := New(track.Policy{TTL: 1e9})
	var states []*State
	for n := range 60 {
		switch random.IntN(6) {
		case 0:
			b.SetDefault(track.Policy{Fixes: 1 + n})
		case 1:
			_ = b.SetPolicy(fmt.Sprint("s", random.IntN(3)), &track.Policy{Metres: float64(n)})
		case 2:
			f := Files{RulesFile: "rules.yaml"}
			for range random.IntN(400) {
				f.Rules = append(f.Rules, parse(t, fmt.Sprintf(`{"id":"f%d","set":"s"}`, len(f.Rules))))
			}
			if _, err := b.SetFiles(f); err != nil {
				t.Fatal(err)
			}
		case 3:
			_ = b.Delete(fmt.Sprint("r", random.IntN(20)), allow)
		default:
			put(t, b, fmt.Sprintf(`{"id":"r%d","set":"s%d"}`, random.IntN(20), n))
		}
		states = append(states, b.State())
	}
	for range 100 {
		from, to := states[random.IntN(len(states))], states[random.IntN(len(states))]
		before, after := from.Pages(), to.Pages()
		changed := map[int][]byte{}
		for n := range after {
			if before[n] != after[n] {
				changed[n] = after[n].Append(nil)
			}
		}
		got, err := Decode(from, to.Head(), changed)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Head()) != string(to.Head()) || !slices.Equal(texts(got), texts(to)) {
			t.Fatalf("%v, want %v", texts(got), texts(to))
		}
		for n, p := range got.Pages() {
			if string(p.Append(nil)) != string(after[n].Append(nil)) {
				t.Errorf("page %d differs", n)
			}
		}
	}
	for _, damaged := range []map[int][]byte{{0: {2}}, {0: {0}}, {0: {0, 5, '{'}}, {0: {0, 2, '{', '}'}}} {
		if _, err := Decode(nil, states[0].Head(), damaged); !errors.Is(err, ErrState) {
			t.Errorf("%v: %v", damaged, err)
		}
	}
	if _, err := Decode(nil, []byte("{"), nil); !errors.Is(err, ErrState) {
		t.Error(err)
	}
}

// BenchmarkPut changes one of 100,000 rules, and encodes its page.
// TestStoredAtTheBound: a state with as many rules as there may be is read after one has made room
// for another.
func TestStoredAtTheBound(t *testing.T) {
	rules := []*rule.Rule{parse(t, `{"id":"old","set":"s"}`)}
	for len(rules) < rule.MaxRules {
		rules = append(rules, &rule.Rule{ID: fmt.Sprint("f", len(rules)), Set: "s"})
	}
	from := empty(track.Policy{})
	var err error
	if from.rules, err = rule.NewTable(rules); err != nil {
		t.Fatal(err)
	}
	from.paginate()
	to, err := from.without("old").with(parse(t, `{"id":"new","set":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[int][]byte{}
	for _, id := range []string{"old", "new"} {
		changed[pageOf(id)] = to.Pages()[pageOf(id)].Append(nil)
	}
	for range 8 { // the pages are in no order
		got, err := Decode(from, to.Head(), changed)
		if err != nil {
			t.Fatal(err)
		}
		if _, there := got.Rules().Get("new"); !there || got.Rules().Len() != rule.MaxRules {
			t.Fatalf("%d rules", got.Rules().Len())
		}
	}
}

func BenchmarkPut(b *testing.B) {
	book := New(track.Policy{})
	var f Files
	for n := range rule.MaxRules - 1 {
		f.Rules = append(f.Rules, parse(b, fmt.Sprintf(`{"id":"f%d","set":"s","objects":"bus-%d-*"}`, n, n)))
	}
	if _, err := book.SetFiles(f); err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		put(b, book, fmt.Sprintf(`{"id":"r","set":"s%d"}`, n%2))
		pages := book.State().Pages()
		_ = pages[pageOf("r")].Append(nil)
	}
}
