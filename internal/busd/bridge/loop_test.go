package bridge

import (
	"testing"

	"github.com/nats-io/nats.go"
)

const loopMessages = 200

// Two platforms that export the same subjects to each other have each message once.
func TestTwoThatExportToEachOther(t *testing.T) {
	a, b := newSite(t), newSite(t)
	a.bridge(b, nil, []string{"x.>"})
	b.bridge(a, nil, []string{"x.>"})
	atA, atB := a.follow("x.>"), b.follow("x.>")
	a.publish(numbered("x.a", loopMessages)...)
	b.publish(numbered("x.b", loopMessages)...)
	for _, s := range []*site{a, b} { // what came over a bridge is what is not sent again
		await(t, "loops", func() bool { return s.state(0).Out.Dropped[Loop] == loopMessages })
		if n := s.state(0).Out.Messages; n != loopMessages {
			t.Errorf("%d messages passed", n)
		}
	}
	for _, got := range []*inbox{atA, atB} {
		if n := len(got.await(t, 2*loopMessages)); n != 2*loopMessages {
			t.Errorf("%d messages", n)
		}
	}
}

// A bridge that imports what it exports has each message once on both sides.
func TestOneThatImportsWhatItExports(t *testing.T) {
	a, b := newSite(t), newSite(t)
	a.bridge(b, []string{"x.>"}, []string{"x.>"})
	atA, atB := a.follow("x.>"), b.follow("x.>")
	a.publish(numbered("x.a", loopMessages)...)
	b.publish(numbered("x.b", loopMessages)...)
	await(t, "loops", func() bool { return a.state(0).Out.Dropped[Loop] == loopMessages })
	for _, got := range []*inbox{atA, atB} {
		if n := len(got.await(t, 2*loopMessages)); n != 2*loopMessages {
			t.Errorf("%d messages", n)
		}
	}
}

// In a ring of three, each server has each message once.
func TestRingOfThree(t *testing.T) {
	ring := []*site{newSite(t), newSite(t), newSite(t)}
	got := make([]*inbox, len(ring))
	for i, s := range ring {
		s.bridge(ring[(i+1)%len(ring)], nil, []string{"x.>"})
		got[i] = s.follow("x.>")
	}
	for _, s := range ring {
		s.publish(numbered("x.a", loopMessages)...)
	}
	for i, s := range ring { // the third one does not send to the first one
		await(t, "loops", func() bool { return s.state(0).Out.Dropped[Loop] == loopMessages })
		if n := len(got[i].await(t, 3*loopMessages)); n != 3*loopMessages {
			t.Errorf("%d messages", n)
		}
	}
}

// A bridge to its own server passes nothing.
func TestBridgeToItself(t *testing.T) {
	a := newSite(t)
	a.bridge(a, []string{"x"}, []string{"y"})
	gotX, gotY := a.follow("x"), a.follow("y")
	a.publish(&nats.Msg{Subject: "x"}, &nats.Msg{Subject: "y"})
	await(t, "loops", func() bool { return a.state(0).Out.Dropped[Loop] == 1 && a.state(0).In.Dropped[Loop] == 1 })
	if x, y := len(gotX.await(t, 1)), len(gotY.await(t, 1)); x != 1 || y != 1 {
		t.Errorf("%d and %d messages", x, y)
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct {
		name  string
		marks []string
		want  string
		why   Reason
	}{
		{"no mark", nil, "F", none},
		{"one", []string{"A"}, "A,F", none},
		{"several lines and spaces", []string{"A, B", "C"}, "A,B,C,F", none},
		{"empty entries", []string{"", ",A,"}, "A,F", none},
		{"the origin", []string{"A,F"}, "", Loop},
		{"the target", []string{"T", "A"}, "", Loop},
		{"seven", []string{"1,2,3,4,5,6,7"}, "1,2,3,4,5,6,7,F", none},
		{"eight", []string{"1,2,3,4,5,6,7,8"}, "", Hops},
		{"no part of an id", []string{"FT,TF"}, "FT,TF,F", none},
	} {
		var h nats.Header
		if c.marks != nil {
			h = nats.Header{Mark: c.marks, "Other": {"1"}}
		}
		got, why := mark(h, "F", "T")
		if why != c.why || why == none && (got.Get(Mark) != c.want || len(got[Mark]) != 1) {
			t.Errorf("%s: %v, %v", c.name, got, why)
		}
	}
	if _, why := mark(nil, "F", "F"); why != Loop {
		t.Errorf("to itself: %v", why)
	}
	if a, b := identity("id", ""), identity("id", "of, many"); a != "id" || b != "cluster:of%2C+many" {
		t.Errorf("%q, %q", a, b)
	}
}
