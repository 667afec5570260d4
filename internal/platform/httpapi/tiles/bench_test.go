package tiles

import (
	"fmt"
	"testing"
)

// BenchmarkDraw draws 100,000 adjoining fences over half a degree: the tile that shows all of them,
// tiles in which they are just large enough to be drawn, and a close one.
func BenchmarkDraw(b *testing.B) {
	s := snapshot(b, tessellation(316, 13, 52, 0.5)...)
	boxes := NewBoxes(s)
	for _, z := range []int{0, 8, 9, 10, 11, 12, 14, 18} {
		b.Run(fmt.Sprintf("zoom=%d", z), func(b *testing.B) {
			tile := at(z, 13.25, 52.25)
			var raw []byte
			for b.Loop() {
				raw, _ = Draw(b.Context(), s, boxes, tile)
			}
			d := decode(b, raw)
			small, dropped := d.rest()
			b.ReportMetric(float64(len(raw)), "B/tile")
			b.ReportMetric(float64(len(compress(raw))), "gzip-B/tile")
			b.ReportMetric(float64(len(d["fences"])), "drawn")
			b.ReportMetric(float64(small+dropped), "rest")
		})
	}
}

func BenchmarkBoxes(b *testing.B) {
	s := snapshot(b, tessellation(316, 13, 52, 0.5)...)
	b.ReportAllocs()
	for b.Loop() {
		NewBoxes(s)
	}
}
