package wireapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/wire"
)

const firstTime = 1_700_000_000_000

// hop moves an object into the square a at even n and out of it at odd n. Each hop causes one
// event.
func (s *site) hop(id string, n int) {
	s.Helper()
	batch, dec := &ingest.Batch{}, ingest.Decoder{Arrived: firstTime, MaxAhead: 1 << 30}
	lon := 1.0
	if n%2 == 1 {
		lon = -1
	}
	dec.Binary(batch, 0, body(s, id, lon, 1, firstTime+int64(n)))
	if r, err := s.pipeline.Submit(s.ctx(), batch); err != nil || r.Accepted != 1 {
		s.Fatalf("%v, %+v", err, r)
	}
}

// subscribe opens a stream of events and reads the cursor that it begins with.
func (s *site) subscribe(c *wire.Conn, filter string) (stream *wire.Stream, cursor string) {
	s.Helper()
	stream, err := c.Open(s.ctx(), KindEvents, wire.OpenOptions{})
	must(s, err)
	must(s, stream.WriteMsg([]byte(filter)))
	m := s.next(stream)
	if m.Type != "paddock.cursor" || m.Cursor == "" {
		s.Fatalf("begins with %+v", m)
	}
	return stream, m.Cursor
}

// message is the part of a message that the tests read.
type message struct {
	ID, Type, Subject, Cursor, From, To string
	Count                               int
	raw                                 string
}

func (s *site) next(stream *wire.Stream) (m message) {
	s.Helper()
	must(s, stream.SetReadDeadline(time.Now().Add(patience)))
	raw, err := stream.ReadMsg(nil)
	must(s, err)
	m.raw = string(raw)
	if err := json.Unmarshal(raw, &m); err != nil {
		s.Fatalf("%v: %s", err, raw)
	}
	return m
}

// events reads messages until n are events, and returns their ids; last is the cursor after them.
func (s *site) events(stream *wire.Stream, n int) (ids []string, last string) {
	s.Helper()
	for {
		switch m := s.next(stream); m.Type {
		case "paddock.cursor":
			if last = m.Cursor; len(ids) == n {
				return ids, last
			}
		case "paddock.fence.enter", "paddock.fence.exit":
			ids = append(ids, m.ID)
		default:
			s.Fatalf("message %s", m.raw)
		}
	}
}

func TestEventsAreTheBytesOfTheLog(t *testing.T) {
	s := newSite(t, nil)
	stream, _ := s.subscribe(s.dial(nil), `{}`)
	s.hop("v", 0)
	got := s.next(stream)
	records, _ := s.log.Reader(0, events.Filter{}).TryNext(make([]events.Record, 0, 9))
	if len(records) != 1 || got.raw != string(records[0].JSON.Bytes()) {
		t.Errorf("got %s\nwant %+v", got.raw, records)
	}
	if n := s.api.Stats().Subscribers; n != 1 {
		t.Errorf("%d subscribers", n)
	}
}

func TestFilters(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	streams := map[string]*wire.Stream{}
	wants := map[string][]string{
		`{}`:                        {"v/1", "w/1", "v/2", "w/2"},
		`{"object":"w"}`:            {"w/1", "w/2"},
		` { "event":"exit"}` + "\n": {"v/2", "w/2"},
		`{"fence":"a","set":"squares","fleet":"default","event":"enter","object":"v","cursor":""}`: {"v/1"},
	}
	for filter := range wants {
		streams[filter], _ = s.subscribe(c, filter)
	}
	for n := range 2 {
		s.hop("v", n)
		s.hop("w", n)
	}
	for filter, want := range wants {
		if ids, _ := s.events(streams[filter], len(want)); !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", filter, ids, want)
		}
	}
}

// The filter may be in the OPEN frame, or arrive in pieces.
func TestFilterInPieces(t *testing.T) {
	s := newSite(t, nil)
	stream, err := s.dial(nil).Open(s.ctx(), KindEvents, wire.OpenOptions{First: []byte(`{"obj`)})
	must(t, err)
	must(t, stream.WriteMsg([]byte(`ect":`)))
	must(t, stream.WriteMsg([]byte(`"w"}`)))
	if m := s.next(stream); m.Type != "paddock.cursor" {
		t.Errorf("begins with %s", m.raw)
	}
	s.hop("v", 0)
	s.hop("w", 0)
	if ids, _ := s.events(stream, 1); ids[0] != "w/1" {
		t.Errorf("got %v", ids)
	}
}

// A stream that begins with another stream's cursor misses no event in between, and repeats none.
func TestCursorResumes(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	stream, begin := s.subscribe(c, `{}`)
	s.hop("v", 0)
	_, cursor := s.events(stream, 1)
	must(t, stream.Close())
	s.hop("v", 1)
	s.hop("v", 2)
	for from, want := range map[string]string{begin: "[v/1 v/2 v/3]", cursor: "[v/2 v/3]"} {
		stream, first := s.subscribe(c, fmt.Sprintf(`{"cursor":%q}`, from))
		if ids, _ := s.events(stream, strings.Count(want, "/")); fmt.Sprint(ids) != want || first != from {
			t.Errorf("from %s: %v, want %s; begins at %s", from, ids, want, first)
		}
	}
}

// With a narrow filter the log grows without events for the stream, which receives cursors.
func TestQuietStreamIsToldItsCursor(t *testing.T) {
	s := newSite(t, func(c *Config) { c.CursorEvery = time.Millisecond })
	stream, begin := s.subscribe(s.dial(nil), `{"object":"nobody"}`)
	s.hop("v", 0)
	for {
		if m := s.next(stream); m.Type != "paddock.cursor" {
			t.Fatalf("message %s", m.raw)
		} else if m.Cursor != begin {
			return
		}
	}
}

func TestFilterRefusals(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	for filter, want := range map[string]string{
		`[]`:                      "filter: must be a JSON object; {} selects everything",
		`"x"`:                     "filter: must be a JSON object; {} selects everything",
		`1`:                       "filter: must be a JSON object; {} selects everything",
		`{"set":5}`:               "filter: set: must be a string",
		`{"cursor":{}}`:           "filter: cursor: must be a string",
		`{"sets":"x"}`:            `filter: unknown field "sets"`,
		`{"event":"leave"}`:       `filter: event: unknown event "leave": use exit, enter, inside, cross, outside, dwell, condition_begin, condition_end, count_begin, count_end, near_begin, near_end`,
		`{"set":}`:                "filter: invalid character '}' looking for beginning of value",
		`{"cursor":"x"}`:          `cursor: "x": not a cursor`,
		`{"cursor":"e-x"}`:        `cursor: "e-x": not a cursor`,
		strings.Repeat(" ", 5000): "filter: longer than 4096 bytes",
	} {
		if e := s.refused(c, filter); e.Code != wire.InvalidArgument || e.Msg != want {
			t.Errorf("%.40s: got %v, want %s", filter, e, want)
		}
	}
	stream, err := c.Open(s.ctx(), KindEvents, wire.OpenOptions{})
	must(t, err)
	must(t, stream.CloseWrite())
	_, err = stream.ReadMsg(nil)
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Msg != "filter: ends before it is a JSON object" {
		t.Errorf("no filter: %v", err)
	}
}

// refused opens a stream that must be refused.
func (s *site) refused(c *wire.Conn, filter string) *wire.Error {
	s.Helper()
	stream, err := c.Open(s.ctx(), KindEvents, wire.OpenOptions{})
	must(s, err)
	must(s, stream.WriteMsg([]byte(filter)))
	must(s, stream.SetReadDeadline(time.Now().Add(patience)))
	_, err = stream.ReadMsg(nil)
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		s.Fatalf("%.40s: %v", filter, err)
	}
	return e
}

func TestCursorThatIsGone(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	for n := range 1200 { // the log keeps 1,000
		s.hop("v", n)
	}
	for _, cursor := range []string{"e-1", "other-1"} {
		e := s.refused(c, `{"cursor":"`+cursor+`"}`)
		var oldest string
		if err := cbor.Unmarshal(e.Details, &oldest); e.Code != wire.OutOfRange || err != nil || oldest != "e-200" {
			t.Errorf("%s: %v, details %q, %v", cursor, e, oldest, err)
		}
	}
	stream, _ := s.subscribe(c, `{"cursor":"e-200"}`)
	if ids, _ := s.events(stream, 1000); ids[0] != "v/201" || ids[999] != "v/1200" {
		t.Errorf("%s to %s", ids[0], ids[999])
	}
}

// A subscriber that does not read costs the others nothing. It falls behind the log, and receives
// the number of missed events.
func TestSlowSubscriberGetsAGap(t *testing.T) {
	s := newSite(t, nil)
	slow, _ := s.subscribe(s.dial(nil), `{}`)
	quick, _ := s.subscribe(s.dial(nil), `{"event":"exit"}`)
	const hops = 4000 // more than window, socket and log hold
	for n := range hops {
		s.hop("v", n)
		if n%2 == 1 {
			if ids, _ := s.events(quick, 1); ids[0] != fmt.Sprintf("v/%d", n+1) {
				t.Fatalf("hop %d: %v", n, ids)
			}
		}
	}
	got, missed := 0, 0
	for got+missed < hops {
		switch m := s.next(slow); m.Type {
		case "paddock.gap":
			missed += m.Count
			if m.From == "" || m.To == "" {
				t.Errorf("gap %s", m.raw)
			}
		case "paddock.cursor":
		default:
			if got++; m.ID != fmt.Sprintf("v/%d", got+missed) {
				t.Fatalf("event %s after %d events and %d missed", m.ID, got, missed)
			}
		}
	}
	if missed == 0 || got == 0 {
		t.Errorf("%d events and %d missed", got, missed)
	}
}

// The client ends a stream with its half, and the platform with a drain.
func TestStreamsEnd(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	half, _ := s.subscribe(c, `{}`)
	must(t, half.CloseWrite())
	if _, err := half.ReadMsg(nil); !errors.Is(err, io.EOF) {
		t.Errorf("after our END: %v", err)
	}
	reset, _ := s.subscribe(c, `{}`)
	must(t, reset.Reset(wire.Cancelled))
	last, _ := s.subscribe(c, `{}`)
	s.hop("v", 0)
	ended := make(chan error, 1)
	go func() {
		var ids []string
		for {
			raw, err := last.ReadMsg(nil)
			if err != nil {
				if !errors.Is(err, io.EOF) || !slices.Equal(ids, []string{"v/1"}) {
					ended <- fmt.Errorf("%v, after %v", err, ids)
				}
				close(ended)
				return
			}
			var m message
			if json.Unmarshal(raw, &m) == nil && m.ID != "" {
				ids = append(ids, m.ID)
			}
		}
	}()
	s.drain(s.ctx())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if st := s.api.Stats(); st.Subscribers != 0 || st.Conns != 0 {
		t.Errorf("left: %+v", st)
	}
}
