package gpx_test

import (
	"testing"

	"paddock/internal/imports/feature"
	"paddock/internal/imports/gpx"
)

// FuzzRead holds that no bytes make the reader panic, and that features have places.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`<gpx version="1.1"><trk><name>a</name><trkseg><trkpt lat="1" lon="2"><ele>3</ele></trkpt><trkpt lat="2" lon="2"/></trkseg><trkseg/></trk></gpx>`,
		`<gpx><rte><number>1</number><rtept lat="1" lon="x"/></rte><wpt lat="1" lon="2"><sym>s</sym></wpt><metadata/></gpx>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l feature.List
		_ = gpx.Read(&feature.Input{Name: "f", Data: data}, &l)
		for i := range l.Features {
			if l.Features[i].Place.Number < 1 {
				t.Errorf("%+v", l.Features[i])
			}
		}
	})
}
