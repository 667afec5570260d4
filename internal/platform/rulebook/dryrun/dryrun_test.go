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
