package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/histogram"
)

const (
	// minSamples is what a side needs at least: with fewer, the median has no interval of 95 %.
	minSamples = 6
	level      = 0.05 // of the tests
	normal     = 1.959964
	// Parts whose neighbours are alike vary less than independent ones: the deviation of their
	// median is larger by sqrt((1+alike) / (1-alike)), and so are the bounds of the test.
	normalOfParts = 2.1668
	levelOfParts  = 0.0302
	// power is by how much a change exceeds half its interval that is seen in 80 of 100 cases.
	power = 1 + 0.8416/normal
)

// metric is a figure that is compared.
type metric struct {
	name   string
	more   bool // is better
	judged bool
	ofRun  func(*runfile.Document) (float64, bool)
	ofPart func(*part, *histogram.Histogram) (float64, bool)
	text   func(float64) string
}

// metrics are all figures. The longest time is none, as it is that of one request. The processor
// time is the generator's, which depends on the rate, and is shown alone.
var metrics = []metric{
	{
		"requests/s", true, true,
		func(d *runfile.Document) (float64, bool) { return orZero(d.Totals.PerSecond), d.Totals.InTime > 0 },
		func(p *part, _ *histogram.Histogram) (float64, bool) {
			return float64(p.good) / p.length.Seconds(), p.good > 0
		},
		figure.Number,
	},
	times("p50", 0.5), times("p90", 0.9), times("p99", 0.99),
	{
		"cpu/request", false, false,
		func(d *runfile.Document) (float64, bool) {
			cpu := float64(d.Host.User + d.Host.System)
			return cpu / float64(max(d.Totals.Done, 1)), cpu > 0 && d.Totals.Done > 0
		},
		func(p *part, _ *histogram.Histogram) (float64, bool) {
			return float64(p.cpu) / float64(max(p.done, 1)), p.cpu > 0 && p.done > 0
		},
		duration,
	},
}

func times(name string, q float64) metric {
	return metric{
		name, false, true,
		func(d *runfile.Document) (float64, bool) { t, ok := d.Response.At(q); return float64(t), ok && t > 0 },
		func(_ *part, h *histogram.Histogram) (float64, bool) {
			return float64(h.Quantile(q)), load.Enough(q, h.Count())
		},
		duration,
	}
}

func duration(ns float64) string { return figure.Time(time.Duration(ns)) }

func orZero(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// valuesOf are the values of parts by metric; those of a metric that one of the parts has not are
// none.
func valuesOf(parts []part) [][]float64 {
	all, h := make([][]float64, len(metrics)), histogram.New()
	for n := range parts {
		h.Reset()
		parts[n].response.AddTo(h)
		for i := range metrics {
			if v, ok := metrics[i].ofPart(&parts[n], h); ok {
				all[i] = append(all[i], v)
			}
		}
	}
	for i := range all {
		if len(all[i]) < len(parts) {
			all[i] = nil
		}
	}
	return all
}

func (m *metric) ofRuns(runs []*runfile.Document) []float64 {
	var values []float64
	for _, d := range runs {
		v, ok := m.ofRun(d)
		if !ok {
			return nil
		}
		values = append(values, v)
	}
	return values
}

// The outcomes of a figure.
const (
	Same    = "same"   // a change for the worse as large as the threshold is ruled out
	Better  = "better" // by the threshold, as far as can be told
	Worse   = "worse"
	Unknown = "unknown"
	Shown   = "" // not judged
)

// Result is a comparison.
type Result struct {
	A     Summary  `json:"a"`
	B     Summary  `json:"b"`
	Part  int      `json:"part_s"` // seconds in each sample; 0 = a sample is a run
	Rows  []Row    `json:"rows"`
	Notes []string `json:"notes"`
}

// Summary describes a side.
type Summary struct {
	Path    string         `json:"path"`
	Runs    int            `json:"runs"`
	Title   string         `json:"title"`
	Load    string         `json:"load"`
	Verdict map[string]int `json:"lamp"`   // runs by verdict
	Failed  float64        `json:"failed"` // the share of requests
}

// Row is a figure of both sides.
type Row struct {
	Metric    string   `json:"metric"`
	A         *Center  `json:"a"` // nil = there are none
	B         *Center  `json:"b"`
	Change    *float64 `json:"change"` // of b over a, as a share: the median of all pairs
	Low       *float64 `json:"change_low"`
	High      *float64 `json:"change_high"`
	P         *float64 `json:"p"`          // Mann-Whitney
	Adjusted  *float64 `json:"p_adjusted"` // for as many figures as are judged, by Holm
	Threshold float64  `json:"threshold"`
	Outcome   string   `json:"outcome"`
	Why       string   `json:"why,omitempty"`

	text func(float64) string
	loss float64 // the change for the worse, and its interval
	from float64
	to   float64
	sure float64 // the level of its test
}

// Center is a median with its interval of 95 %.
type Center struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Compare compares b with a. threshold says for each figure from which change on it counts. Runs
// whose generator was the bottleneck have no verdict, unless allowRed.
func Compare(a, b *Side, threshold func(metric string) float64, allowRed bool) *Result {
	r := &Result{A: a.summary(), B: b.summary(), Notes: []string{}}
	var x, y [][]float64
	if len(a.Runs) == 1 && len(b.Runs) == 1 {
		r.Part = max(batch(a.parts), batch(b.parts))
		x, y = valuesOf(batched(a.parts, r.Part)), valuesOf(batched(b.parts, r.Part))
		r.note("one run on each side: how much runs of one program differ is not seen; --repeat 10 on both sides shows it")
	} else {
		for i := range metrics {
			x, y = append(x, metrics[i].ofRuns(a.Runs)), append(y, metrics[i].ofRuns(b.Runs))
		}
	}
	for i := range metrics {
		m := &metrics[i]
		r.Rows = append(r.Rows, m.row(x[i], y[i], threshold(m.name), r.Part > 0))
	}
	r.adjust()
	red := r.A.Verdict[load.Red.String()]+r.B.Verdict[load.Red.String()] > 0 && !allowRed
	for i := range r.Rows {
		if m := &metrics[i]; m.judged {
			r.Rows[i].judge(r.Part, red)
		}
	}
	if red {
		r.note("the generator was the bottleneck in some of the runs, whose figures are bounds; --allow-red compares them as they are")
	}
	r.notes(a, b)
	return r
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *Result) notes(a, b *Side) {
	for _, s := range []*Side{a, b} {
		if d := s.Runs[0]; r.Part > 0 && d.Steady != nil && !d.Steady.Stationary {
			r.note("%s was not steady: its seconds have a trend", s.Path)
		}
	}
	if r.B.Failed > r.A.Failed+0.001 {
		r.note("more requests failed: %s, and %s before", figure.Percent(r.B.Failed), figure.Percent(r.A.Failed))
	}
	if m, n := a.Runs[0].Manifest, b.Runs[0].Manifest; m != nil && n != nil && m.CPUModel != nil && n.CPUModel != nil && (*m.CPUModel != *n.CPUModel || m.CPUs != n.CPUs) {
		r.note("the machines differ: %d x %s, and %d x %s", m.CPUs, *m.CPUModel, n.CPUs, *n.CPUModel)
	}
}

func (s *Side) summary() Summary {
	d := s.Runs[0]
	m := Summary{Path: s.Path, Runs: len(s.Runs), Title: d.Title, Load: d.Load, Verdict: map[string]int{}}
	var failed, all float64
	for _, d := range s.Runs {
		m.Verdict[d.Verdict.Level]++
		bad := d.Totals.Unanswered + d.Totals.Unsent
		for _, e := range d.Errors {
			bad += e.Count
		}
		failed, all = failed+float64(bad), all+float64(bad+d.Totals.Good)
	}
	m.Failed = failed / max(all, 1)
	return m
}

// row compares samples.
func (m *metric) row(a, b []float64, threshold float64, parts bool) Row {
	r := Row{Metric: m.name, A: center(a), B: center(b), Threshold: threshold, text: m.text, sure: level}
	z := normal
	if parts {
		r.sure, z = levelOfParts, normalOfParts
	}
	if min(len(a), len(b)) < minSamples {
		return r
	}
	change, low, high := shift(a, b, z)
	p := benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
	r.Change, r.Low, r.High, r.P = &change, &low, &high, &p
	if r.loss, r.from, r.to = change, low, high; m.more {
		r.loss, r.from, r.to = -change, -high, -low
	}
	return r
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.Thresholds{CompareAlpha: level})
}

func center(values []float64) *Center {
	if len(values) == 0 {
		return nil
	}
	s := benchmath.AssumeNothing.Summary(sample(values), 1-level)
	c := &Center{N: len(values), Median: s.Center, Low: s.Lo, High: s.Hi}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) { // there are too few for an interval
		c.Low, c.High = slices.Min(values), slices.Max(values)
	}
	return c
}

// shift is the change of b over a: the median of all pairs, and the pairs between which it lies
// with 95 % confidence, by the test of Mann and Whitney (J. L. Hodges and E. L. Lehmann, 1963).
func shift(a, b []float64, z float64) (change, low, high float64) {
	pairs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			pairs = append(pairs, y/x)
		}
	}
	slices.Sort(pairs)
	n, m := float64(len(a)), float64(len(b))
	k := max(int(n*m/2-z*math.Sqrt(n*m*(n+m+1)/12)-0.5), 0)
	last := len(pairs) - 1
	return (pairs[last/2]+pairs[len(pairs)/2])/2 - 1, pairs[k] - 1, pairs[last-k] - 1
}

// adjust sets the values of p for several figures, so that in 95 of 100 comparisons of the same
// none of them is significant (S. Holm, 1979).
func (r *Result) adjust() {
	var judged []*Row
	for i := range r.Rows {
		if metrics[i].judged && r.Rows[i].P != nil {
			judged = append(judged, &r.Rows[i])
		}
	}
	slices.SortFunc(judged, func(a, b *Row) int { return cmp.Compare(*a.P, *b.P) })
	least := 0.0
	for i, row := range judged {
		least = max(least, min(*row.P*float64(len(judged)-i), 1))
		p := least
		row.Adjusted = &p
	}
}

func (r *Row) judge(part int, red bool) {
	unit := "runs"
	if part > 0 {
		unit = fmt.Sprintf("parts of %d s", part)
	}
	r.Outcome = Unknown
	switch {
	case red:
		r.Why = "the generator was the bottleneck"
	case r.P == nil && (r.A == nil || r.B == nil):
		r.Why = "it takes more requests in each of the " + unit
	case r.P == nil:
		r.Why = fmt.Sprintf("%d and %d %s, where it takes %d on each side", r.A.N, r.B.N, unit, minSamples)
		if part > 0 {
			r.Why += fmt.Sprintf(": %d s", part*minSamples)
		}
	case *r.Adjusted < r.sure && r.loss > 0 && r.to >= r.Threshold:
		r.Outcome = Worse
	case *r.Adjusted < r.sure && r.loss < 0 && r.from <= -r.Threshold:
		r.Outcome = Better
	case r.to < r.Threshold:
		r.Outcome = Same
	default:
		more := math.Pow((r.to-r.from)/2*power/r.Threshold, 2)
		r.Why = fmt.Sprintf("a change of %s is not ruled out: it takes about %.0f times as many %s", figure.Percent(r.Threshold), math.Ceil(max(more, 2)), unit)
	}
}

// Has reports whether a figure has an outcome, and lists their names.
func (r *Result) Has(outcome string) (names []string) {
	for _, row := range r.Rows {
		if row.Outcome == outcome && outcome != Shown {
			names = append(names, row.Metric)
		}
	}
	return names
}

// Thresholds reads a list such as "3%" or "3%,p99=10%": the share for all figures, and others for
// some.
func Thresholds(text string) (func(metric string) float64, error) {
	all, some := 0.0, map[string]float64{}
	for _, part := range strings.Split(text, ",") {
		name, share, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, share = "", name
		}
		number, percent := strings.CutSuffix(share, "%")
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !percent || !(f > 0 && f <= 1000) {
			return nil, fmt.Errorf("%q is no threshold: above 0%% and up to 1000%%, such as 3%% or p99=10%%", part)
		}
		known := slices.ContainsFunc(metrics, func(m metric) bool { return m.judged && m.name == name })
		switch {
		case !named:
			all = f / 100
		case !known:
			return nil, fmt.Errorf("%q is no figure: requests/s, p50, p90 or p99", name)
		default:
			some[name] = f / 100
		}
	}
	if all == 0 {
		all = DefaultThreshold
	}
	return func(metric string) float64 { return cmp.Or(some[metric], all) }, nil
}

// DefaultThreshold is the change that counts, as a share.
const DefaultThreshold = 0.03
