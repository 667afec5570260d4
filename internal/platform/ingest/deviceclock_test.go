package ingest

import (
	"fmt"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
)

// TestClocksOfDevices tells the door of positions whose time is far from their arrival, by fleet,
// whether they are accepted or not.
func TestClocksOfDevices(t *testing.T) {
	var all doors.Doors
	d := decoder()
	d.Door = all.Open("http")
	d.Sees = func(fleet string) bool { return fleet != "foreign" }
	send := func(fleet, object string, by time.Duration) {
		t.Helper()
		if _, err := d.Decode(fmt.Appendf(nil, `{"id":%q,"fleet":%q,"lon":1,"lat":1,"t":%d}`, object, fleet, arrival+track.Millis(by.Milliseconds()))); err != nil {
			t.Fatal(err)
		}
	}
	send("a", "good", 0)
	send("a", "good", 9*time.Second)
	send("a", "good", -59*time.Minute)
	send("foreign", "x", time.Hour)
	if clocks := d.Door.Clocks(); len(clocks) != 0 {
		t.Errorf("%+v", clocks)
	}
	send("a", "fast", 11*time.Second)
	send("a", "faster", 100*24*time.Hour) // rejected
	send("b", "slow", -25*time.Hour)
	clocks := d.Door.Clocks()
	for i := range clocks {
		clocks[i].Last = time.Time{}
	}
	want := []doors.Clock{
		{Fleet: "a", Ahead: 2, Object: "faster", By: 100 * 24 * time.Hour}, {Fleet: "b", Behind: 1, Object: "slow", By: -25 * time.Hour},
	}
	if fmt.Sprint(clocks) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", clocks, want)
	}
	for i := range 100 {
		send(fmt.Sprint("fleet", i), "fast", time.Minute)
	}
	if clocks = d.Door.Clocks(); len(clocks) != 33 || clocks[32].Fleet != "*" || clocks[32].Ahead != 70 {
		t.Errorf("%d fleets, the last one %+v", len(clocks), clocks[len(clocks)-1])
	}
}
