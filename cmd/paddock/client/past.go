package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"paddock/cmd/paddock/output"
)

// Track writes the past positions of an object.
type Track struct {
	ID      string `arg:"" help:"The object."`
	Fleet   string `placeholder:"NAME" help:"Its fleet (default that of the key, or default)."`
	From    string `placeholder:"TIME" help:"Only from this time on: a time, or a duration such as 24h before now."`
	To      string `placeholder:"TIME" help:"Only before this time."`
	GPX     bool   `name:"gpx" xor:"form" help:"Write GPX."`
	GeoJSON bool   `name:"geojson" xor:"form" help:"Write a GeoJSON Feature with a LineString and its times; at most 100000 positions."`
	CSV     bool   `name:"csv" xor:"form" help:"Write CSV."`
	NDJSON  bool   `name:"ndjson" xor:"form" help:"Write a JSON object on each line (the default)."`

	Tolerance float64 `placeholder:"METRES" help:"Leave out positions within so many metres of the line between the others."`
	Output    string  `short:"o" default:"-" placeholder:"FILE" help:"The file; - is standard output."`
	remote
}

// Help shows examples.
func (*Track) Help() string {
	return `The platform keeps the past with a data directory, for 30 days by default. A track of any length is written page by page; its pages are joined.

    paddock track bus-7 --from 24h --gpx -o bus-7.gpx
    paddock track bus-7 --from 2026-03-12T00:00:00Z --to 2026-03-13T00:00:00Z --csv`
}

// trackPage is the number of positions of a request, and their bound in a GeoJSON document.
const trackPage = 100_000

// Run writes the track.
func (k *Track) Run(ctx context.Context, c *Console) error {
	ctx, stop := interruptible(ctx) // so that no part of a file is left
	defer stop()
	from, err := instant("from", k.From)
	if err != nil {
		return err
	}
	to, err := instant("to", k.To)
	if err != nil {
		return err
	}
	q := url.Values{"fleet": {k.Fleet}, "from": {from}, "to": {to}, "format": {k.format()}, "limit": {strconv.Itoa(trackPage)}}
	if k.Tolerance != 0 {
		q.Set("tolerance", strconv.FormatFloat(k.Tolerance, 'f', -1, 64))
	}
	_, err = output.Write(c.Stdout, k.Output, func(w io.Writer) error { return k.pages(ctx, w, q) })
	return err
}

func (k *Track) format() string {
	switch {
	case k.GPX:
		return "gpx"
	case k.GeoJSON:
		return "geojson"
	case k.CSV:
		return "csv"
	}
	return "ndjson"
}

// pages writes all pages as one document.
func (k *Track) pages(ctx context.Context, w io.Writer, q url.Values) error {
	join := joiner{w: w}
	switch k.format() {
	case "gpx": // up to the first position, and behind the last one
		join.head, join.tail = []byte("<trkseg>\n"), []byte("</trkseg></trk></gpx>\n")
	case "csv":
		join.head = []byte("\n")
	}
	for first := true; ; first = false {
		res, err := k.open(ctx, http.MethodGet, withQuery(pathOf("objects", k.ID, "track"), q), nil, nil)
		if err != nil {
			return err
		}
		next := res.Header.Get("Paddock-Next")
		if next != "" && k.GeoJSON {
			err = fmt.Errorf("there are more than %d positions, which is the bound of a GeoJSON document here: give --from and --to, or --ndjson", trackPage)
		}
		if err == nil {
			err = join.page(res.Body, first, next == "")
		}
		if err = errors.Join(err, res.Body.Close()); err != nil || next == "" {
			return err
		}
		q.Set("after", next)
	}
}

// joiner joins documents. Of those behind the first one it leaves out all up to the end of head,
// and of those before the last one the tail.
type joiner struct {
	w          io.Writer
	head, tail []byte
}

// maxHead bounds what is left out of a page, in bytes: a name of 256 bytes is part of it.
const maxHead = 8 << 10

func (j *joiner) page(in io.Reader, first, last bool) error {
	buf := make([]byte, 0, 64<<10)
	skipping := !first && len(j.head) > 0
	for {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if skipping {
			if i := bytes.Index(buf, j.head); i >= 0 {
				buf, skipping = buf[:copy(buf, buf[i+len(j.head):])], false
			} else if ended || len(buf) > maxHead {
				return errors.New("a page of the answer does not begin as the others")
			}
		}
		if !skipping {
			keep := len(j.tail) // may be it
			if ended {
				keep = 0
				if !last {
					buf = bytes.TrimSuffix(buf, j.tail)
				}
			}
			if out := len(buf) - keep; out > 0 {
				if _, err := j.w.Write(buf[:out]); err != nil {
					return err
				}
				buf = buf[:copy(buf, buf[out:])]
			}
		}
		if ended {
			return nil
		}
	}
}

// Visits lists the visits of objects to fences.
type Visits struct {
	Set    string `placeholder:"SET" help:"Only visits to fences of this set."`
	Fence  string `placeholder:"ID" help:"Only visits to fences with this id."`
	Fleet  string `placeholder:"NAME" help:"Only this fleet."`
	Object string `placeholder:"ID" help:"Only this object."`
	From   string `placeholder:"TIME" help:"Only visits that end then or later: a time, or a duration such as 24h before now."`
	To     string `placeholder:"TIME" help:"Only visits that begin before this time."`
	Limit  int    `placeholder:"N" help:"At most so many (default all)."`
	JSON   bool   `name:"json" help:"Print an array of objects."`
	remote
}

// Help shows examples.
func (*Visits) Help() string {
	return `Ended visits come first, by their end, then the open ones.

    paddock visits --set depots --fence north --from 24h
    paddock visits --object bus-7 --json`
}

// shownVisit is a visit as the API shows it.
type shownVisit struct {
	Set, Fence, Fleet, Object string
	Begin, End                time.Time
	Open                      bool
	Reason                    string
}

// Run prints a line for each visit.
func (k *Visits) Run(ctx context.Context, c *Console) error {
	from, err := instant("from", k.From)
	if err != nil {
		return err
	}
	to, err := instant("to", k.To)
	if err != nil {
		return err
	}
	if k.Limit < 0 {
		return usagef("--limit %d: 0 or more", k.Limit)
	}
	l := &listing[shownVisit]{
		remote: &k.remote, path: pathOf("visits"), member: "visits", json: k.JSON, most: k.Limit,
		query: url.Values{"set": {k.Set}, "fence": {k.Fence}, "fleet": {k.Fleet}, "object": {k.Object}, "from": {from}, "to": {to}},
		head:  []string{"SET", "FENCE", "FLEET", "OBJECT", "BEGIN", "END", "LASTED", "REASON"},
		cells: func(v *shownVisit) []string {
			end, lasted := "open", "-"
			if !v.Open {
				end, lasted = timeText(v.End), v.End.Sub(v.Begin).Round(time.Second).String()
			}
			return []string{v.Set, v.Fence, v.Fleet, v.Object, timeText(v.Begin), end, lasted, orDash(v.Reason)}
		},
	}
	return l.print(ctx, c)
}
