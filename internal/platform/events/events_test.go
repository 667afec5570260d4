package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event() *track.Event {
	return &track.Event{
		Kind: track.Exit, Reason: track.Move, Set: "tracts",
		Fence: &fence.Fence{Key: "101", Properties: json.RawMessage(`{"name":"Old \"Dock\" <1>"}`)},
		Fleet: "default", ID: "v42",
		Point: geometry.Point{Lon: -73.9586, Lat: 40.7811}, Prev: geometry.Point{Lon: -73.9588, Lat: 40.7809}, HasPrev: true,
		At: 1773314205250, Time: 1773314206000, Since: 1773313800000, Seq: 17, Visit: 9,
	}
}

func textOf(e *track.Event) []byte {
	text := encode(e, "")
	return text.Bytes()
}

func TestCloudEvent(t *testing.T) {
	const want = `{"specversion":"1.0","id":"v42/17","source":"/sets/tracts","type":"paddock.fence.exit","subject":"v42",` +
		`"time":"2026-03-12T11:16:45.250Z","datacontenttype":"application/json","data":{"set":"tracts",` +
		`"fence":{"id":"101","properties":{"name":"Old \"Dock\" <1>"}},"object":{"id":"v42","fleet":"default","properties":{}},` +
		`"point":{"type":"Point","coordinates":[-73.9586,40.7811]},"prev":{"type":"Point","coordinates":[-73.9588,40.7809]},` +
		`"at":"2026-03-12T11:16:45.250Z","t":"2026-03-12T11:16:46.000Z","since":"2026-03-12T11:10:00.000Z",` +
		`"duration_ms":405250,"seq":17,"visit":"v42/9","reason":"move"}}`
	if got := string(textOf(event())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	high := event()
	high.Altitude = track.Measured(-120.5)
	if got, want := string(textOf(high)), strings.TrimSuffix(want, "}}")+`,"altitude":-120.5}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run is part of the source alone.
func TestRunOfAnEvent(t *testing.T) {
	text := encode(event(), "1a2b")
	if got, want := string(text.Bytes()), strings.Replace(string(textOf(event())), `"/sets/tracts"`, `"/sets/tracts?run=1a2b"`, 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// For any id, the event is JSON that gives the id back.
func TestCloudEventKeepsEveryID(t *testing.T) {
	for _, id := range strangeIDs {
		e := event()
		e.ID, e.Fleet, e.Fence = id, id, &fence.Fence{Key: id}
		e.HasPrev = false
		var got struct {
			ID, Subject string
			Data        struct {
				Fence  struct{ ID string }
				Object struct{ ID, Fleet string }
				Prev   *json.RawMessage
			}
		}
		if err := json.Unmarshal(textOf(e), &got); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if got.Subject != id || got.Data.Object.ID != id || got.Data.Object.Fleet != id || got.Data.Fence.ID != id || got.Data.Prev != nil {
			t.Errorf("%q came back as %+v", id, got)
		}
		if strings.Count(got.ID, "/") != 2 {
			t.Errorf("%q: event id %q", id, got.ID)
		}
	}
}

var strangeIDs = []string{"MTA NYCT_3846", "a.b", "*", ">", "_", "%5F", "é", "日本", "\"\\", "\x01\n", "a/b", "<&>"}

func TestSubject(t *testing.T) {
	e := event()
	e.ID, e.Fleet = "MTA NYCT_1", "_"
	if got := Subject(e); got != "fence.tracts.101.exit.%5F.MTA%20NYCT_1" {
		t.Errorf("got %s", got)
	}
}

func record(object string, size int) Record {
	return Record{Set: "s", Fence: "a", Fleet: "f", Object: object, Kind: track.Enter, JSON: Plain(make([]byte, size))}
}

// Long properties are not copied into each event, and count once.
func TestLongPropertiesAreShared(t *testing.T) {
	const events = 5
	e := event()
	e.Fence.Properties = []byte(`{"plan":"` + strings.Repeat("x", 5000) + `"}`)
	e.Props = []byte(`{"cargo":"` + strings.Repeat("y", 3000) + `"}`)
	long := int64(len(e.Fence.Properties) + len(e.Props))
	l := NewLog(events, 1<<20, "e")
	var own int64
	for range events {
		r := NewRecord(e, "")
		text := r.JSON.Bytes()
		if !json.Valid(text) || len(text) != r.JSON.Len() || string(r.JSON.Append(nil)) != string(text) ||
			!bytes.Contains(text, e.Fence.Properties) || !bytes.Contains(text, e.Props) {
			t.Fatalf("%d bytes, said to be %d: %s", len(text), r.JSON.Len(), text)
		}
		own += int64(len(text)) - long
		l.Append([]Record{r})
	}
	if got := l.Stats().Bytes; got != own+long {
		t.Errorf("the log counts %d bytes, want %d and %d of properties once", got, own, long)
	}
	short := record("o", 10)
	for range events {
		l.Append([]Record{short})
	}
	if got := l.Stats().Bytes; got != 10*events || len(l.shared) != 0 {
		t.Errorf("%d bytes and %d properties are left when all events that tell of them are gone", got, len(l.shared))
	}
}

func objects(records []Record) (ids []string) {
	for _, r := range records {
		ids = append(ids, r.Object)
	}
	return ids
}

func TestReaderSeesWhatItsFilterSelects(t *testing.T) {
	log := NewLog(100, 1<<20, "e")
	r := log.Reader(0, Filter{Object: "b"})
	all := log.Reader(0, Filter{})
	log.Append([]Record{record("a", 1), record("b", 1), record("c", 1), record("b", 1)})
	got, gap := r.TryNext(make([]Record, 0, 10))
	if want := []string{"b", "b"}; !reflect.DeepEqual(objects(got), want) || gap.Count() != 0 {
		t.Errorf("got %v, gap %v", objects(got), gap)
	}
	if got[1].Cursor != 4 || r.Position() != 4 {
		t.Errorf("cursor %d, position %d", got[1].Cursor, r.Position())
	}
	got, _ = all.TryNext(make([]Record, 0, 3)) // bounded by the capacity
	if want := []string{"a", "b", "c"}; !reflect.DeepEqual(objects(got), want) {
		t.Errorf("got %v", objects(got))
	}
}

func TestReaderThatFallsBehindIsToldWhatItMissed(t *testing.T) {
	for name, log := range map[string]*Log{"by count": NewLog(3, 1<<20, "e"), "by bytes": NewLog(100, 30, "e")} {
		t.Run(name, func(t *testing.T) {
			r := log.Reader(0, Filter{})
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				log.Append([]Record{record(id, 10)})
			}
			got, gap, err := r.Next(t.Context(), make([]Record, 0, 10))
			if err != nil || gap != (Gap{From: 1, To: 2}) || gap.Count() != 2 {
				t.Errorf("gap %+v, error %v", gap, err)
			}
			if want := []string{"c", "d", "e"}; !reflect.DeepEqual(objects(got), want) {
				t.Errorf("got %v", objects(got))
			}
			if s := log.Stats(); s.Records != 3 || s.Bytes != 30 || s.Total != 5 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// A record larger than the whole bound is still delivered to readers that follow.
func TestOversizedRecordIsKeptAlone(t *testing.T) {
	log := NewLog(10, 50, "e")
	log.Append([]Record{record("a", 10), record("huge", 100)})
	got, gap := log.Reader(0, Filter{}).TryNext(make([]Record, 0, 9))
	if want := []string{"huge"}; !reflect.DeepEqual(objects(got), want) || gap.Count() != 1 {
		t.Errorf("got %v, gap %+v", objects(got), gap)
	}
}

func TestRingGrowsInOrder(t *testing.T) {
	log := NewLog(5000, 1<<30, "e")
	r := log.Reader(0, Filter{})
	for range 4500 {
		log.Append([]Record{record("a", 1)})
	}
	var last uint64
	for {
		got, gap := r.TryNext(make([]Record, 0, 100))
		if len(got) == 0 {
			break
		}
		for _, rec := range got {
			if rec.Cursor != last+1 || gap.Count() != 0 {
				t.Fatalf("cursor %d after %d", rec.Cursor, last)
			}
			last = rec.Cursor
		}
	}
	if last != 4500 {
		t.Errorf("read up to %d", last)
	}
}

func TestTailFindsTheNewestSelected(t *testing.T) {
	log := NewLog(3000, 1<<30, "e")
	if got, err := log.Tail(t.Context(), 5, Filter{}); got != 0 || err != nil {
		t.Errorf("empty: behind %d, %v", got, err)
	}
	for i := range 5000 { // kept: 2001 to 5000, of which every 100th is of b
		id := "a"
		if i%100 == 0 {
			id = "b"
		}
		log.Append([]Record{record(id, 1)})
	}
	for _, c := range []struct {
		n      int
		object string
		want   uint64
	}{{1, "", 4999}, {10, "", 4990}, {9999, "", 2000}, {1, "b", 4900}, {30, "b", 2000}, {99, "b", 2000}, {1, "none", 2000}} {
		if got, err := log.Tail(t.Context(), c.n, Filter{Object: c.object}); got != c.want || err != nil {
			t.Errorf("last %d of %q: behind %d, want %d, %v", c.n, c.object, got, c.want, err)
		}
	}
}

func TestReaderWaitsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := NewLog(10, 1<<20, "e")
		r := log.Reader(0, Filter{})
		go func() {
			time.Sleep(time.Second)
			log.Append([]Record{record("a", 1)})
			log.Append([]Record{record("b", 1)})
			log.End()
		}()
		var seen []string
		for {
			got, _, err := r.Next(t.Context(), make([]Record, 0, 1))
			if errors.Is(err, ErrEnded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, objects(got)...)
		}
		if !reflect.DeepEqual(seen, []string{"a", "b"}) {
			t.Errorf("saw %v before the end", seen)
		}
	})
}

func TestReaderStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := NewLog(10, 1<<20, "e").Reader(0, Filter{}).Next(ctx, make([]Record, 0, 1))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDoneTellsOfTheEnd(t *testing.T) {
	log := NewLog(10, 1<<20, "e")
	select {
	case <-log.Done():
		t.Error("done before the end")
	default:
	}
	log.End()
	log.End()
	<-log.Done()
	if !log.Ended() {
		t.Error("done and not ended")
	}
}

func TestCursors(t *testing.T) {
	log := NewLog(10, 1<<20, "k1")
	if c, err := log.ParseCursor(log.Cursor(42)); c != 42 || err != nil {
		t.Errorf("got %d, %v", c, err)
	}
	if _, err := log.ParseCursor(NewLog(10, 1, "k0").Cursor(42)); !errors.Is(err, ErrGone) {
		t.Errorf("of an earlier run: %v", err)
	}
	for _, bad := range []string{"", "42", "k1-", "k1--1", "k1-x"} {
		if _, err := log.ParseCursor(bad); !errors.Is(err, ErrBadCursor) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFilter(t *testing.T) {
	r := record("o", 1)
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Set: "s", Fence: "a", Event: "enter", Fleet: "f", Object: "o"}, true},
		{Filter{Set: "x"}, false},
		{Filter{Fence: "x"}, false},
		{Filter{Event: "exit"}, false},
		{Filter{Fleet: "x"}, false},
		{Filter{Object: "x"}, false},
	} {
		if got := c.f.Match(&r); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	if err := (&Filter{Event: "entr"}).Validate(); err == nil {
		t.Error("an event that does not exist is accepted")
	}
}
