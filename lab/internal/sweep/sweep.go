package sweep

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/load"
)

// Level is a run at one of the loads.
type Level struct {
	Conns   int      `json:"conns"`
	Target  *float64 `json:"target"` // requests per second that were meant; nil in a closed run
	Rate    float64  `json:"per_second"`
	Mean    int64    `json:"mean_ns"`
	P50     int64    `json:"p50_ns"`
	P99     int64    `json:"p99_ns"`
	Enough  bool     `json:"p99_enough"` // there were requests enough for the p99
	Failed  float64  `json:"failed"`     // share of the requests
	Verdict string   `json:"lamp"`
	Little  *float64 `json:"little"` // how far off Little's law is, as a share; nil = too little was measured
	Holds   bool     `json:"little_holds"`
	Out     string   `json:"out,omitempty"` // the directory of the run
}

// LevelOf returns the level of a run.
func LevelOf(d *runfile.Document, target, failed float64, out string) Level {
	l := Level{Conns: d.Plan.Conns, Failed: failed, Verdict: d.Verdict.Level, Out: out}
	if target > 0 {
		l.Target = &target
	}
	if d.Totals.PerSecond != nil {
		l.Rate = *d.Totals.PerSecond
	}
	if d.Response != nil {
		p50, _ := d.Response.At(0.5)
		p99, enough := d.Response.At(0.99)
		l.Mean, l.P50, l.P99, l.Enough = d.Response.Mean, int64(p50), int64(p99), enough
	}
	if d.Little != nil {
		l.Little, l.Holds = &d.Little.Delta, d.Little.Holds
	}
	return l
}

func (l *Level) red() bool { return l.Verdict == load.Red.String() }

// Result is the outcome of a sweep.
type Result struct {
	Title  string  `json:"title"`
	Levels []Level `json:"levels"`
	Red    []Level `json:"red"` // those of the levels whose generator was the bottleneck: they say nothing of the service
	Fit    *Fit    `json:"fit"` // over connections; nil = too few, or over rates
	Knee   *Knee   `json:"knee"`
	Power  *Level  `json:"power"` // that with most rate for its time: L. Kleinrock's optimum
}

// Knee is where more load begins to wait instead of being served.
type Knee struct {
	Conns *float64 `json:"conns"` // where the rate of the least connections, if it grew with them, meets Rate
	Rate  float64  `json:"per_second"`
}

// New judges the levels of a sweep. It leaves out the red ones, unless allowRed.
func New(title string, levels []Level, allowRed bool) *Result {
	r := &Result{Title: title, Levels: levels, Red: []Level{}}
	var points []Point
	var best, first Point
	var most float64 // connections
	for i := range levels {
		l := &levels[i]
		switch {
		case l.red() && !allowRed:
			r.Red = append(r.Red, *l)
			continue
		case l.Rate <= 0 || l.Mean <= 0:
			continue
		}
		if r.Power == nil || l.Rate/float64(l.Mean) > r.Power.Rate/float64(r.Power.Mean) {
			r.Power = l
		}
		p := Point{float64(l.Conns), l.Rate}
		if l.Target != nil {
			if l.Rate >= keptUp**l.Target && l.Rate > best.Rate {
				best = p
			}
			continue
		}
		points = append(points, p)
	}
	if len(points) > 0 {
		means := meanRates(points)
		most = means[len(means)-1].N
		first, best = means[0], slices.MaxFunc(means, func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) })
		r.Fit = Scale(points)
	}
	if best.Rate > 0 && first.Rate == 0 {
		r.Knee = &Knee{Rate: best.Rate}
	}
	if conns := best.Rate / first.Rate * first.N; first.Rate > 0 && conns < growing*most {
		r.Knee = &Knee{&conns, best.Rate}
	}
	return r
}

// growing is the part of the most connections from which on the rate still grows with them.
const growing = 0.9

// keptUp is the part of the meant rate with which a service keeps up.
const keptUp = 0.99

// meanRates are the means of each number of connections, the least first.
func meanRates(points []Point) (means []Point) {
	sorted := slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.N, b.N) })
	for i := 0; i < len(sorted); {
		j, sum := i, 0.0
		for ; j < len(sorted) && sorted[j].N == sorted[i].N; j++ {
			sum += sorted[j].Rate
		}
		means = append(means, Point{sorted[i].N, sum / float64(j-i)})
		i = j
	}
	return means
}

// Measured reports whether any level says something of the service.
func (r *Result) Measured() bool { return r.Power != nil }

// WriteText writes the sweep for a person.
func (r *Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", figure.Text(r.Title))
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "conns\tasked\trate\tmean\tp50\tp99\tfailed\tlamp\tLittle\t\n")
	for _, l := range r.Levels {
		asked, p99, little := "", figure.Time(time.Duration(l.P99)), "-"
		if l.Target != nil {
			asked = figure.Number(*l.Target) + "/s"
		}
		if !l.Enough {
			p99 = "~" + p99
		}
		if l.Little != nil {
			if little = "holds"; !l.Holds {
				little = figure.Percent(*l.Little) + " OFF"
			}
		}
		fmt.Fprintf(t, "%d\t%s\t%s/s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.Conns, asked, figure.Number(l.Rate), figure.Time(time.Duration(l.Mean)),
			figure.Time(time.Duration(l.P50)), p99, figure.Percent(l.Failed), l.Verdict, little)
	}
	_ = t.Flush() // to memory
	fmt.Fprintln(&b)
	for _, l := range r.Red {
		fmt.Fprintf(&b, "left out: %s, where the generator was the bottleneck\n", l.name())
	}
	r.writeJudgement(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (l *Level) name() string {
	if l.Target != nil {
		return figure.Number(*l.Target) + "/s"
	}
	return fmt.Sprintf("%d connections", l.Conns)
}

func (r *Result) writeJudgement(b *bytes.Buffer) {
	if k := r.Knee; k != nil && k.Conns != nil {
		fmt.Fprintf(b, "knee: %s connections, where the rate of few connections would reach the highest one, %s/s\n", figure.Number(*k.Conns), figure.Number(k.Rate))
	} else if k != nil {
		fmt.Fprintf(b, "knee: %s/s, the highest rate with which the service kept up\n", figure.Number(k.Rate))
	} else if r.Power != nil {
		fmt.Fprintln(b, "no knee within these loads")
	}
	if p := r.Power; p != nil {
		fmt.Fprintf(b, "most rate for its time: %s, %s/s at %s\n", p.name(), figure.Number(p.Rate), figure.Time(time.Duration(p.Mean)))
	}
	f := r.Fit
	if f == nil {
		if len(r.Levels) > 0 && r.Levels[0].Target == nil {
			fmt.Fprintf(b, "no law of scalability: it takes %d different numbers of connections\n", Least)
		}
		return
	}
	fmt.Fprintf(b, "universal scalability law: lambda %s, sigma %s, kappa %s; R2 %.4f\n", f.Lambda.text("%.4g"), f.Sigma.text("%.3g"), f.Kappa.text("%.3g"), f.R2)
	most := slices.MaxFunc(r.Levels, func(a, b Level) int { return cmp.Compare(a.Conns, b.Conns) }).Conns
	switch top := f.Top.text("%.4g"); {
	case f.Peak.Value == nil && f.Top.Value == nil:
		fmt.Fprintln(b, "the rate grows with the connections, and no bound is seen")
	case f.Peak.Value == nil:
		fmt.Fprintf(b, "the rate grows towards %s per second, and never falls\n", top)
	case *f.Peak.Value > float64(most):
		fmt.Fprintf(b, "highest rate: %s per second at %s connections, beyond the %d that were measured\n", top, f.Peak.text("%.3g"), most)
	default:
		fmt.Fprintf(b, "highest rate: %s per second at %s connections\n", top, f.Peak.text("%.3g"))
	}
	if len(f.Poor) > 0 {
		fmt.Fprintf(b, "the law does not describe this service: %s\n", strings.Join(f.Poor, "; "))
	}
}

// text is the estimate with its interval.
func (e Estimate) text(format string) string {
	one := func(f *float64) string {
		if f == nil {
			return "no bound"
		}
		return fmt.Sprintf(format, *f)
	}
	return fmt.Sprintf("%s (%s to %s)", one(e.Value), one(e.Low), one(e.High))
}

// ByLoad orders levels from the lightest.
func ByLoad(a, b Level) int {
	of := func(l Level) float64 {
		if l.Target != nil {
			return *l.Target
		}
		return float64(l.Conns)
	}
	return cmp.Compare(of(a), of(b))
}
