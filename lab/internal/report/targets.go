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
			for i, v := range []struct{ q, ns float64 }{{0.5, float64(b.P50)}, {0.99, float64(b.P99)}, {1, float64(b.Max)}} {
				line.Cells[2+i] = figure.Time(time.Duration(v.ns))
				if v.q < 1 && !load.Enough(v.q, b.Count) {
					line.Cells[2+i] = "~" + line.Cells[2+i]
				}
			}
		}
		table = append(table, line)
	}
	return table
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
