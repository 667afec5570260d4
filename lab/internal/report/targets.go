package report

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
)

// targetColumns are the columns of the table of targets, behind their names.
var targetColumns = []string{"answers", "errors", "p50", "p99", "max"}

// targets are the rows of the table of targets, in their order. A percentile for which there are
// too few requests is marked.
func (r *Run) targets() (table []row) {
	for _, t := range r.Document.Targets {
		line := row{figure.Text(t.Name), []string{figure.Count(t.Done), figure.Count(t.Errors), "", "", ""}}
		if b := t.Response; b != nil {
			line.Cells[2], line.Cells[3], line.Cells[4] = enough(0.5, b.P50, b.Count), enough(0.99, b.P99, b.Count), enough(0, b.Max, b.Count)
		}
		table = append(table, line)
	}
	return table
}

// enough is a quantile in ns, with a mark if too few times were counted.
func enough(q float64, ns int64, of uint64) string {
	text := figure.Time(time.Duration(ns))
	if !load.Enough(q, of) {
		text = "~" + text
	}
	return text
}

func (r *Run) writeTargets(b *bytes.Buffer) {
	table := r.targets()
	if len(table) == 0 {
		return
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, strings.Join(targetColumns, "\t"), "\t   target\n")
	for _, t := range table {
		fmt.Fprint(w, strings.Join(t.Cells, "\t"), "\t   ", t.Name, "\n")
	}
	_ = w.Flush() // to memory
}
