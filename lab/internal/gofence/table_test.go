package gofence_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/gofence"
)

func TestTable(t *testing.T) {
	shares := gofence.Shares{
		Buckets: []time.Duration{time.Second, 0, 0, 0, 0, 0}, Other: 3 * time.Second, Total: 4 * time.Second, Samples: 400,
	}
	report := &gofence.ProfileReport{Corpus: &gofence.CorpusName{Bodies: 3, SHA256: "ab"}}
	for _, b := range gofence.FenceBuckets() {
		report.Columns = append(report.Columns, b.Name)
	}
	report.Rows = []gofence.ProfileRow{
		gofence.NewProfileRow("s2_z16", shares, 1000, 2*time.Second, true),
		gofence.NewProfileRow("cellmap", shares, 0, 2*time.Second, true),
	}
	var b bytes.Buffer
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
3 bodies, SHA-256 ab
fence           fence look-up  JSON encode  JSON decode  HTTP read    HTTP finish  GC           other        total s  requests/s  samples/request
s2_z16          1.00 25.00%    0.00  0.00%  0.00  0.00%  0.00  0.00%  0.00  0.00%  0.00  0.00%  3.00 75.00%  4.00     500         0.4
  gofence 2016  0.89  2.99%    6.97 23.44%  5.16 17.36%  4.78 16.08%  5.98 20.11%  2.88  9.69%  3.07 10.33%  29.73
cellmap         1.00 25.00%    0.00  0.00%  0.00  0.00%  0.00  0.00%  0.00  0.00%  0.00  0.00%  3.00 75.00%  4.00
`, "\n")
	var got strings.Builder
	for line := range strings.Lines(b.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// Each row of the original adds up, as its publication says: Other is the remainder.
func TestTheOriginalsOther(t *testing.T) {
	published := map[string]float64{
		"brute": 0.94, "city": 2.20, "bbox": 2.64, "city_bbox": 3.22, "qtree_z14": 3.17, "rtree": 3.20, "s2_z16": 3.07,
	}
	seen := 0
	for _, v := range gofence.Variants() {
		row := gofence.NewProfileRow(v.Name, gofence.Shares{}, 0, 0, true)
		if row.Original == nil {
			continue
		}
		seen++
		if math.Abs(row.Original.Other-published[v.Name]) > 0.005 {
			t.Errorf("%s: other is %.3f, published %.2f", v.Name, row.Original.Other, published[v.Name])
		}
	}
	if seen != len(published) {
		t.Errorf("%d rows of the original, want %d", seen, len(published))
	}
	if row := gofence.NewProfileRow("brute", gofence.Shares{}, 0, 0, false); row.Original != nil {
		t.Error("its columns do not stand beside other ones")
	}
}
