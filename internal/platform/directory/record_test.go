package directory

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
)

// next opens the directory again as the next process does whose catalog was kept.
func (p *place) next() {
	p.Helper()
	p.record = p.d.Record()
	p.log.Reset()
	p.mustOpen()
}

// idsOf returns the keys of a set's fences, or "none".
func (p *place) idsOf(set string) string {
	s, ok := p.catalog.Get(set)
	if !ok {
		return "none"
	}
	var keys []string
	for _, f := range s.Snapshot().All() {
		keys = append(keys, f.Key)
	}
	return strings.Join(keys, " ")
}

func (p *place) expect(when, set, want string) {
	p.Helper()
	if got := p.idsOf(set); got != want {
		p.Errorf("%s: the set %s has %q, want %q", when, set, got, want)
	}
}

// A catalog that outlives the process keeps the changes of a set until its file changes.
func TestARecordOfFiles(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("b.json", square(2))
	p.mustOpen()
	add := func(set, key string) {
		s, _ := p.catalog.Get(set)
		f, _, err := geojson.ParseFeature([]byte(square(0)), p.fences.Reading())
		p.must(err)
		f.Key = key
		_, _, err = s.Put(f)
		p.must(err)
	}
	add("a", "edited")
	add("b", "edited")
	before, _ := p.catalog.Get("a")

	p.next()
	p.expect("unchanged", "a", "1 edited")
	if s := p.d.Status(); len(s.Missing()) > 0 || s.Failing() > 0 || s.Sources[0].Loaded.IsZero() {
		t.Errorf("%+v", s)
	}
	if strings.Contains(p.log.String(), "set loaded") {
		t.Errorf("a file was read: %s", p.log.String())
	}
	p.d.look(p.Context()) // finds nothing to do either
	p.expect("after a scan", "a", "1 edited")

	p.write("b.json", square(3))
	p.write("c.json", square(4))
	p.next()
	p.expect("another file has changed", "a", "1 edited")
	p.expect("changed", "b", "3")
	p.expect("new", "c", "4")
	if now, _ := p.catalog.Get("a"); now != before {
		t.Error("a is another set")
	}

	p.remove("c.json")
	p.next()
	p.expect("removed", "c", "none")
	if bytes.Contains(p.d.Record(), []byte("c.json")) {
		t.Errorf("the record has %s", p.d.Record())
	}

	p.fences.Boundary = "closed" // has the files read in another way
	p.next()
	p.expect("with other options", "a", "1")

	add("a", "edited")
	p.must(p.d.Reload(p.Context()))
	p.expect("reloaded", "a", "1")

	p.write("a.json", "{")
	p.partial = true
	add("a", "edited")
	p.next()
	p.expect("broken", "a", "1 edited")
	if s := p.d.Status(); s.Failing() != 1 {
		t.Errorf("%+v", s)
	}

	p.catalog = &fence.Catalog{} // the record is of a catalog that was lost
	p.write("a.json", square(1))
	p.next()
	p.expect("without the catalog", "a", "1")
}

// A record that is not readable has the files read.
func TestABrokenRecord(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.record = []byte("[")
	p.mustOpen()
	p.expect("broken", "a", "1")
}

// A set that a client has removed stays away until its file changes, or all files are read.
func TestARecordOfARemovedSet(t *testing.T) {
	p := newPlace(t)
	p.write("a.json", square(1))
	p.write("b.json", square(2))
	p.mustOpen()
	lost := p.d.Record() // of a run after which the set is lost
	remove := func() {
		t.Helper()
		if !p.catalog.Remove("a") {
			t.Error("there is no set a")
		}
	}
	remove()
	for _, when := range []string{"at the next start", "at the start after it"} {
		p.next()
		p.expect(when, "a", "none")
		p.expect(when, "b", "2")
		if s := p.d.Status(); len(s.Missing()) > 0 || s.Failing() > 0 {
			t.Errorf("%s: %+v", when, s)
		}
	}
	now := time.Now()
	p.must(os.Chtimes(p.at("a.json"), now, now)) // the contents are the same
	p.settle()
	p.expect("touched", "a", "none")
	p.write("a.json", square(3))
	p.settle()
	p.expect("changed in the run", "a", "3")

	remove()
	p.write("a.json", square(4))
	p.next()
	p.expect("changed before the start", "a", "4")
	remove()
	p.next()
	p.must(p.d.Reload(p.Context()))
	p.expect("reloaded", "a", "4")
	remove()
	p.next()
	p.remove("a.json")
	p.settle()
	if bytes.Contains(p.d.Record(), []byte("a.json")) {
		t.Errorf("the record has %s", p.d.Record())
	}

	p.write("a.json", square(1))
	p.record = lost
	p.mustOpen()
	p.expect("lost", "a", "1")
}
