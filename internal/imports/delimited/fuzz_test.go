package delimited_test

import (
	"encoding/json"
	"testing"

	"paddock/internal/imports/delimited"
	"paddock/internal/imports/feature"
)

// FuzzRead holds that no bytes make the reader panic, and that properties are JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"WKT,id,n\n\"POLYGON((0 0,1 0,1 1,0 0))\",a,007\nPOINT(1 2),b,1.50\n",
		"lat;lon;radius\n1;2;30\n1;x;\n", "geom\n0103000020E6100000010000000400000000\n", "a\tb\n\xdf\t\"LINESTRING(1 2,\n3 4)\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l feature.List
		_ = delimited.Read(&feature.Input{Name: "f", Data: data}, &l)
		for i := range l.Features {
			if p := l.Features[i].Properties.JSON(); p != nil && !json.Valid(p) {
				t.Errorf("%s", p)
			}
		}
	})
}
