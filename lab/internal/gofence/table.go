package gofence

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ProfileReport is gofence's table: which share of the processor's time goes where,
// a row for each kind of index.
type ProfileReport struct {
	Date    time.Time    `json:"date"`
	Columns []string     `json:"columns"` // names of the buckets
	Corpus  *CorpusName  `json:"corpus,omitempty"`
	Rows    []ProfileRow `json:"rows"`
}

// CorpusName identifies a corpus.
type CorpusName struct {
	Bodies int    `json:"bodies"`
	SHA256 string `json:"sha256"`
}

// ProfileRow is one profile. Times are processor time in seconds, that of all cores.
type ProfileRow struct {
	Name    string    `json:"name"`
	Buckets []float64 `json:"bucket_seconds"` // in the order of the columns
	Other   float64   `json:"other_seconds"`
	Total   float64   `json:"total_seconds"`

	// Of a row of ours; zero in one of the original.
	Samples  int64   `json:"samples,omitempty"`
	Requests int64   `json:"requests,omitempty"` // within the profile; 0 where the load was not ours
	Seconds  float64 `json:"seconds,omitempty"`  // how long the profile took

	Original *ProfileRow `json:"original,omitempty"` // what gofence measured; nil where the columns are others, or it had no such kind
}

// NewProfileRow makes a row of shares, with the original's row of that name beside it
// if compared.
func NewProfileRow(name string, s Shares, requests int64, took time.Duration, compared bool) ProfileRow {
	row := ProfileRow{
		Name: name, Other: s.Other.Seconds(), Total: s.Total.Seconds(),
		Samples: s.Samples, Requests: requests, Seconds: took.Seconds(),
	}
	for _, d := range s.Buckets {
		row.Buckets = append(row.Buckets, d.Seconds())
	}
	if o, ok := originalFor(name); ok && compared {
		row.Original = &o
	}
	return row
}

// WriteText writes the table. Each cell is seconds and the share of the row's total.
func (r *ProfileReport) WriteText(w io.Writer) error {
	if r.Corpus != nil {
		fmt.Fprintf(w, "%d bodies, SHA-256 %s\n", r.Corpus.Bodies, r.Corpus.SHA256)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	titles := slices.Concat([]string{"fence"}, r.Columns, []string{"other", "total s", "requests/s", "samples/request"})
	fmt.Fprintln(table, strings.Join(titles, "\t")+"\t")
	for _, row := range r.Rows {
		fmt.Fprintln(table, row.cells(row.Name))
		if row.Original != nil {
			fmt.Fprintln(table, row.Original.cells("  "+row.Original.Name))
		}
	}
	return table.Flush()
}

func (p ProfileRow) cells(name string) string {
	cells := []string{name}
	for _, s := range append(slices.Clone(p.Buckets), p.Other) {
		share := 0.0
		if p.Total > 0 {
			share = 100 * s / p.Total
		}
		cells = append(cells, fmt.Sprintf("%.2f %5.2f%%", s, share))
	}
	cells = append(cells, fmt.Sprintf("%.2f", p.Total))
	if p.Requests > 0 && p.Seconds > 0 {
		cells = append(cells, fmt.Sprintf("%.0f", float64(p.Requests)/p.Seconds), fmt.Sprintf("%.2g", float64(p.Samples)/float64(p.Requests)))
	}
	return strings.Join(cells, "\t") + "\t"
}
