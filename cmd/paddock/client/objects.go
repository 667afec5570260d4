package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Objects works on the objects of a running platform.
type Objects struct {
	Ls   objectsLsCmd   `cmd:"" help:"List objects: where they are, since when, and in which fences."`
	Show objectsShowCmd `cmd:"" help:"Show one object."`
	Rm   objectsRmCmd   `cmd:"" help:"Remove an object: it leaves its fences."`
}

// shownObject is an object as the API shows it.
type shownObject struct {
	ID, Fleet          string
	Lon, Lat           float64
	T, Seen            time.Time
	State              string
	Accuracy, Altitude *float64
	Speed, Heading     *float64
	Props              json.RawMessage
	Distance           *float64
	Fences             []struct {
		Set, Fence string
		Since      time.Time
	}
	Pending []struct {
		Set, Fence, Event string
		At                time.Time
	}
}

// objectsLsCmd lists objects.
type objectsLsCmd struct {
	Set    string `placeholder:"SET" help:"Only objects in a fence of this set."`
	Fence  string `placeholder:"ID" help:"Only objects in this fence of the set."`
	Fleet  string `placeholder:"NAME" help:"Only this fleet."`
	Prefix string `placeholder:"TEXT" help:"Only ids that begin with this."`
	BBox   string `name:"bbox" placeholder:"W,S,E,N" help:"Only objects in this box of degrees; it is over the antimeridian if west is greater than east."`
	Near   string `placeholder:"LON,LAT,METRES" help:"Only objects at most so many metres from a point; they have their distance."`
	Since  string `placeholder:"TIME" help:"Only objects heard of since then: a time, or a duration such as 10m before now."`
	At     string `placeholder:"TIME" help:"As they were: the last position of each at this time or before it. With --fleet and --prefix alone."`
	Limit  int    `placeholder:"N" help:"At most so many (default all)."`
	JSON   bool   `name:"json" help:"Print an array of objects."`
	remote
}

// Help shows examples.
func (*objectsLsCmd) Help() string {
	return `Objects are listed by fleet, then id. A table has one page of 1000 in memory, so its columns may change their widths between pages. A negative longitude needs a =, as in --near=-0.1,51.5,500.

    paddock objects ls --set depots --fence north
    paddock objects ls --near 13.41,52.52,500 --since 10m
    paddock objects ls --bbox 179,-20,-179,-10 --json | jq -r .[].id`
}

// Run prints a line for each object.
func (k *objectsLsCmd) Run(ctx context.Context, c *Console) error {
	since, err := instant("since", k.Since)
	if err != nil {
		return err
	}
	at, err := instant("at", k.At)
	if err != nil {
		return err
	}
	if k.Limit < 0 {
		return usagef("--limit %d: 0 or more", k.Limit)
	}
	l := &listing[shownObject]{
		remote: &k.remote, path: pathOf("objects"), member: "objects", json: k.JSON, most: k.Limit,
		query: url.Values{
			"set": {k.Set}, "fence": {k.Fence}, "fleet": {k.Fleet}, "prefix": {k.Prefix},
			"bbox": {k.BBox}, "near": {k.Near}, "since": {since}, "at": {at},
		},
		head: []string{"FLEET", "ID", "LON", "LAT", "AT", "STATE", "SPEED", "FENCES"},
	}
	if k.Near != "" {
		l.head = append(l.head, "METRES")
	}
	l.cells = func(o *shownObject) []string {
		cells := []string{o.Fleet, o.ID, degrees(o.Lon), degrees(o.Lat), timeText(o.T), orDash(o.State), measure(o.Speed), o.fences()}
		if k.Near != "" {
			cells = append(cells, measure(o.Distance))
		}
		return cells
	}
	return l.print(ctx, c)
}

// maxFencesShown bounds the fences of an object in a table.
const maxFencesShown = 4

func (o *shownObject) fences() string {
	var names []string
	for i := range o.Fences {
		if i == maxFencesShown {
			names = append(names, fmt.Sprintf("and %d more", len(o.Fences)-i))
			break
		}
		names = append(names, o.Fences[i].Set+"/"+o.Fences[i].Fence)
	}
	return orDash(strings.Join(names, ","))
}

func degrees(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// measure returns a quantity to a tenth, or a dash for an unknown one.
func measure(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// objectsShowCmd shows an object.
type objectsShowCmd struct {
	ID    string `arg:"" help:"The object."`
	Fleet string `placeholder:"NAME" help:"Its fleet (default that of the key, or default)."`
	JSON  bool   `name:"json" help:"Print an object as GET /v1/objects/{id} answers it."`
	remote
}

// Run prints what is known of the object.
func (k *objectsShowCmd) Run(ctx context.Context, c *Console) error {
	var raw json.RawMessage
	if err := k.ask(ctx, &raw, http.MethodGet, withQuery(pathOf("objects", k.ID), url.Values{"fleet": {k.Fleet}}), nil, nil); err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(raw)
	}
	var o shownObject
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	t := newTable(c.Stdout, "object", o.Fleet+"/"+o.ID)
	t.row("lon, lat", degrees(o.Lon)+", "+degrees(o.Lat))
	t.row("at", timeText(o.T)+", heard of "+timeText(o.Seen))
	t.row("state", o.State)
	for _, m := range []struct {
		name, unit string
		value      *float64
	}{{"speed", "m/s", o.Speed}, {"heading", "degrees", o.Heading}, {"accuracy", "m", o.Accuracy}, {"altitude", "m", o.Altitude}} {
		if m.value != nil {
			t.row(m.name, measure(m.value)+" "+m.unit)
		}
	}
	if o.Props != nil {
		t.row("props", string(o.Props))
	}
	for _, f := range o.Fences {
		t.row("in", f.Set+"/"+f.Fence+" since "+timeText(f.Since))
	}
	for _, p := range o.Pending {
		t.row("pending", p.Event+" "+p.Set+"/"+p.Fence+" since "+timeText(p.At))
	}
	return t.flush()
}

// objectsRmCmd removes an object.
type objectsRmCmd struct {
	ID      string `arg:"" help:"The object."`
	Fleet   string `placeholder:"NAME" help:"Its fleet (default that of the key, or default)."`
	History bool   `help:"Remove its past positions and visits too."`
	remote
}

// Run removes it.
func (k *objectsRmCmd) Run(ctx context.Context) error {
	q := url.Values{"fleet": {k.Fleet}}
	if k.History {
		q.Set("history", "1")
	}
	return k.ask(ctx, nil, http.MethodDelete, withQuery(pathOf("objects", k.ID), q), nil, nil)
}
