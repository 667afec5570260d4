//go:build !race

package ingest

import "testing"

// The search for unknown members does not allocate, unless it finds a new name.
func TestMembersDoNotAllocate(t *testing.T) {
	known := []byte(`{"id":"v42","fleet":"b","lon":-73.9586,"lat":40.7811,"t":1773314205000,"accuracy":5,"speed":8.25,"heading":270,"props":{"a":[1]}}`)
	feature := []byte(`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"x":1}}`)
	unknown := []byte(`{"id":"v42","lon":1,"lat":2,"timestamp":3,"battery":4}`)
	var g Ignored
	if n := testing.AllocsPerRun(1000, func() {
		g.look(known, positionMembers)
		g.look(feature, featureMembers)
	}); n != 0 || g.Count != 0 {
		t.Errorf("%v allocations, %+v", n, g)
	}
	g.look(unknown, positionMembers)
	if n := testing.AllocsPerRun(1000, func() { g.look(unknown, positionMembers) }); n != 0 || len(g.Names) != 2 {
		t.Errorf("%v allocations, %+v", n, g)
	}
}
