package wkt_test

import (
	"fmt"
	"strings"
	"testing"

	"paddock/internal/imports/wkt"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"POINT (1 2)":                                        "[] [] [{1 2}] 0",
		"point(1 2)":                                         "[] [] [{1 2}] 0",
		"POINT Z (1 2 3)":                                    "[] [] [{1 2}] 0",
		"POINTZM(1 2 3 4)":                                   "[] [] [{1 2}] 0",
		"SRID=4326;POINT(-1.5e1 +2)":                         "[] [] [{-15 2}] 0",
		"POLYGON EMPTY":                                      "[] [] [] 0",
		"MULTIPOINT (1 2, 3 4)":                              "[] [] [{1 2} {3 4}] 0",
		"MULTIPOINT ((1 2), EMPTY, (3 4))":                   "[] [] [{1 2} {3 4}] 0",
		"LINESTRING M (1 2 9, 3 4 9)":                        "[] [[{1 2} {3 4}]] [] 0",
		"MULTILINESTRING ((1 2,3 4),(5 6,7 8))":              "[] [[{1 2} {3 4}] [{5 6} {7 8}]] [] 0",
		"POLYGON ((0 0,1 0,1 1,0 0),(2 2,3 3))":              "[[[{0 0} {1 0} {1 1}] [{2 2} {3 3}]]] [] [] 0",
		"MULTIPOLYGON(((0 0,1 0)),\n((1 1,2 2)))":            "[[[{0 0} {1 0}]] [[{1 1} {2 2}]]] [] [] 0",
		"GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4))": "[] [[{1 2} {3 4}]] [{1 2}] 0",
		"CIRCLE (1 2, 30.5)":                                 "[] [] [{1 2}] 30.5",
	} {
		g, err := wkt.Parse(text, wkt.LonLat)
		if got := fmt.Sprint(g.Areas, g.Lines, g.Points, g.Radius); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
		if !wkt.Is(text) {
			t.Errorf("%s is none", text)
		}
	}
	for _, text := range []string{"", "Point", "Circle K", "POINT Z", "point z empty-handed", "CURVEPOLYGON((1 2))", "SRID=x;POINT(1 2)"} {
		if wkt.Is(text) {
			t.Errorf("%s is one", text)
		}
	}
	if g, err := wkt.Parse("CIRCLE (52 13, 5)", wkt.LatLon); err != nil || g.Points[0].Lon != 13 {
		t.Error(g, err)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `WKT byte 0: "" is no type`,
		"CURVEPOLYGON((1 2))":  "is no type of geometry",
		"POINT":                `WKT byte 5: '(' is expected`,
		"POINT(1)":             `WKT byte 7: "" is not a number`,
		"POINT(1 x)":           `WKT byte 8: "x" is not a number`,
		"POINT(1 2, 3 4)":      "a POINT of 2 points",
		"POINT(1 2":            `WKT byte 9: ')' is expected`,
		"POINT(1 2) x":         "there is more behind",
		"POINT(1 2 3 4 5)":     `')' is expected`,
		"POINT(NaN 1)":         "is not a number",
		"SRID=3857;POINT(1 2)": `"EPSG:3857"`,
		"SRID=x;POINT(1 2)":    "the SRID is",
		strings.Repeat("GEOMETRYCOLLECTION(", 30): "more than 16 deep",
	} {
		if _, err := wkt.Parse(text, wkt.LonLat); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse holds that no text makes the parser panic, and that each error tells a byte or a
// system.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SRID=4326;POLYGON Z ((0 0 1,1 0 1,1 1 1,0 0 1),(2 2 1,3 3 1))", "GEOMETRYCOLLECTION(POINT EMPTY,MULTIPOINT((1 2),3 4))",
		"MULTIPOLYGON(((0 0,1 0)),EMPTY)", "CIRCLE (1 2, 3)", "MULTILINESTRING((1 2,3 4))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = wkt.Is(text)
		if _, err := wkt.Parse(text, wkt.LonLat); err != nil && !strings.Contains(err.Error(), "byte") && !strings.Contains(err.Error(), "system") {
			t.Error(err)
		}
	})
}
