package ingest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/views"
)

// A position that waits for older ones is accepted, and counted as an outlier too if it is one at
// the end of its wait.
func TestOutliersThatHaveWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalog := &fence.Catalog{}
		addSet(t, catalog, "zone", unitSquare("a", 0))
		book := rulebook.New(track.Policy{Late: track.LateReorder, Reorder: 10 * time.Second, MaxSpeed: 100})
		p := New(Config{Fences: views.New(catalog, book), Publisher: &published{}})
		defer p.Close(context.Background())
		for _, lon := range []float64{0.5, 90, 0.5} {
			at := track.MillisOf(time.Now())
			submit(t, p, &Batch{Positions: []track.Position{{Fleet: "f", ID: "v", Lon: lon, Lat: 0.5, Time: at, Arrived: at}}})
			time.Sleep(time.Second)
		}
		counted := func() (accepted, outliers uint64) {
			return p.Metrics.results[resultAccepted].Load(), p.Metrics.results[resultOutlier].Load()
		}
		if accepted, outliers := counted(); accepted != 3 || outliers != 0 {
			t.Errorf("while they wait: %d accepted, %d outliers", accepted, outliers)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if accepted, outliers := counted(); accepted != 3 || outliers != 1 {
			t.Errorf("after their wait: %d accepted, %d outliers", accepted, outliers)
		}
	})
}

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

// A position without a time has that of its arrival. What devices say is compared with the wall
// clock, which may be behind it.
func TestArrivalAheadOfThePresent(t *testing.T) {
	var all doors.Doors
	d := decoder()
	d.Door, d.Present = all.Open("http"), arrival-7_200_000
	b, err := d.Decode(fmt.Appendf(nil, `{"id":"without","lon":1,"lat":1}
		{"id":"right","lon":1,"lat":1,"t":%d}
		{"id":"ahead","lon":1,"lat":1,"t":%d}`, d.Present+60_000, d.Present+60_001))
	if err != nil || len(b.Positions) != 2 || b.Positions[0].Time != arrival || len(b.Rejected) != 1 || b.Rejected[0].Index != 2 {
		t.Errorf("%+v, %v", b, err)
	}
	if clocks := d.Door.Clocks(); len(clocks) != 1 || clocks[0].Ahead != 2 || clocks[0].Behind != 0 {
		t.Errorf("%+v", clocks)
	}
}
