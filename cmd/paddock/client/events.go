package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/events"
)

// Events reads the events of a running platform.
type Events struct {
	Tail eventsTailCmd `cmd:"" help:"Print events as they happen, until SIGINT."`
	Ls   eventsLsCmd   `cmd:"" help:"Print the events that are kept."`
}

// eventFilter holds the flags that select events.
type eventFilter struct {
	Set    string `placeholder:"SET" help:"Only events of this set."`
	Fence  string `placeholder:"ID" help:"Only events of fences with this id."`
	Fleet  string `placeholder:"NAME" help:"Only events of objects of this fleet."`
	Object string `placeholder:"ID" help:"Only events of this object."`
	Event  string `placeholder:"KIND" complete:"enter,exit,inside,outside,cross,dwell,condition_begin,condition_end,count_begin,count_end,near_begin,near_end" help:"Only this kind, such as enter, exit or dwell."`
	Rule   string `placeholder:"ID" help:"Only events of this rule; they are selected here, and not by the platform."`

	Since      string `xor:"begin" placeholder:"TIME" help:"Begin with the first event that arrived then or later: a time, or a duration such as 10m before now."`
	FromCursor string `xor:"begin" placeholder:"CURSOR" help:"Begin behind this cursor."`
	Last       int    `xor:"begin" placeholder:"N" help:"Begin with this number of the newest events, at most 10000."`
	JSON       bool   `name:"json" help:"Print each event as CloudEvents JSON on a line, and gaps as records of the type paddock.gap."`
}

// query returns the parameters of a request.
func (f *eventFilter) query() (url.Values, error) {
	from, err := instant("since", f.Since)
	if err != nil {
		return nil, err
	}
	q := url.Values{
		"set": {f.Set}, "fence": {f.Fence}, "fleet": {f.Fleet}, "object": {f.Object}, "event": {f.Event},
		"from": {from}, "cursor": {f.FromCursor},
	}
	if f.Last < 0 {
		return nil, usagef("--last %d: 1 or more", f.Last)
	}
	if f.Last > 0 {
		q.Set("last", strconv.Itoa(f.Last))
	}
	return q, nil
}

// shownEvent is an event, or the record of a gap, as the API writes it.
type shownEvent struct {
	Type string
	Data struct {
		Set    *string
		Fence  *struct{ ID string }
		Object *struct{ ID, Fleet string }
		Other  *struct{ ID, Fleet string }

		At         time.Time
		DurationMS int64 `json:"duration_ms"`
		Rule       string
		Reason     string
		Count      int
		Metres     *float64
	}
	// Of a gap. The count is missing if it is not known.
	Count  *uint64
	Reason string
}

const gapType = "paddock.gap"

// printer prints events. It belongs to one goroutine.
type printer struct {
	*eventFilter
	out, warnings io.Writer
	line          []byte
}

// print prints one event, and reports whether the filter selects it. Without --json a gap is a
// warning.
func (p *printer) print(raw []byte) (bool, error) {
	var e shownEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, fmt.Errorf("an event of the answer: %w", err)
	}
	switch {
	case p.Rule != "" && e.Data.Rule != p.Rule && e.Type != gapType:
		return false, nil
	case p.JSON:
		p.line = append(append(p.line[:0], raw...), '\n')
	case e.Type == gapType:
		missing := "an unknown number of events is"
		if e.Count != nil {
			missing = fmt.Sprintf("%d events are", *e.Count)
		}
		_, err := fmt.Fprintf(p.warnings, "gap: %s missing: %s\n", missing, plain(e.Reason))
		return false, err
	default:
		p.line = append(append(p.line[:0], plain(e.text())...), '\n')
	}
	_, err := p.out.Write(p.line)
	return true, err
}

// text returns a line for people.
func (e *shownEvent) text() string {
	d := &e.Data
	words := []string{d.At.UTC().Format("2006-01-02T15:04:05.000Z"), strings.TrimPrefix(e.Type, "paddock.fence.")}
	if i := strings.LastIndexByte(e.Type, '.'); i >= 0 {
		words[1] = e.Type[i+1:]
	}
	switch {
	case d.Fence != nil && d.Set != nil:
		words = append(words, *d.Set+"/"+d.Fence.ID)
	case d.Set != nil:
		words = append(words, *d.Set)
	}
	if d.Object != nil {
		words = append(words, d.Object.Fleet+"/"+d.Object.ID)
	}
	if d.Other != nil {
		words = append(words, "near "+d.Other.Fleet+"/"+d.Other.ID)
	}
	if d.Metres != nil {
		words = append(words, measure(d.Metres)+" m")
	}
	if strings.HasPrefix(words[1], "count_") {
		words = append(words, fmt.Sprintf("%d objects", d.Count))
	}
	if d.DurationMS > 0 {
		words = append(words, "after "+(time.Duration(d.DurationMS)*time.Millisecond).Round(time.Second).String())
	}
	if d.Rule != "" {
		words = append(words, "by "+d.Rule)
	}
	if d.Reason != "" && d.Reason != "move" {
		words = append(words, "("+d.Reason+")")
	}
	return strings.Join(words, " ")
}

// eventsLsCmd prints kept events.
type eventsLsCmd struct {
	Limit int `placeholder:"N" help:"At most so many (default all)."`
	eventFilter
	remote
}

// Help shows examples.
func (*eventsLsCmd) Help() string {
	return `Events are read page by page, from the oldest kept one on, and printed in their order.

    paddock events ls --since 1h --set depots
    paddock events ls --last 20
    paddock events ls --json > events.ndjson`
}

// eventsPage is the number of events of one request.
const eventsPage = 1000

// Run prints the events.
func (k *eventsLsCmd) Run(ctx context.Context, c *Console) error {
	q, err := k.query()
	if err != nil {
		return err
	}
	if k.Limit < 0 {
		return usagef("--limit %d: 0 or more", k.Limit)
	}
	out := bufio.NewWriter(c.Stdout)
	p := &printer{eventFilter: &k.eventFilter, out: out, warnings: c.Stderr}
	q.Set("wait", "0")
	q.Set("format", "ndjson")
	q.Set("limit", strconv.Itoa(eventsPage))
	for printed := 0; ; {
		res, err := k.open(ctx, http.MethodGet, withQuery(pathOf("events"), q), nil, nil)
		if err != nil {
			return err
		}
		size := 0
		lines, err := eachLine(res.Body, func(line []byte) (bool, error) {
			size += len(line) + 1
			selected, err := p.print(line)
			if selected {
				printed++
			}
			return k.Limit == 0 || printed < k.Limit, err
		})
		cursor := res.Header.Get("Paddock-Cursor")
		if err = errors.Join(err, res.Body.Close(), out.Flush()); err != nil || k.Limit > 0 && printed >= k.Limit {
			return err
		}
		if lines < eventsPage && size < events.PageBytes {
			return nil
		}
		for _, name := range []string{"from", "last"} {
			q.Del(name)
		}
		q.Set("cursor", cursor)
	}
}

// maxEvent bounds an event, in bytes.
const maxEvent = 64 << 20

// eachLine calls f for each line that is not empty, without its end, until f returns false. It
// returns the number of lines.
func eachLine(in io.Reader, f func(line []byte) (more bool, err error)) (n int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		n++
		if more, err := f(lines.Bytes()); err != nil || !more {
			return n, err
		}
	}
	return n, lines.Err()
}
