package gofence

// original is a row of gofence's published table of 2016: seconds of a profile of 30
// seconds under wrk -t1 -c50, on a machine with one core.
type original struct {
	name                                             string
	get, marshal, unmarshal, read, finish, gc, total float64
}

var originals = []original{
	{"brute", 22.02, 1.67, 1.54, 1.06, 1.60, 1.11, 29.94},
	{"city", 11.15, 3.84, 3.31, 2.77, 3.63, 2.84, 29.74},
	{"bbox", 9.04, 3.87, 4.29, 3.12, 4.08, 2.93, 29.97},
	{"city_bbox", 3.70, 4.93, 4.43, 3.50, 5.02, 3.92, 28.72},
	{"qtree_z14", 1.98, 5.95, 4.97, 3.78, 5.29, 4.60, 29.74},
	{"rtree", 1.70, 5.85, 5.25, 3.60, 5.75, 4.57, 29.92},
	{"s2_z16", 0.89, 6.97, 5.16, 4.78, 5.98, 2.88, 29.73},
}

// originalFor is the row of the kind of that name; false if the original had none.
func originalFor(name string) (ProfileRow, bool) {
	for _, o := range originals {
		if o.name == name {
			buckets := []float64{o.get, o.marshal, o.unmarshal, o.read, o.finish, o.gc}
			other := o.total
			for _, s := range buckets {
				other -= s
			}
			return ProfileRow{Name: "gofence 2016", Buckets: buckets, Other: other, Total: o.total}, true
		}
	}
	return ProfileRow{}, false
}

// originalRates are the requests per second of gofence's other table, under wrk -t1 -c50
// for five minutes.
var originalRates = map[string]float64{"brute": 1390.04, "city": 3262.88, "rtree": 4925.22, "s2_z16": 5429.64}

// OriginalRate is how many requests a second the kind of that name answered in 2016; 0 if
// nothing was published.
func OriginalRate(name string) float64 { return originalRates[name] }

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
