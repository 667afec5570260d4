package kml_test

import (
	"testing"

	"paddock/internal/imports/feature"
	"paddock/internal/imports/kml"
)

// FuzzRead holds that no bytes make the reader panic, and that features have places.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`<kml><Document><Schema id="s"><SimpleField name="n" type="int"/></Schema><Placemark id="a"><ExtendedData><SchemaData schemaUrl="#s"><SimpleData name="n">1</SimpleData></SchemaData><Data name="radius"><value>5</value></Data></ExtendedData><Point><coordinates>1,2,3</coordinates></Point></Placemark></Document></kml>`,
		`<kml><Placemark><MultiGeometry><Polygon><outerBoundaryIs><LinearRing><coordinates>0,0 1,0 1,1 0,0</coordinates></LinearRing></outerBoundaryIs></Polygon><gx:Track><gx:coord>1 2 3</gx:coord></gx:Track></MultiGeometry></Placemark></kml>`,
		"<?xml version=\"1.0\" encoding=\"latin1\"?><kml><Folder><Placemark><name>\xe4</name><LineString><coordinates>0,0 x,1</coordinates></LineString></Placemark></Folder><NetworkLink/></kml>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l feature.List
		_ = kml.Read(&feature.Input{Name: "f", Data: data}, &l)
		for i := range l.Features {
			if l.Features[i].Place.Number < 1 {
				t.Errorf("%+v", l.Features[i])
			}
		}
	})
}
