package platform_test

import (
	"testing"
	"time"

	"paddock/internal/platform"
)

// A clock that is a year ahead for a while removes nothing. What is old is removed once the clock
// was right for so long, or after a start.
func TestRetentionByAWrongClock(t *testing.T) {
	const year = 365 * 24 * 3600
	c := &calendar{}
	c.Store(time.Now().Unix())
	data := t.TempDir()
	begin := func() *running {
		return startWith(t, platform.Options{Config: keeping(data), Now: c.now})
	}
	r := begin()
	r.put("v1/sets/s", squareOf("a", 1))
	for _, lon := range []string{"1", "15", "1", "15"} {
		c.Add(1)
		r.take(1, "v1/positions", "application/json", []byte(`{"id":"v","lat":1,"lon":`+lon+`}`))
	}
	all := r.awaitEvents(4)
	past := r.text("v1/objects/v/track")
	if len(all) != 4 || past == "" {
		t.Fatalf("%q, %s", all, past)
	}
	c.Add(year)
	r.RemoveOld()
	if got := r.awaitEvents(1); len(got) != 4 {
		t.Errorf("events %q", got)
	}
	if got := r.text("v1/objects/v/track"); got != past {
		t.Errorf("the past is %s, was %s", got, past)
	}
	r.stop()
	r = begin() // a start takes over a clock that is ahead
	r.RemoveOld()
	if got := r.awaitEvents(1); len(got) != 1 {
		t.Errorf("old events %q", got)
	}
	r.stop()
}
