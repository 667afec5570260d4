package dryrun_test

import (
	"fmt"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook/dryrun"
)

// A position that waits for older ones is applied too if it is the last one.
func TestPositionsThatWait(t *testing.T) {
	r, err := rule.Parse([]byte(`{"id":"a","set":"yards"}`))
	if err != nil {
		t.Fatal(err)
	}
	h := parseHistory(t, r, `policy preset=raw late=reorder:30s
fence yard 0,0 1000,1000
03-12 08:00:00 v 1500,500
03-12 08:00:20 v 500,500
03-12 08:00:10 v 1500,500
`)
	var all []string
	dryrun.Run(h.view(), h.positions, func(e *track.Event) { all = append(all, h.event(e, 0)) })
	if got := strings.Join(all, ", "); got != "enter yard 08:00:15" {
		t.Error(got)
	}
}

// Events beyond the bound are left out, and that is told.
func TestEncodeIsBounded(t *testing.T) {
	r, err := rule.Parse([]byte(`{"id":"a","set":"yards","detect":["inside"]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := parseHistory(t, r, "fence yard 0,0 1000,1000\n03-12 08:00:00 v 500,500\n")
	p := h.positions[0]
	for n := range dryrun.MaxEvents {
		p.ID = fmt.Sprint(n)
		h.positions = append(h.positions, p)
	}
	count, told := dryrun.Encode(h.view(), h.positions)
	if len(told.Events) != dryrun.MaxEvents || !told.Truncated || count.Accepted != dryrun.MaxEvents+1 {
		t.Errorf("%d events, %v, %+v", len(told.Events), told.Truncated, count)
	}
	if count, told = dryrun.Encode(h.view(), h.positions[1:]); told.Truncated || count.Accepted != len(told.Events) {
		t.Errorf("%d events, %v, %+v", len(told.Events), told.Truncated, count)
	}
	if count, told = dryrun.Encode(&track.View{}, nil); told.Events == nil || count.Positions != 0 {
		t.Error("no positions have no list of events")
	}
}

// A line of an event about several objects names them, or their number.
func TestLinesOfSeveral(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"full","set":"yards","count":{"at_least":2}}`: `2026-03-12T08:00:10.000Z count_begin full yards/north%2Eyard 2 objects initial
2026-03-12T08:00:20.000Z count_end full yards/north%2Eyard 1 objects
`,
		`{"id":"meeting","near":{"metres":50}}`: `2026-03-12T08:00:10.000Z near_begin meeting a vans/b initial
2026-03-12T08:00:30.000Z near_end meeting a vans/b
`,
	} {
		r, err := rule.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		h := parseHistory(t, r, `policy preset=raw
fence north.yard 0,0 100,100
03-12 08:00:00 a 50,50
03-12 08:00:10 vans/b 60,50
03-12 08:00:20 a 50,60
03-12 08:00:30 vans/b 140,50
`)
		var got []byte
		dryrun.Run(h.view(), h.positions, func(e *track.Event) { got = dryrun.AppendLine(got, e) })
		if string(got) != want {
			t.Errorf("%s: got\n%swant\n%s", text, got, want)
		}
	}
}
