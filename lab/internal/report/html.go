package report

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

var (
	//go:embed page/report.html
	pageText string
	//go:embed page/report.css
	pageStyle string
	//go:embed page/report.js
	pageScript string

	//go:embed page/runs.html
	runsText string

	pageTemplate = template.Must(template.New("report").Parse(pageText))
	runsTemplate = template.Must(template.Must(pageTemplate.Clone()).New("runs").Parse(runsText))
)

// page is the data of the template.
type page struct {
	*Run
	Style            template.CSS
	Script           template.JS
	Verdict, Meaning string
	Causes           []string
	Tiles, Facts     []Fact
	Columns          []column
	Phases           []phase
	TargetColumns    []string
	Targets          []row
	Rows             []row
	Marked, Open     bool
	Machine, Memory  bool // the use of the service's machine, and the memory of the service, are known
	Band             bool
	Began, Command   string
	Errors           []errorRow
	Data             *plotData
}

// errorRow is an error as it was seen, with nothing in it that does not show itself.
type errorRow struct{ Count, Class, Text, First, Last, Bytes string }

// WriteHTML writes the run as one HTML file, which is read offline, in light and dark, on
// paper and on a phone.
func (r *Run) WriteHTML(w io.Writer) error {
	verdict := &r.Document.Verdict
	p := &page{
		Run: r, Style: template.CSS(pageStyle), Script: template.JS(pageScript), //nolint:gosec // both are ours
		Verdict: verdict.Level, Meaning: meanings[verdict.Level], Facts: r.facts(), Open: r.Plan.Arrivals != nil,
		Began: r.Result.Began.UTC().Format(time.RFC3339),
	}
	if m := r.Document.Manifest; m != nil {
		p.Command = strings.Join(m.Argv, " ")
	}
	for _, m := range verdict.Measures {
		if m.Level != load.Green.String() {
			p.Causes = append(p.Causes, m.Text)
		}
	}
	p.Columns, p.Phases = r.columns(), phases(r.Document)
	p.TargetColumns, p.Targets = targetColumns, r.targets()
	p.Rows, p.Marked = rows(p.Columns)
	p.Tiles = []Fact{
		{"good answers", figure.Number(r.Result.PerSecond()) + "/s"},
		{"p50", r.quantile(0.5)},
		{"p99", r.quantile(0.99)},
		{"longest", r.quantile(1)},
		{"failed", r.failedShare()},
	}
	for _, s := range r.samples() {
		p.Errors = append(p.Errors, errorRow{
			figure.Count(s.Count), s.Class.String(), figure.Text(s.Text), figure.Time(s.First), figure.Time(s.Last),
			figure.Text(string(s.Bytes[:min(len(s.Bytes), shownBytes)])),
		})
	}
	p.Data = r.plots(p.Columns)
	p.Band = len(p.Data.Band) > 1
	p.Machine = slices.ContainsFunc(p.Data.Points, func(q plotPoint) bool { return q.Machine != nil })
	p.Memory = slices.ContainsFunc(p.Data.Points, func(q plotPoint) bool { return q.Machine != nil && q.Machine.Resident > 0 })
	return pageTemplate.Execute(w, p)
}

func (r *Run) quantile(q float64) string {
	d, _ := r.Document.Response.At(q)
	return figure.Time(d)
}

var meanings = map[string]string{
	load.Green.String(): "The numbers are the service's.",
	load.Amber.String(): "The generator may have had a part in the numbers.",
	load.Red.String():   "Generator-bound: rates are lower bounds and times upper ones.",
}

// plotData is the data of the script.
type plotData struct {
	Open   bool         `json:"open"`
	Causes []string     `json:"causes"`
	Curves []curve      `json:"curves"`
	Band   [][3]float64 `json:"band"` // places as in a curve, and both ends in ns
	Points []plotPoint  `json:"points"`
	Runs   []runPoints  `json:"runs,omitempty"`   // of a set
	Levels *levels      `json:"levels,omitempty"` // likewise
}

// curve is times by percentile: log10(1/(1-p)) and ns.
type curve struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
}

// plotMachine is the mean use of the service's machine in a part of the run, in processors.
type plotMachine struct {
	Service  float64 `json:"service"`
	Others   float64 `json:"others"` // without the service, if its processes are known
	Steal    float64 `json:"steal"`
	Resident int64   `json:"resident"` // bytes, of the service; 0 = not known
}

func plotMachineOf(u *process.TargetUse) *plotMachine {
	if u == nil || u.Length <= 0 {
		return nil
	}
	m := &plotMachine{Others: (u.User + u.System).Seconds() / u.Length.Seconds(), Steal: u.Steal.Seconds() / u.Length.Seconds()}
	if s := u.Service; s != nil {
		m.Service, m.Resident = s.CPU.Seconds()/u.Length.Seconds(), s.Resident
		m.Others = max(m.Others-m.Service, 0) // its clock is finer than the machine's
	}
	return m
}

// plotPoint is a part of the run, in s.
type plotPoint struct {
	T        float64                `json:"t"`
	Length   float64                `json:"len"`
	OK       int64                  `json:"ok"`
	Failed   int64                  `json:"failed"`
	Target   float64                `json:"target"`
	InFlight float64                `json:"inFlight"`
	Most     int64                  `json:"most"`
	Late     [load.Causes - 1]int64 `json:"late"` // ns, by cause; those on time are left out
	Rows     []int64                `json:"rows"` // row and count, in turns
	Machine  *plotMachine           `json:"machine,omitempty"`
}

func (r *Run) plots(columns []column) *plotData {
	d := &plotData{Open: r.Plan.Arrivals != nil, Curves: []curve{}, Band: [][3]float64{}, Points: []plotPoint{}}
	for cause := load.OnTime + 1; cause < load.Causes; cause++ {
		d.Causes = append(d.Causes, cause.String())
	}
	for _, c := range columns {
		if c.Name == "response" || c.Name == "service" || c.Name == "lag" {
			d.Curves = append(d.Curves, c.curve())
		}
	}
	if t := r.Document.Response; t != nil {
		for _, v := range t.Quantiles {
			if v.Low != nil {
				d.Band = append(d.Band, [3]float64{-math.Log10(1 - v.Q), float64(*v.Low), float64(*v.High)})
			}
		}
	}
	if r.Series == nil {
		return d
	}
	points := r.Series.points()
	for _, p := range points {
		if p.Length < minPoint && len(points) > 1 {
			continue // a rate over next to no time is none
		}
		q := plotPoint{T: p.Start.Seconds(), Length: p.Length.Seconds(), OK: p.OK, Failed: p.Failed, Target: p.Target, InFlight: p.InFlight, Most: p.Most, Rows: []int64{}, Machine: plotMachineOf(p.Machine)}
		for i := range q.Late {
			q.Late[i] = int64(p.Late[i+1])
		}
		for row, n := range p.Rows.All() {
			q.Rows = append(q.Rows, int64(row), int64(n))
		}
		d.Points = append(d.Points, q)
	}
	return d
}

// minPoint is how long a part of a run is at least, to be drawn.
const minPoint = 50 * time.Millisecond

// curveSteps is how many points a curve has for each tenfold of requests.
const curveSteps = 24

// percentileCurve goes up to the last request.
func percentileCurve(h *histogram.Histogram) [][2]float64 {
	n := float64(h.Count())
	most := math.Log10(max(n, 2))
	points := [][2]float64{}
	for i := 0; float64(i)/curveSteps < most; i++ {
		at := float64(i) / curveSteps
		points = append(points, [2]float64{math.Round(at*1000) / 1000, float64(h.Quantile(1 - math.Pow(10, -at)))})
	}
	return append(points, [2]float64{most, float64(h.Max())})
}
