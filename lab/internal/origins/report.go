package origins

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"paddock/lab/internal/documents"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/results"
)

//go:embed report.txt report.md page.html
var files embed.FS

// WriteJSON writes the report as one object.
func (r *Report) WriteJSON(w io.Writer) error { return results.Write(w, r) }

// WriteText writes tables with the leading figure of each row.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	return errors.Join(template.Must(template.ParseFS(files, "report.txt")).Execute(t, r), t.Flush())
}

// WriteMarkdown writes tables with all figures and the notes.
func (r *Report) WriteMarkdown(w io.Writer) error {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace
	return template.Must(template.New("report.md").Funcs(template.FuncMap{"cell": cell}).ParseFS(files, "report.md")).Execute(w, r)
}

// WriteHTML writes the report as one page, which is read offline, in light and dark, and without
// scripts.
func (r *Report) WriteHTML(w io.Writer) error {
	return htmltemplate.Must(htmltemplate.ParseFS(files, "page.html")).Execute(w, r)
}

// Head describes the report in a line.
func (r *Report) Head() string {
	m := r.Machine
	return fmt.Sprintf("%s, %s, %s, %d processors, %s, kernel %s, scale %v, rounds where a peer is there: %d.",
		r.Date.Format(time.DateOnly), r.Version, m.CPU, m.Cores, m.OS, m.Kernel, r.Scale, r.Rounds)
}

// section is a table of a document, with those of its rows that were measured.
type section struct {
	*documents.Table
	Results []*Result
}

// Sections returns the tables of which there are rows.
func (r *Report) Sections() (sections []section) {
	for _, t := range documents.Tables() {
		if rows := slices.DeleteFunc(slices.Clone(r.Rows), func(one *Result) bool { return one.row.Table != t }); len(rows) > 0 {
			sections = append(sections, section{t, rows})
		}
	}
	return sections
}

// By says how the rows of a section are compared.
func (s section) By() string {
	c := s.Column(s.Lead)
	return fmt.Sprintf("Quotients are of %s (%s): %s is better.", c.Name, c.Unit, map[bool]string{true: "more", false: "less"}[c.More])
}

// Missing says which peers of a section are not there, and how to get them.
func (s section) Missing() (all []string) {
	for _, one := range s.Results {
		all = append(all, one.Missing...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Printed is the figures of the document, and the interval of the true rate.
func (r *Result) Printed() string {
	var parts []string
	for _, c := range r.row.Table.Columns {
		printed := r.Document[c.ID]
		if printed == "" {
			continue
		}
		if strings.Trim(printed, "0123456789.") == "" && c.Unit != "" { // it has no unit of its own
			printed += strings.Replace(" "+c.Unit, " /", "/", 1)
		}
		parts = append(parts, c.Name+" "+printed)
	}
	if low, high := r.row.TrueRate(); high > 0 {
		parts = append(parts, "true rate "+figure.Number(low)+" to "+figure.Number(high)+"/s")
	}
	return strings.Join(parts, ", ")
}

// All is all figures of a side.
func (r *Result) All(s *Side) string {
	if s == nil {
		return "-"
	}
	var parts []string
	for _, c := range r.row.Table.Columns {
		if v, ok := s.Figures[c.ID]; ok {
			parts = append(parts, c.Name+" "+in(c.Unit, v))
		}
	}
	text := strings.Join(parts, ", ")
	if s.Name != ours {
		text = s.Name + ": " + text
	}
	if s.Server != "" && s.Server != s.Name {
		text += " (of " + s.Server + ")"
	}
	return text
}

// value is the figure that a row is compared by: of the document, the peer or ours.
func (r *Result) value(of, column string) (v float64, ok bool) {
	side := map[string]*Side{"peer": r.Peer, "ours": r.Ours}[of]
	switch {
	case of == "document":
		return r.row.Value(column)
	case side != nil:
		v, ok = side.Figures[column]
	}
	return v, ok
}

// One is the same as text.
func (r *Result) One(of string) string {
	v, ok := r.value(of, r.Lead)
	if !ok {
		return "-"
	}
	return in(r.row.Table.Column(r.Lead).Unit, v)
}

// ByPeer is ours over the peer's: the median of the rounds, and their span.
func (r *Result) ByPeer() string {
	switch o := r.OverPeer; {
	case o == nil:
		return "-"
	case o.Least == o.Most:
		return quotient(o.Median)
	default:
		return quotient(o.Median) + " (" + quotient(o.Least) + " to " + quotient(o.Most) + ")"
	}
}

// ByDocument is ours over the document's, with the column where it is not the table's.
func (r *Result) ByDocument() string {
	switch {
	case r.OverDocument == nil:
		return "-"
	case r.Lead != r.row.Table.Lead:
		return quotient(*r.OverDocument) + " of " + r.row.Table.Column(r.Lead).Name
	}
	return quotient(*r.OverDocument)
}

// Remark is the note on a row, and what became of its run.
func (r *Result) Remark() string {
	said := r.Note
	if r.Error != "" {
		said += " " + r.State + ": " + r.Error
	} else if r.Verdict != "green" {
		said += " " + r.Why
	}
	return strings.TrimSpace(said)
}

// Below returns the rows of which ours are below the document's figure.
func (r *Report) Below() (below []*Result) {
	for _, one := range r.Rows {
		if over := one.OverDocument; over != nil && *over != 1 && (*over < 1) == one.row.Table.Column(one.Lead).More {
			below = append(below, one)
		}
	}
	return below
}

// placeholder is a column's in the text of a table.
var placeholder = regexp.MustCompile(`\$(\w+)`)

// Reason says why ours may be below the document's figure: what the document's own program gives
// here, and what is known of the table.
func (r *Result) Reason() string {
	var said []string
	theirs, there := r.value("peer", r.Lead)
	printed, _ := r.value("document", r.Lead)
	if there && printed > 0 && slices.ContainsFunc(r.row.Peers, func(name string) bool { return strings.Contains(r.Peer.Name, name) }) {
		said = append(said, fmt.Sprintf("%s itself gives %s here, %s of the document's figure.", r.Peer.Name, r.One("peer"), quotient(theirs/printed)))
	}
	if below := r.row.Table.Below; below != "" {
		said = append(said, placeholder.ReplaceAllStringFunc(below, func(word string) string {
			v, ok := r.value("ours", word[1:])
			if !ok {
				return "-"
			}
			return in(r.row.Table.Column(word[1:]).Unit, v)
		}))
	}
	return strings.Join(said, " ")
}

// quotient writes a quotient with three digits.
func quotient(f float64) string {
	if f < 1 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	return figure.Number(f)
}

// in writes a value in a unit of a column for a person.
func in(unit string, v float64) string {
	switch unit {
	case "/s":
		return figure.Number(v) + "/s"
	case "ms":
		return figure.Time(time.Duration(v * float64(time.Millisecond)))
	case "%":
		return strconv.FormatFloat(v, 'f', 2, 64) + " %"
	case "B":
		return figure.Bytes(int64(v))
	}
	return strings.TrimSpace(figure.Number(v) + " " + unit)
}

// The places in a diagram, in units of its view.
const (
	plotLeft, plotRight = 70.0, 760.0
	plotTop, plotDepth  = 10.0, 280.0 // the depth is that of curves
	plotRow             = 22.0
	labelHeight         = 13.0
)

// axis is a logarithmic axis over whole tenfolds: exponents, and places.
type axis struct{ low, high, from, to float64 }

// newAxis spans the values above 0.
func newAxis(values []float64, from, to float64) *axis {
	a := &axis{math.MaxInt32, math.MinInt32, from, to}
	for _, v := range values {
		if v > 0 {
			a.low, a.high = min(a.low, math.Floor(math.Log10(v))), max(a.high, math.Ceil(math.Log10(v)))
		}
	}
	a.high = max(a.high, a.low+1)
	return a
}

// at is the place of a value, at the axis's end if it is beyond.
func (a *axis) at(v float64) float64 {
	return a.from + (min(max(math.Log10(v), a.low), a.high)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks are the tenfolds of an axis across the diagram.
func (a *axis) ticks(text func(v float64) string) (ticks []mark) {
	for e := a.low; e <= a.high; e++ {
		ticks = append(ticks, mark{X: a.at(math.Pow(10, e)), Text: text(math.Pow(10, e))})
	}
	return ticks
}

// mark is something in a diagram, with a text.
type mark struct {
	X, Y        float64 // of a tick of either axis, X alone
	Class, Text string
	Line        string  // the places of a line that ends here; "" = a mark
	Dash        int     // of a line
	Label       float64 // the Y of a line's text
	curve       [][2]float64
}

// plot is a diagram for the page.
type plot struct {
	Left, Right, Top, Bottom float64
	Across, Up, Rows, Marks  []mark
}

// sides are those of a row, as a diagram's classes.
var sides = []string{"document", "peer", "ours"}

// Plot places the leading figure of each row: the document's, the peer's and ours.
func (s section) Plot() *plot {
	p, unit := &plot{Left: plotLeft, Right: plotRight, Top: plotTop, Bottom: plotTop + plotRow*float64(len(s.Results))}, s.Column(s.Lead).Unit
	var all []float64
	for _, one := range s.Results {
		for _, of := range sides {
			v, _ := one.value(of, s.Lead)
			all = append(all, v)
		}
	}
	x := newAxis(all, plotLeft, plotRight)
	p.Across = x.ticks(func(v float64) string { return in(unit, v) })
	for i, v := range all {
		y := plotTop + plotRow*(float64(i/len(sides))+0.5)
		one, of := s.Results[i/len(sides)], sides[i%len(sides)]
		if of == sides[0] {
			p.Rows = append(p.Rows, mark{Y: y, Text: one.ID})
		}
		if v > 0 {
			p.Marks = append(p.Marks, mark{X: x.at(v), Y: y, Class: of, Text: one.ID + ", " + of + ": " + in(unit, v)})
		}
	}
	return p
}

// Curves places the response times by percentile, of all rates and tunnels, and the p99 of the
// document. A run of ours that answers several rows is drawn once. It is nil without any.
func (s section) Curves() *plot {
	p := &plot{Left: plotLeft, Right: plotRight, Top: plotTop, Bottom: plotDepth}
	drawn := map[string]*Side{}
	var all []float64
	for _, one := range s.Results {
		if v, ok := one.row.Value("p99c"); ok {
			all = append(all, v)
			p.Marks = append(p.Marks, mark{X: 100, Y: v, Class: sides[0], Text: one.ID + ": " + one.Document["p99c"]})
		}
		for i, side := range []*Side{one.Peer, one.Ours} {
			if side == nil || len(side.Curve) == 0 || drawn[side.Name+one.row.Arg] != nil {
				continue
			}
			drawn[side.Name+one.row.Arg] = side
			p.Marks = append(p.Marks, mark{Class: sides[i+1], Text: side.Name + " " + one.row.Arg + "/s", Dash: one.row.Index % 4, curve: side.Curve})
			for _, at := range side.Curve {
				all = append(all, at[1])
			}
		}
	}
	if len(drawn) == 0 {
		return nil
	}
	const tenfolds = 5 // up to p99.999
	x, y := &axis{0, tenfolds, plotLeft, plotRight}, newAxis(all, plotDepth, plotTop)
	p.Across, p.Up = x.ticks(func(v float64) string { return figure.Quantile(1 - 1/v) }), y.ticks(func(v float64) string { return in("ms", v) })
	for i := range p.Marks {
		m := &p.Marks[i]
		m.X, m.Y = x.at(m.X), y.at(m.Y)
		for _, at := range m.curve {
			m.X, m.Y = x.at(1/max(1-at[0], 1e-9)), y.at(max(at[1], 1e-9))
			m.Line += fmt.Sprintf("%.1f,%.1f ", m.X, m.Y)
		}
	}
	slices.SortFunc(p.Marks, func(a, b mark) int { return cmp.Compare(a.Y, b.Y) })
	label := 0.0
	for i := range p.Marks {
		if m := &p.Marks[i]; m.Line != "" { // whose names stand one below the other
			label = max(m.Y, label+labelHeight)
			m.Label = label
		}
	}
	return p
}
