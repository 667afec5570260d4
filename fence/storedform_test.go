package fence

import (
	"encoding/hex"
	"testing"

	"paddock/fence/geometry"
)

// Pages without lines are as they always were, and stored ones are read.
func TestStoredPagesOfAreas(t *testing.T) {
	const stored = "010001610237087b226e223a317d010103000000000000f03f000000000000004000000000000008400000000000000040000000000000f03f000000000000104000"
	s, err := NewSet("x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	area := geometry.MultiPolygon{{{{Lon: 1, Lat: 2}, {Lon: 3, Lat: 2}, {Lon: 1, Lat: 4}}}}
	if _, _, err := s.Put(Fence{Key: "a", ID: []byte(`7`), Properties: []byte(`{"n":1}`), Geometry: area}); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot()
	if got := hex.EncodeToString(snap.Pages()[0].Append(nil)); got != stored {
		t.Errorf("a page is stored as %s", got)
	}
	page, err := hex.DecodeString(stored)
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewSet("x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Restore(snap.AppendHead(nil), map[int][]byte{0: page}); err != nil {
		t.Fatal(err)
	}
	sameSets(t, s, again)
	if _, snap, err = s.Put(Fence{Key: "b", Lines: geometry.MultiLine{{{Lon: 1, Lat: 2}, {Lon: 3, Lat: 2}}}}); err != nil {
		t.Fatal(err)
	}
	if b := snap.Pages()[0].Append(nil); b[0] != storedLines {
		t.Errorf("a page with a line has version %d", b[0])
	}
}
