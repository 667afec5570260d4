package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
)

// The sizes of the pages that a platform is asked for.
const (
	objectsPage = "1000"
	fixesPage   = "20000"
	visitsPage  = "10000"
	eventsPage  = 10_000
	maxLine     = 64 << 20 // of a page
)

// Server is the past of a running platform, which it is asked for over HTTP. Each object is read at
// a moment of its own, so a To in the past gives a table of one state.
type Server struct {
	URL   string // of the platform
	Token string // "": none
}

// Positions implements [Source].
func (s *Server) Positions(ctx context.Context, q Query, f func(history.Object, []history.Fix) error) error {
	ask := url.Values{"at": {instantText(q.To - 1)}, "limit": {objectsPage}}
	set(ask, "fleet", q.Fleet)
	set(ask, "prefix", q.Object)
	for {
		var page struct {
			Objects []struct{ Fleet, ID string }
			Next    string
		}
		if _, err := s.get(ctx, "v1/objects", ask, func(r io.Reader) error { return json.NewDecoder(r).Decode(&page) }); err != nil {
			return err
		}
		for _, o := range page.Objects {
			if !q.selects(o.Fleet, o.ID) {
				continue
			}
			if err := s.track(ctx, history.Object{Fleet: o.Fleet, ID: o.ID}, q, f); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		ask.Set("after", page.Next)
	}
}

// track reads the fixes of an object, page by page.
func (s *Server) track(ctx context.Context, o history.Object, q Query, f func(history.Object, []history.Fix) error) error {
	ask := url.Values{"fleet": {o.Fleet}, "format": {"ndjson"}, "limit": {fixesPage}}
	setPeriod(ask, q)
	for {
		var fixes []history.Fix
		head, err := s.get(ctx, "v1/objects/"+url.PathEscape(o.ID)+"/track", ask, lines(func(line []byte) error {
			fix, err := parseFix(line)
			fixes = append(fixes, fix)
			return err
		}))
		if err == nil && len(fixes) > 0 {
			err = f(o, fixes)
		}
		next := head.Get("Paddock-Next")
		if err != nil || next == "" {
			return err
		}
		ask.Set("after", next)
	}
}

// parseFix reads a line of a track.
func parseFix(line []byte) (history.Fix, error) {
	var p Position
	err := json.Unmarshal(line, &p)
	measured := func(v *float32) track.Measure {
		if v == nil {
			return track.Measure{}
		}
		return track.Measure{Value: *v, Known: true}
	}
	return history.Fix{
		Time: track.Millis(p.T), Arrived: track.Millis(p.Seen), Lon: p.Lon, Lat: p.Lat,
		Accuracy: measured(p.Accuracy), Speed: measured(p.Speed), Heading: measured(p.Heading), Props: string(p.Props),
	}, err
}

// Visits implements [Source].
func (s *Server) Visits(ctx context.Context, q Query, f func([]history.Visit) error) error {
	ask := url.Values{"limit": {visitsPage}}
	set(ask, "fleet", q.Fleet)
	set(ask, "object", q.Object)
	setPeriod(ask, q)
	for {
		var page struct {
			Visits []Visit
			Next   string
		}
		if _, err := s.get(ctx, "v1/visits", ask, func(r io.Reader) error { return json.NewDecoder(r).Decode(&page) }); err != nil {
			return err
		}
		found := make([]history.Visit, len(page.Visits))
		for i, v := range page.Visits {
			number, err := strconv.ParseUint(v.Visit[strings.LastIndexByte(v.Visit, '/')+1:], 10, 64)
			if err != nil {
				return fmt.Errorf("the visit %q: not an id of a visit", v.Visit)
			}
			found[i] = history.Visit{
				Set: v.Set, Fence: v.Fence, Object: history.Object{Fleet: v.Fleet, ID: v.Object},
				Begin: track.Millis(v.Begin), Open: v.Open, Number: number, Reason: v.Reason,
			}
			if v.End != nil {
				found[i].End = track.Millis(*v.End)
			}
		}
		if err := f(found); err != nil || page.Next == "" {
			return err
		}
		ask.Set("after", page.Next)
	}
}

// Events implements [Source].
func (s *Server) Events(ctx context.Context, q Query, f func([]byte) error) error {
	ask := url.Values{"wait": {"0"}, "format": {"ndjson"}, "limit": {strconv.Itoa(eventsPage)}}
	set(ask, "fleet", q.Fleet)
	set(ask, "object", q.Object)
	for {
		found, size := 0, 0
		head, err := s.get(ctx, "v1/events", ask, lines(func(line []byte) error {
			found++
			size += len(line) + 1
			if !bytes.HasPrefix(line, []byte(`{"specversion":`)) {
				return nil // a gap record
			}
			return f(line)
		}))
		if err != nil || found < eventsPage && size < events.PageBytes {
			return err
		}
		ask.Set("cursor", head.Get("Paddock-Cursor"))
	}
}

// Close implements [Source].
func (s *Server) Close() error { return nil }

// get makes a request and passes the answer to f.
func (s *Server) get(ctx context.Context, path string, q url.Values, f func(io.Reader) error) (http.Header, error) {
	address, err := url.Parse(strings.TrimSuffix(s.URL, "/") + "/" + path + "?" + q.Encode())
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // only a help
		return nil, fmt.Errorf("%s: %s: %s", address.Redacted(), res.Status, strings.TrimSpace(string(text)))
	}
	if err := f(res.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", address.Redacted(), err)
	}
	return res.Header, nil
}

// lines returns a function that passes each line on.
func lines(f func([]byte) error) func(io.Reader) error {
	return func(r io.Reader) error {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			if err := f(in.Bytes()); err != nil {
				return err
			}
		}
		return in.Err()
	}
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// latest is the last instant that RFC 3339 can write.
const latest = track.Millis(253402300799999)

// setPeriod sets from and to, where they are bounds.
func setPeriod(q url.Values, of Query) {
	if of.From != math.MinInt64 {
		q.Set("from", instantText(of.From))
	}
	if of.To != math.MaxInt64 {
		q.Set("to", instantText(of.To))
	}
}

func instantText(t track.Millis) string { return events.FormatTime(min(t, latest).Time()) }
