package events

import (
	"fmt"
	"os"
	"testing"
)

// TestSubscriptions follows a reader that stops, falls behind what is kept, and is cut.
func TestSubscriptions(t *testing.T) {
	log := NewLog(10, 1<<20, "run")
	grow := func(n int) {
		for range n {
			log.Append([]Record{{JSON: Text{own: []byte("{}")}}})
		}
	}
	reader := log.Reader(0, Filter{})
	s := log.Subscribe(reader, "http", "192.0.2.7:1")
	other := log.Subscribe(log.Reader(0, Filter{Set: "none"}), "wire", "192.0.2.8:1")
	expect := func(when string, lag, missed uint64) {
		t.Helper()
		list, _ := log.Subscribers()
		for _, one := range list {
			if one.Kind == "http" && one != (Subscriber{"http", "192.0.2.7:1", lag, missed}) {
				t.Errorf("%s: %+v", when, one)
			}
		}
		if len(list) != 2 {
			t.Errorf("%s: %+v", when, list)
		}
	}
	expect("at the beginning", 0, 0)
	grow(4)
	expect("before it reads", 4, 0)
	batch := make([]Record, 0, 4)
	if got, _ := reader.TryNext(batch); len(got) != 4 {
		t.Fatal(got)
	}
	expect("while it sends what it has read", 4, 0)
	if got, _ := reader.TryNext(batch); len(got) != 0 {
		t.Fatal(got)
	}
	expect("when it asks for more", 0, 0)
	grow(25)
	if _, gap := reader.TryNext(batch); gap.Count() != 15 {
		t.Fatal(gap)
	}
	expect("behind what is kept", 25, 15)
	s.Follow(log.Reader(log.Latest(), Filter{}))
	expect("with another reader", 0, 15)
	s.End(fmt.Errorf("write: %w", os.ErrDeadlineExceeded))
	other.End(nil)
	list, past := log.Subscribers()
	if len(list) != 0 || past.FellBehind != 1 || past.Cut != 1 || past.LastKind != "http" || past.LastPeer != "192.0.2.7:1" || past.LastCut.IsZero() {
		t.Errorf("%+v, %+v", list, past)
	}
}
