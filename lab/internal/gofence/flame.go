package gofence

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"paddock/lab/internal/figure"
)

// Flame is a profile of a row of the table, to be drawn.
type Flame struct {
	Name    string
	Profile *profile.Profile
}

// The graph is flameWidth units wide, and a level is flameHeight high. Calls of less than a share
// of leastShare are not drawn, so that the page stays small.
const (
	flameWidth, flameHeight = 1200, 18
	leastShare              = 0.001
	maxLevels               = 100
)

// call is a function in the graph, called from its parent.
type call struct {
	name     string
	spent    time.Duration // its own and that of its callees
	callees  map[string]*call
	From, To float64 // places in the graph
	Level    int
}

// box is a drawn call.
type box struct {
	X, Y, Width     float64
	Label, Name     string
	Share, Duration string
	Runtime         bool
}

// WriteFlames writes the flame graph of each profile to a page that loads nothing, below the table.
// A box is as wide as its share of the processor's time, and stands below its caller.
func WriteFlames(w io.Writer, r *ProfileReport, flames []Flame) error {
	var table strings.Builder
	if err := r.WriteText(&table); err != nil {
		return err
	}
	page := struct {
		Table  string
		Width  int
		Graphs []graph
	}{Table: table.String(), Width: flameWidth}
	for _, f := range flames {
		page.Graphs = append(page.Graphs, newGraph(f))
	}
	return flamePage.Execute(w, page)
}

// graph is the flame graph of a profile.
type graph struct {
	Name   string
	Height int
	Boxes  []box
}

func newGraph(f Flame) graph {
	root := treeOf(f.Profile)
	root.To = flameWidth
	g := graph{Name: f.Name}
	levels := 0
	for waiting := []*call{root}; len(waiting) > 0; waiting = waiting[1:] {
		c := waiting[0]
		share := float64(c.spent) / float64(max(root.spent, 1))
		b := box{
			X: c.From, Y: float64(c.Level * flameHeight), Width: c.To - c.From, Name: c.name, Share: figure.Percent(share),
			Duration: figure.Time(c.spent), Runtime: strings.HasPrefix(c.name, "runtime."),
		}
		if letters := int(b.Width / 7); letters > 4 {
			b.Label = c.name[strings.LastIndexByte(c.name, '/')+1:]
			b.Label = b.Label[:min(len(b.Label), letters)]
		}
		g.Boxes = append(g.Boxes, b)
		levels = max(levels, c.Level+1)
		from := c.From
		for _, to := range slices.SortedFunc(maps.Values(c.callees), func(a, b *call) int { return cmp.Or(cmp.Compare(b.spent, a.spent), cmp.Compare(a.name, b.name)) }) {
			to.From, to.To, to.Level = from, from+flameWidth*float64(to.spent)/float64(root.spent), c.Level+1
			if from = to.To; to.To-to.From >= flameWidth*leastShare && to.Level < maxLevels {
				waiting = append(waiting, to)
			}
		}
	}
	g.Height = levels * flameHeight
	return g
}

// treeOf adds up the samples of a profile of processor time by their stacks.
func treeOf(p *profile.Profile) *call {
	root := &call{name: "all"}
	for _, s := range p.Sample {
		spent, at := time.Duration(s.Value[len(s.Value)-1]), root
		root.spent += spent
		for _, location := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(location.Line) {
				name := "unknown"
				if line.Function != nil {
					name = line.Function.Name
				}
				next := at.callees[name]
				if next == nil {
					if next = (&call{name: name}); at.callees == nil {
						at.callees = map[string]*call{}
					}
					at.callees[name] = next
				}
				next.spent += spent
				at = next
			}
		}
	}
	return root
}

var flamePage = template.Must(template.New("flames").Funcs(template.FuncMap{"px": func(v float64) string { return fmt.Sprintf("%.1f", v) }}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Profiles</title>
<style>
:root{color-scheme:light dark;--ours:#ffc46b;--runtime:#b9c7d8;--ink:#1c1c1c}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem}pre{overflow-x:auto}div{overflow-x:auto}
svg{display:block;font:11px ui-monospace,monospace}rect{fill:var(--ours);stroke:Canvas}.r rect{fill:var(--runtime)}text{fill:var(--ink)}
</style>
<h1>Profiles</h1>
<pre tabindex="0">{{.Table}}</pre>
{{range .Graphs}}<h2>{{.Name}}</h2>
<div tabindex="0" role="region" aria-label="flame graph of {{.Name}}"><svg width="{{$.Width}}" height="{{.Height}}" role="img" aria-label="flame graph of {{.Name}}">
{{range .Boxes}}<g{{if .Runtime}} class="r"{{end}}><title>{{.Name}}: {{.Share}}, {{.Duration}}</title><rect x="{{px .X}}" y="{{px .Y}}" width="{{px .Width}}" height="17"/>{{if .Label}}<text x="{{px .X}}" y="{{px .Y}}" dx="3" dy="13">{{.Label}}</text>{{end}}</g>
{{end}}</svg></div>
{{end}}</html>
`))
