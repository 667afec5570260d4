package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// Set is several runs in one report.
type Set struct{ Runs []Member }

// Member is a run of a set.
type Member struct {
	*Run
	Name   string // of the run in the set
	Series string // the runs of one directory are drawn as one line
}

// maxRuns bounds the runs of a set.
const maxRuns = 64

// OpenSet returns the runs at some paths: see runfile.Find.
func OpenSet(paths []string) (*Set, error) {
	s := &Set{}
	for _, path := range paths {
		dirs, err := runfile.Find(path)
		if err != nil {
			return nil, err
		}
		series := filepath.Base(filepath.Clean(path))
		for _, other := range paths {
			if other != path && filepath.Base(filepath.Clean(other)) == series {
				series = path
			}
		}
		for _, dir := range dirs {
			name := series
			if len(dirs) > 1 {
				if name = filepath.Base(dir); len(paths) > 1 {
					name = series + "/" + name
				}
			}
			if len(s.Runs) == maxRuns {
				return nil, fmt.Errorf("more than %d runs in one report", maxRuns)
			}
			r, err := Open(dir)
			if err != nil {
				return nil, err
			}
			s.Runs = append(s.Runs, Member{r, name, series})
		}
	}
	return s, nil
}

// Documents are those of the runs.
func (s *Set) Documents() (all []*runfile.Document) {
	for _, r := range s.Runs {
		all = append(all, r.Document)
	}
	return all
}

// setColumns are the head of the table of a set.
var setColumns = []string{"run", "rate", "p50", "p90", "p99", "longest", "failed", "lamp"}

// setRow is a run in the table.
type setRow struct {
	row
	Verdict string
}

func (s *Set) rows() (all []setRow, marked bool) {
	for _, r := range s.Runs {
		cells := []string{figure.Number(r.Result.PerSecond()) + "/s"}
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			d, enough := r.Document.Response.At(q)
			text := figure.Time(d)
			if !enough {
				text, marked = "~"+text, true
			}
			cells = append(cells, text)
		}
		all = append(all, setRow{row{r.Name, append(cells, r.failedShare())}, r.Document.Verdict.Level})
	}
	return all, marked
}

// WriteText writes the table of the runs; of a single run, its report.
func (s *Set) WriteText(w io.Writer) error {
	if len(s.Runs) == 1 {
		return s.Runs[0].WriteText(w)
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(setColumns, "\t")+"\t")
	rows, marked := s.rows()
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", figure.Text(r.Name), strings.Join(r.Cells, "\t"), r.Verdict)
	}
	if marked {
		fmt.Fprintln(t, "~ too few to tell this percentile")
	}
	return t.Flush()
}

// runPoints are the good answers of a run: start and length in s, and count.
type runPoints struct {
	Name   string       `json:"name"`
	Points [][3]float64 `json:"points"`
}

// levels are the p50 and p99 in ns by load.
type levels struct {
	Unit   string      `json:"unit"`
	Series []runPoints `json:"series"`
}

// setPage is the data of the template of several runs.
type setPage struct {
	*Set
	Title, Red string
	Style      template.CSS
	Script     template.JS
	Columns    []string
	Rows       []setRow
	Marked     bool
	Over       bool // some run has points over time
	Facts      []Fact
	Data       *plotData
}

// WriteHTML writes the runs as one HTML file, as a single run's; a single one as itself.
func (s *Set) WriteHTML(w io.Writer) error {
	if len(s.Runs) == 1 {
		return s.Runs[0].WriteHTML(w)
	}
	p := &setPage{
		Set: s, Title: s.title(), Style: template.CSS(pageStyle), Script: template.JS(pageScript), Columns: setColumns, //nolint:gosec // both are ours
		Data: &plotData{Causes: []string{}, Curves: []curve{}, Band: [][3]float64{}, Points: []plotPoint{}, Levels: s.levels()},
	}
	p.Rows, p.Marked = s.rows()
	var red []string
	for _, r := range s.Runs {
		if r.Document.Verdict.Level == load.Red.String() {
			red = append(red, r.Name)
		}
		p.Facts = append(p.Facts, Fact{r.Name, r.Title + "; " + r.Document.Load})
		if r.Document.Response != nil {
			c := column{r.Name, r.Document.Response, r.Result.Total.Response}
			p.Data.Curves = append(p.Data.Curves, c.curve())
		}
		over := runPoints{r.Name, [][3]float64{}}
		for _, pt := range r.plots(nil).Points {
			over.Points = append(over.Points, [3]float64{pt.T, pt.Length, float64(pt.OK)})
		}
		p.Data.Runs = append(p.Data.Runs, over)
		p.Over = p.Over || len(over.Points) > 0
	}
	if p.Red = strings.Join(red, ", "); !p.Over {
		p.Data.Runs = nil
	}
	return runsTemplate.Execute(w, p)
}

// title is what all runs asked for, if it is the same.
func (s *Set) title() string {
	for _, r := range s.Runs {
		if r.Title != s.Runs[0].Title {
			return "Runs of several services"
		}
	}
	return s.Runs[0].Title
}

// levels are the response times over the rates that were asked for, or the connections of closed
// runs, or over the good answers if there are both kinds; nil if all loads are the same.
func (s *Set) levels() *levels {
	open := 0
	for _, r := range s.Runs {
		if r.Plan.Arrivals != nil {
			open++
		}
	}
	unit, of := "good answers per second", func(r *Run) float64 { return r.Result.PerSecond() }
	switch open {
	case 0:
		unit, of = "connections", func(r *Run) float64 { return float64(r.Document.Plan.Conns) }
	case len(s.Runs):
		unit, of = "requests asked for per second", func(r *Run) float64 { return slo.Target(r.Result) }
	}
	l, places := &levels{Unit: unit}, map[float64]bool{}
	for _, r := range s.Runs {
		at := slices.IndexFunc(l.Series, func(o runPoints) bool { return o.Name == r.Series })
		if at < 0 {
			at, l.Series = len(l.Series), append(l.Series, runPoints{Name: r.Series})
		}
		p50, _ := r.Document.Response.At(0.5)
		p99, _ := r.Document.Response.At(0.99)
		if x := of(r.Run); x > 0 && p50 > 0 && !math.IsInf(x, 1) {
			places[x] = true
			l.Series[at].Points = append(l.Series[at].Points, [3]float64{x, float64(p50), float64(p99)})
		}
	}
	if len(places) < 2 {
		return nil
	}
	for _, o := range l.Series {
		slices.SortStableFunc(o.Points, func(a, b [3]float64) int { return cmp.Compare(a[0], b[0]) })
	}
	l.Series = slices.DeleteFunc(l.Series, func(o runPoints) bool { return len(o.Points) == 0 })
	return l
}
