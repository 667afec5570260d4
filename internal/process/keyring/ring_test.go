package keyring

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// kept is a Store in memory.
type kept struct {
	text []byte
	fail error
}

func (k *kept) Load() ([]byte, error) { return k.text, nil }

func (k *kept) Save(text []byte) error {
	if k.fail == nil {
		k.text = text
	}
	return k.fail
}

func key(name, secret string, verbs ...string) Key {
	return Key{Name: name, SHA256: DigestOf(secret), Verbs: verbs}
}

func open(t *testing.T, s Store) *Ring {
	t.Helper()
	r, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Keys are found by their secrets, survive in the store, and end when they are removed or changed,
// but not when nothing has changed.
func TestRing(t *testing.T) {
	store := &kept{}
	r := open(t, store)
	must(t, r.Add(key("root", "r", "admin")))
	must(t, r.Add(key("acme", "a", "lookup")))
	if r.Find("x") != nil || r.Find("") != nil {
		t.Error("an unknown secret is found")
	}
	acme := r.Find("a")
	if acme == nil || acme.Name() != "acme" || !acme.Can(Lookup) || acme.Can(SetsWrite) || !r.Find("r").Can(SetsWrite) {
		t.Fatalf("%+v", acme)
	}
	for _, bad := range []struct {
		k    Key
		want error
	}{{key("acme", "b", "lookup"), ErrExists}, {key("other", "a", "lookup"), ErrExists}} {
		if err := r.Add(bad.k); !errors.Is(err, bad.want) {
			t.Errorf("%s: %v", bad.k.Name, err)
		}
	}
	if _, ok := errors.AsType[*FieldError](r.Add(key("x", "x"))); !ok {
		t.Error("a key without verbs")
	}
	must(t, r.Edit("acme", func(*Key) error { return nil }))
	if acme.HasEnded() {
		t.Error("a change of nothing ends the key")
	}
	must(t, r.Edit("acme", func(k *Key) error { k.Fleets = []string{"f"}; return nil }))
	if !acme.HasEnded() || acme.Can(Lookup) || r.Find("a").Fleet("g") || !r.Find("a").Fleet("f") {
		t.Error("the limits of a changed key")
	}
	again := open(t, store)
	if g := again.Find("a"); g == nil || g.Fleet("g") {
		t.Error("the store has another key")
	}
	must(t, r.Remove("acme"))
	if r.Find("a") != nil || !errors.Is(r.Remove("acme"), ErrUnknown) {
		t.Error("a removed key")
	}
	if err := r.Remove("root"); !errors.Is(err, ErrLast) {
		t.Error(err)
	}
	store.fail = errors.New("full")
	if err := r.Add(key("new", "n", "lookup")); !errors.Is(err, store.fail) || r.Find("n") != nil {
		t.Error("a key that is not stored is valid")
	}
}

// Keys of the file are replaced by those of the next one: equal ones go on, and the API changes
// none.
func TestFile(t *testing.T) {
	r := open(t, nil)
	must(t, r.Add(key("api", "x", "lookup")))
	must(t, r.SetFile([]Key{key("a", "1", "lookup"), key("b", "2", "lookup")}))
	a, b := r.Find("1"), r.Find("2")
	if err := r.Remove("a"); !errors.Is(err, ErrFile) {
		t.Error(err)
	}
	for _, bad := range [][]Key{
		{key("api", "3", "lookup")},
		{key("c", "x", "lookup")},
		{key("c", "3", "lookup"), key("c", "4", "lookup")},
		{key("c", "3", "lookup"), key("d", "3", "lookup")},
		{key("a", "1", "lookup"), key("a", "1", "lookup")},
		{key("c", "1", "lookup"), key("a", "1", "lookup")},
	} {
		if err := r.SetFile(bad); !errors.Is(err, ErrExists) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if a.HasEnded() || b.HasEnded() || r.Find("1") == nil {
		t.Error("a refused file has changed something")
	}
	must(t, r.SetFile([]Key{key("a", "1", "lookup"), key("b", "2", "sets:write")}))
	if a.HasEnded() || !b.HasEnded() || r.Find("x") == nil {
		t.Error("another key than the changed one has ended, or not that one")
	}
	must(t, r.SetFile(nil))
	if !a.HasEnded() || r.Len() != 1 {
		t.Error("keys of an earlier file")
	}
}

// A key ends at its time, which is told as a change is; one that has ended before is never valid.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, nil)
		var told atomic.Int32
		r.OnChange(func() { told.Add(1) })
		k := key("a", "1", "lookup")
		const left = time.Hour + lookEvery/2
		k.Expires = time.Now().Add(left)
		must(t, r.Add(k))
		g := r.Find("1")
		time.Sleep(left - time.Second)
		synctest.Wait()
		if g.HasEnded() || told.Load() != 1 {
			t.Errorf("ended early, or told %d times", told.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !g.HasEnded() || r.Find("1") != nil || told.Load() != 2 || !r.List()[0].Expired {
			t.Errorf("not ended, or told %d times", told.Load())
		}
		if _, _, ok := r.Named("a"); ok {
			t.Error("found by its name")
		}
		k = key("b", "2", "lookup")
		k.Expires = time.Now().Add(-time.Hour)
		must(t, r.Add(k))
		if r.Find("2") != nil {
			t.Error("valid after its end")
		}
	})
}

// The end of a key is one of the wall clock, which may be set while the key is used. A key that has
// ended too early is valid again afterwards, with another grant.
func TestClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, nil)
		var ahead atomic.Int64
		r.clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		var told atomic.Int32
		r.OnChange(func() { told.Add(1) })
		k := key("a", "1", "admin")
		k.Expires = time.Now().Add(24 * time.Hour)
		must(t, r.SetFile([]Key{k}))
		g := r.Find("1")
		valid := func(want bool) {
			t.Helper()
			_, _, named := r.Named("a")
			if (r.Find("1") != nil) != want || named != want || r.List()[0].Expired == want || r.Administrators() != want {
				t.Errorf("found %v, by name %v, %+v", r.Find("1"), named, r.List())
			}
		}
		valid(true)

		ahead.Store(int64(48 * time.Hour))
		valid(false)
		time.Sleep(lookEvery)
		synctest.Wait()
		if valid(false); !g.HasEnded() || told.Load() != 2 {
			t.Errorf("still served, or told %d times", told.Load())
		}

		ahead.Store(0)
		time.Sleep(lookEvery)
		synctest.Wait()
		valid(true)
		if again := r.Find("1"); again == g || !g.HasEnded() || told.Load() != 3 {
			t.Errorf("an ended grant is used again, or told %d times", told.Load())
		}

		r.Close()
		r.look() // as a timer that has fired just before
		valid(false)
	})
	if end := newEntry(Key{Expires: time.Now()}, true).key.Expires; end != end.Round(0) {
		t.Errorf("%v is not of the wall clock alone", end)
	}
}

// The number of keys is bounded, and so are the pairs of sets and fleets of one.
func TestBounds(t *testing.T) {
	var file []Key
	for n := range MaxKeys {
		file = append(file, key(fmt.Sprint("k", n), fmt.Sprint(n), "lookup"))
	}
	r := open(t, nil)
	must(t, r.SetFile(file[:10]))
	names := make([]string, 101)
	for n := range names {
		names[n] = fmt.Sprint(n)
	}
	k := key("pairs", "p", "events:read")
	k.Fleets, k.Sets = names, names
	if err := r.Add(k); err == nil || !strings.Contains(err.Error(), "pairs") {
		t.Error(err)
	}
	full := map[string]*entry{}
	for _, k := range file {
		full[k.Name] = &entry{key: k}
	}
	if err := admit(full, &entry{key: key("more", "m", "lookup")}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// A secret is as long as its digest, and has a prefix by which it is found where it does not
// belong.
func TestSecrets(t *testing.T) {
	a, b := NewSecret(), NewSecret()
	if a == b || !strings.HasPrefix(a, SecretPrefix) || len(a) != len(SecretPrefix)+43 {
		t.Error(a, b)
	}
	if From(t.Context()).Can(Lookup) || From(t.Context()).Can(Admin) {
		t.Error("a context without a grant permits something")
	}
}

// The last use of a key is that of its secret, and stays when the key is changed.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Open(nil)
		must(t, err)
		must(t, r.Add(key("acme", "a", "lookup")))
		used := func() time.Time {
			listed, _ := r.Get("acme")
			return listed.Used
		}
		r.Find("x")
		if _, _, ok := r.Named("acme"); !ok || !used().IsZero() {
			t.Errorf("used at %v, before its secret was presented", used())
		}
		r.Find("a")
		first := used()
		if want := time.Now().UTC().Truncate(time.Second); !first.Equal(want) {
			t.Errorf("used at %v, not %v", first, want)
		}
		time.Sleep(time.Minute)
		must(t, r.Edit("acme", func(k *Key) error { k.Sets = []string{"s"}; return nil }))
		if !used().Equal(first) {
			t.Errorf("used at %v after a change, not %v", used(), first)
		}
		r.Find("a")
		if got := used(); !got.Equal(first.Add(time.Minute)) {
			t.Errorf("used at %v, a minute after %v", got, first)
		}
		r.Close()
	})
}
