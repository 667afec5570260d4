package client

import (
	"bytes"
	"math"
	"testing"
	"time"

	"paddock/cmd/paddock/client/recording"
	"paddock/internal/platform/position"
)

// TestPace holds that recorded distances are divided by the speed, also between the position of a
// vehicle and the time of its feed, and that only --shift-to-now changes times.
func TestPace(t *testing.T) {
	begun := time.UnixMilli(1_800_000_000_000)
	fix := func(at, due int64) *recording.Fix {
		return &recording.Fix{Position: position.Position{Time: 1_773_314_200_000 + at}, Due: 1_773_314_200_000 + due}
	}
	for _, c := range []struct {
		speed         float64
		shift         bool
		at, due       int64
		behind, moved int64 // in milliseconds: when it is due, and its time, -1 for the recorded one
	}{
		{1, false, 2000, 2000, 2000, -1},
		{10, false, 2000, 2000, 200, -1},
		{10, true, 2000, 2000, 200, 200},
		{0.5, true, 2000, 2000, 4000, 4000},
		{10, true, -1000, 2000, 200, -100},
		{1, true, -2000, -1000, -1000, -2000},
		{math.Inf(1), false, 2000, 2000, 0, -1},
	} {
		p := &pace{speed: c.speed, shift: c.shift, begun: begun}
		p.due(fix(0, 0))
		f := fix(c.at, c.due)
		recorded := f.Time
		if got := p.due(f).Sub(begun).Milliseconds(); got != c.behind {
			t.Errorf("%+v: due after %d ms", c, got)
		}
		want := begun.UnixMilli() + c.moved
		if !c.shift {
			want = recorded
		}
		if f.Time != want {
			t.Errorf("%+v: at %d, want %d", c, f.Time, want)
		}
	}
	p := &pace{speed: 1e-3, begun: begun}
	p.due(fix(0, 0))
	if due := p.due(fix(0, math.MaxInt64/2)); due.Before(begun) {
		t.Errorf("a position of a far time is due at %v", due)
	}
}

// TestWritePosition holds that a position is one line of the form that the platform takes, without
// what is not known.
func TestWritePosition(t *testing.T) {
	for want, p := range map[string]position.Position{
		`{"id":"a","t":5,"lon":1.5,"lat":-2}`: {ID: "a", Time: 5, Lon: 1.5, Lat: -2},
		`{"id":"<é>","fleet":"f","t":5,"lon":0,"lat":0,"accuracy":3,"speed":0,"heading":90,"altitude":-1.5,"props":{"x":"<"}}`: {
			ID: "<é>", Fleet: "f", Time: 5, Accuracy: position.Known(3), Speed: position.Known(0), Heading: position.Known(90),
			Altitude: position.Known(-1.5), Props: []byte("{\"x\":\n\"<\"}"),
		},
	} {
		var b bytes.Buffer
		if err := writePosition(&b, &p); err != nil || b.String() != want+"\n" {
			t.Errorf("%v: %s, want %s", err, &b, want)
		}
	}
	var b bytes.Buffer
	if err := writePosition(&b, &position.Position{ID: "a", Lon: math.NaN()}); err == nil {
		t.Error("a place that is no number is written")
	}
}
