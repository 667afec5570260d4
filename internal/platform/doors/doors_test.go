package doors

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A door keeps the last rejections, the newest first, each within its bounds, and counts them all
// by class.
func TestLastRejections(t *testing.T) {
	var s Doors
	d := s.Open("http")
	for i := range 3*Kept + 1 {
		d.Reject(fmt.Sprint(i), "lat: 95 is out of range -90 to 90", []byte(strings.Repeat("ä", 1000)))
	}
	d.Reject(strings.Repeat("x", 300), "coords.latitude: not string\xff"+strings.Repeat("y", 1000), []byte{0x0a, 0x00, 0xff})
	d.Refuse(Full, "v1", "too many objects")
	d.Count(5, 2, 1)
	d.Ignore(3)
	st := s.All()[0]
	if len(st.Last) != Kept || st.Last[0].Object != "v1" || st.Last[2].Object != fmt.Sprint(3*Kept) || st.Last[Kept-1].Object != fmt.Sprint(2*Kept+3) {
		t.Errorf("%d kept, %+v", len(st.Last), st.Last)
	}
	if r := st.Last[1]; r.Field != "coords.latitude" || len(r.Reason) > maxReason || len(r.Object) != maxObject || r.Input != "hex:0a00ff" {
		t.Errorf("%+v", r)
	}
	if in := st.Last[2].Input; in != strings.Repeat("ä", maxInput/2) {
		t.Errorf("%q", in)
	}
	if st.Accepted != 5 || st.Late != 2 || st.Outliers != 1 || st.Ignored != 3 || st.Rejected != 3*Kept+3 || st.Reasons["place"] != 3*Kept+2 || st.Reasons["full"] != 1 {
		t.Errorf("%+v", st)
	}
}

func TestClasses(t *testing.T) {
	for reason, want := range map[string]string{
		"lat: missing": "place", "t: too late": "time", "speed: -1 is": "measure", "device.uniqueId: missing": "id", "id: missing": "id",
		"malformed JSON: no": "body", "not valid UTF-8": "body", "": "body", "color: red": "other", "encrypted: no": "encrypted", "valid: 0": "no_fix",
	} {
		if got := classify(fieldOf(reason)).String(); got != want {
			t.Errorf("%q: %s, want %s", reason, got, want)
		}
	}
}

// The methods are safe for concurrent use, and a nil door takes everything.
func TestConcurrentUse(t *testing.T) {
	var s *Doors
	s.Open("x").Reject("", "id: missing", nil)
	s.Open("x").Count(1, 1, 1)
	if len(s.All()) != 0 {
		t.Error("a door of nothing")
	}
	s = &Doors{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 500 {
				s.Open(fmt.Sprint("d", i%3)).Reject("o", "id: missing", []byte("in"))
				s.All()
			}
		})
	}
	all.Wait()
	n := uint64(0)
	for _, d := range s.All() {
		n += d.Rejected
	}
	if n != 8*500 {
		t.Errorf("%d", n)
	}
}
