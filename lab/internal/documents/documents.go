// Package documents holds the tables of the five benchmark documents that the lab makes again:
// those of gofast, GoBench, gnatsd in 2012, gofence and go-http-tunnel. Each of the 73 rows has its
// figures as they were printed, their flaws, and the run of this program that measures the same.
package documents

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Table is a table of a document.
type Table struct {
	ID      string   `json:"id"`    // "W", the beginning of its rows' ids
	Group   string   `json:"group"` // a word for a selection: wire, ab, nats, profile, fence, tunnel
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Lead    string   `json:"lead"` // the column that rows are compared by
	Note    string   `json:"note"` // about all rows
	// Below says why rows of ours may not reach the document's figure. A $ and the id of a column
	// stand for ours.
	Below string `json:"below"`
	Cap   int    `json:"cap"` // s; most of a run that is made shorter; 0 = none
	Rows  []*Row `json:"rows"`

	run // of the rows without their own
}

// run says how rows are measured. Empty fields of a row are those of its table.
type run struct {
	// Run lists command lines of `paddock bench`. $NAME and $ARG stand for the row's, and $URL,
	// $SEARCH, $DIR, $PARENTS and $BODIES for what a server and its files make.
	Run     []string `json:"run"`
	Server  string   `json:"server"`  // "nginx", "web", or "fence KIND"; "" = the run starts its own
	Seconds int      `json:"seconds"` // about how long it takes; 0 = its -d says it
	Peers   []string `json:"peers"`   // the programs that the document measured
}

// Column is a figure that rows of a table have.
type Column struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Unit string `json:"unit"` // "/s", "ms", "s", "us" (from s), "%", "ns/op", "MB/s" (10^6), "B", or "" for a count
	More bool   `json:"more"` // the more, the better
	Run  int    `json:"run"`  // index of the run that measures it
	Of   string `json:"of"`   // the one peer that has it; "" = all
	From string `json:"from"` // path of its value, or two with a slash between, in a run's JSON
	Peer string `json:"peer"` // path in the figures of a foreign client
}

// Row is a row of a table.
type Row struct {
	ID      string            `json:"id"` // "W1"
	Name    string            `json:"name"`
	Arg     string            `json:"arg"`
	Figures map[string]string `json:"figures"` // as printed, by column
	Note    string            `json:"note"`    // a flaw of the figures, or a slip

	// Of a rate that was computed as N div S: operations and whole seconds. Otherwise 0.
	N int64 `json:"n"`
	S int64 `json:"s"`

	Table *Table `json:"-"`
	Index int    `json:"-"` // in its table
	run
}

//go:embed tables.json
var text []byte

// Tables returns the tables, in the order of the documents.
var Tables = sync.OnceValue(func() (tables []*Table) {
	if err := json.Unmarshal(text, &tables); err != nil {
		panic(err) // about a file of this package: its tests fail
	}
	for _, t := range tables {
		for i, r := range t.Rows {
			r.Table, r.Index = t, i
			if r.Run == nil {
				r.Run = t.Run
			}
			if r.Peers == nil {
				r.Peers = t.Peers
			}
			r.Server, r.Seconds = cmp.Or(r.Server, t.Server), cmp.Or(r.Seconds, t.Seconds, int(r.S))
		}
	}
	return tables
})

// Rows returns all rows, in order.
func Rows() (rows []*Row) {
	for _, t := range Tables() {
		rows = append(rows, t.Rows...)
	}
	return rows
}

// Select returns the rows that words name, all without words. A word is a table's group or id, or
// the id of a row.
func Select(words []string) ([]*Row, error) {
	found := map[string]bool{}
	rows := slices.DeleteFunc(Rows(), func(r *Row) bool {
		chosen := len(words) == 0
		for _, w := range words {
			if w == r.Table.Group || strings.EqualFold(w, r.Table.ID) || strings.EqualFold(w, r.ID) {
				chosen, found[w] = true, true
			}
		}
		return !chosen
	})
	for _, w := range words {
		if !found[w] {
			return nil, fmt.Errorf("no table or row %q: there are wire, ab, nats, profile, fence and tunnel, and rows such as W1 and TP6", w)
		}
	}
	return rows, nil
}

// Named returns the row of a table by its name; nil if there is none.
func Named(table, name string) *Row {
	for _, r := range Rows() {
		if r.Table.ID == table && r.Name == name {
			return r
		}
	}
	return nil
}

// Column returns a column of the table. It must be there.
func (t *Table) Column(id string) *Column {
	return &t.Columns[slices.IndexFunc(t.Columns, func(c Column) bool { return c.ID == id })]
}

// Lead returns the column that the row is compared by: the table's, or the first one for which the
// document has a value.
func (r *Row) Lead() *Column {
	if _, ok := r.Value(r.Table.Lead); ok {
		return r.Table.Column(r.Table.Lead)
	}
	i := slices.IndexFunc(r.Table.Columns, func(c Column) bool { _, ok := r.Value(c.ID); return ok })
	return &r.Table.Columns[max(i, 0)]
}

// Value returns a figure of the document in the unit of its column; false if there is none.
func (r *Row) Value(column string) (float64, bool) {
	printed := r.Figures[column]
	if d, err := time.ParseDuration(printed); err == nil {
		return float64(d) / float64(time.Millisecond), true
	}
	digits := strings.TrimRight(printed, "%MGB")
	f, err := strconv.ParseFloat(digits, 64)
	return f * map[string]float64{"": 1, "%": 1, "MB": 1 << 20, "GB": 1 << 30}[printed[len(digits):]], err == nil
}

// Duration returns a time of the document; nil if there is none.
func (r *Row) Duration(column string) *time.Duration {
	ms, ok := r.Value(column)
	if !ok {
		return nil
	}
	d := time.Duration(math.Round(ms * float64(time.Millisecond)))
	return &d
}

// TrueRate returns the interval of the true rate behind one that was computed as N div S: above
// low, and at most high. Both are 0 where the rate was computed otherwise.
func (r *Row) TrueRate() (low, high float64) {
	if r.S == 0 {
		return 0, 0
	}
	return float64(r.N) / float64(r.S+1), float64(r.N) / float64(r.S)
}
