package gofence

import "paddock/lab/internal/documents"

// originalFor returns the row of that name in gofence's published table of 2016: seconds of a
// profile of 30 seconds under wrk -t1 -c50, on a machine with one core. It is false if the original
// had none.
func originalFor(name string) (ProfileRow, bool) {
	o := documents.Named("P", name)
	if o == nil {
		return ProfileRow{}, false
	}
	seconds := func(column string) float64 {
		s, _ := o.Value(column)
		return s
	}
	row := ProfileRow{Name: "gofence 2016", Total: seconds("total")}
	row.Other = row.Total
	for _, column := range []string{"get", "marshal", "unmarshal", "read", "finish", "gc"} {
		row.Buckets = append(row.Buckets, seconds(column))
		row.Other -= seconds(column)
	}
	return row, true
}

// OriginalRate is how many requests a second the kind of that name answered in 2016, under wrk
// -t1 -c50 for five minutes; 0 if nothing was published.
func OriginalRate(name string) float64 {
	for _, row := range documents.Rows() {
		if row.Table.ID == "K" && row.Figures["non2xx"] != "" && row.Server == "fence "+name {
			rate, _ := row.Value("rate")
			return rate
		}
	}
	return 0
}

// Variant is an index kind with its zoom, as a row of the table names it.
type Variant struct {
	Name string
	Kind string
	Zoom int // 0: the service's default
}

// Variants are the rows of the original's table, in its order, and behind them the
// kinds that it did not have.
func Variants() []Variant {
	return []Variant{
		{"brute", "brute", 0},
		{"city", "city", 0},
		{"bbox", "bbox", 0},
		{"city_bbox", "city-bbox", 0},
		{"qtree_z14", "qtree", 14},
		{"rtree", "rtree", 0},
		{"s2_z16", "s2", 16},
		{"qrtree_z14", "qrtree", 14},
		{"cellmap", "cellmap", 0},
	}
}
