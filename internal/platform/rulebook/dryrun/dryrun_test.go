package dryrun_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook/dryrun"
)

// Positions that wait for older ones are applied at their time, if they are the last ones too, and
// the object is silent from then on.
func TestPositionsThatWait(t *testing.T) {
	r, err := rule.Parse([]byte(`{"id":"a","set":"yards"}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`policy preset=raw late=reorder:30s
fence yard 0,0 1000,1000
03-12 08:00:00 v 1500,500
03-12 08:00:20 v 500,500
03-12 08:00:10 v 1500,500
`: "enter yard 08:00:15",
		`policy preset=raw late=reorder:30s ttl=15m
fence yard 0,0 1000,1000
03-12 08:00:00 v 1500,500
03-12 08:00:20 v 500,500
03-12 12:00:00 w 1500,500
`: "enter yard 08:00:10, exit yard 08:15:50 ttl",
	} {
		h := parseHistory(t, r, text)
		var all []string
		_, err = dryrun.Run(t.Context(), h.view(), h.positions, func(e *track.Event) { all = append(all, h.event(e, 0)) })
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
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
	count, told, err := dryrun.Encode(t.Context(), h.view(), h.positions)
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Events) != dryrun.MaxEvents || !told.Truncated || count.Accepted != dryrun.MaxEvents+1 {
		t.Errorf("%d events, %v, %+v", len(told.Events), told.Truncated, count)
	}
	if count, told, err = dryrun.Encode(t.Context(), h.view(), h.positions[1:]); err != nil || told.Truncated || count.Accepted != len(told.Events) {
		t.Errorf("%d events, %v, %+v", len(told.Events), told.Truncated, count)
	}
	if count, told, err = dryrun.Encode(t.Context(), &track.View{}, nil); err != nil || told.Events == nil || count.Positions != 0 {
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
		_, err = dryrun.Run(t.Context(), h.view(), h.positions, func(e *track.Event) { got = dryrun.AppendLine(got, e) })
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s: got\n%swant\n%s", text, got, want)
		}
	}
}

// A file may have the objects one after the other: each position arrives at its own time, or late.
func TestObjectsOneAfterTheOther(t *testing.T) {
	r, err := rule.Parse([]byte(`{"id":"a","set":"yards","active":{"week":{"mon-sun":["08:00-08:30"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	h := parseHistory(t, r, `policy preset=raw ttl=15m
fence yard 0,0 1000,1000
03-12 08:00:00 v 500,500
03-12 08:10:00 v 1500,500
03-12 08:05:00 v 500,500
03-12 08:20:00 v 1500,500
03-12 09:00:00 v 1500,500
03-12 08:01:00 w 500,500
03-12 08:25:00 w 1500,500
`)
	var got []byte
	count, err := dryrun.Run(t.Context(), h.view(), h.positions, func(e *track.Event) { got = dryrun.AppendLine(got, e) })
	const want = `2026-03-12T08:05:00.000Z exit - yards/yard v
2026-03-12T08:16:00.000Z exit - yards/yard w ttl
`
	if err != nil || string(got) != want || count.Late != 1 || count.Accepted != 6 {
		t.Errorf("%v, %+v, got\n%swant\n%s", err, count, got, want)
	}
}

// Two positions far apart in time would take an hour of schedules for each hour between them. A
// caller that has gone ends its dry run.
func TestSpan(t *testing.T) {
	of := func(at string) track.Position {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		return track.Position{Fleet: "f", ID: "v", Time: track.MillisOf(when)}
	}
	none := func(*track.Event) {}
	_, err := dryrun.Run(t.Context(), &track.View{}, []track.Position{of("2026-03-12T11:16:45Z"), of("1980-01-06T00:00:00Z")}, none)
	if !errors.Is(err, dryrun.ErrSpan) || !strings.Contains(err.Error(), "1980-01-06T00:00:00Z") {
		t.Error(err)
	}
	if _, err = dryrun.Run(t.Context(), &track.View{}, []track.Position{of("2026-03-12T11:16:45Z"), of("2025-03-12T11:16:45Z")}, none); err != nil {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if count, err := dryrun.Run(gone, &track.View{}, []track.Position{of("2026-03-12T11:16:45Z")}, none); !errors.Is(err, context.Canceled) || count.Accepted > 0 {
		t.Errorf("%+v, %v", count, err)
	}
}
