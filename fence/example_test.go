package fence_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing/fstest"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

const zones = `{"type":"FeatureCollection","features":[
 {"type":"Feature","id":"depot","properties":{"name":"Depot"},
  "geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]}},
 {"type":"Feature","id":"yard","properties":{"name":"Yard"},
  "geometry":{"type":"Polygon","coordinates":[[[2,0],[4,0],[4,2],[2,2],[2,0]]]}}
]}`

func Example() {
	c, err := geojson.ReadGeoJSON(strings.NewReader(zones), "zones.geojson", geojson.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	set, err := fence.NewSet("zones", fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := set.Replace(c); err != nil {
		log.Fatal(err)
	}

	snap := set.Snapshot() // one state of the set, for as many questions as needed
	for _, ref := range snap.Append(nil, 2, 1) {
		fmt.Println(snap.Fence(ref).Key, string(snap.Fence(ref).Properties))
	}
	// Output: yard {"name":"Yard"}
}

func ExampleSet_Put() {
	set, err := fence.NewSet("zones", fence.Options{Kind: fence.KindBrute})
	if err != nil {
		log.Fatal(err)
	}
	depot := fence.Fence{Key: "depot", Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}}}}
	created, snap, err := set.Put(depot)
	fmt.Println(created, snap.Len(), err)

	depot.Geometry = geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 5, Lat: 0}, {Lon: 5, Lat: 5}}}}
	created, snap, err = set.Put(depot)
	fmt.Println(created, snap.Len(), err, snap.Append(nil, 4, 1))
	// Output:
	// true 1 <nil>
	// false 1 <nil> [0]
}

func ExampleSnapshot_AppendBatch() {
	set, err := fence.NewSet("zones", fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, snap, err := set.Put(fence.Fence{Key: "depot", Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}}}})
	if err != nil {
		log.Fatal(err)
	}
	var b fence.Batch // keep it for the next batch
	snap.AppendBatch(&b, []float64{1, 7, 1}, []float64{1, 7, 0})
	for i := range b.Len() {
		fmt.Println(b.Answer(i))
	}
	// Output:
	// [0]
	// []
	// [0]
}

func ExampleLoadDir() {
	dir := fstest.MapFS{
		"Service Zones.geojson": {Data: []byte(zones)},
		"hand-made.json":        {Data: []byte(`{"type":"Polygon","coordinates":[[[0,0],[4,4],[4,0],[0,4],[0,0]]]}`)},
	}
	catalog, report, err := fence.LoadDir(dir, fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(catalog.Names())
	fmt.Print(report)
	// Output:
	// [hand-made service-zones]
	// service-zones: 2 fences, 2 parts, 8 edges
	// hand-made: 1 fences, 1 parts, 4 edges, 1 findings
	//   hand-made.json: feature 0 "0": self-crossing: ring 0: two of its edges cross, at 2,2
}

func ExampleReadGeoJSON_syntaxError() {
	_, err := geojson.ReadGeoJSON(strings.NewReader("{\"type\":\n  oops}"), "zones.geojson", geojson.ReadOptions{})
	fmt.Println(err)
	// Output: zones.geojson:2:3: unexpected 'o', a JSON value is due (byte 11)
}

func ExampleSnapshot_WriteGeoJSON() {
	set, err := fence.NewSet("zones", fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := set.Add(fence.Fence{Key: "depot", Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}}}}); err != nil {
		log.Fatal(err)
	}
	if err := set.Snapshot().WriteGeoJSON(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"type":"FeatureCollection","features":[
	// {"type":"Feature","id":"depot","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[1,2],[0,0]]]}}
	// ]}
}

// The nearest fences have the distance to their boundary, which is positive within.
func ExampleSnapshot_AppendNear() {
	set, err := fence.NewSet("depots", fence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	yard := geometry.MultiPolygon{{{{Lon: 13.4, Lat: 52.5}, {Lon: 13.41, Lat: 52.5}, {Lon: 13.41, Lat: 52.51}, {Lon: 13.4, Lat: 52.51}}}}
	gate := geometry.MultiLine{{{Lon: 13.399, Lat: 52.504}, {Lon: 13.399, Lat: 52.506}}}
	for _, f := range []fence.Fence{{Key: "yard", Geometry: yard}, {Key: "gate", Lines: gate}} {
		if _, _, err := set.Put(f); err != nil {
			log.Fatal(err)
		}
	}
	snap := set.Snapshot()
	for _, n := range snap.AppendNear(nil, 13.4005, 52.505, 500, 10) {
		fmt.Printf("%s %.1f m\n", snap.Fence(n.Ref).Key, n.Distance)
	}
	// Output:
	// yard 34.0 m
	// gate -101.9 m
}
