package platform_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
)

// While the machine's clock is set back, objects without times of their own go on, at each door. A
// time of an object's own may not be ahead of the clock.
func TestAClockSetBack(t *testing.T) {
	var step atomic.Int64 // of the clock
	r := startWith(t, platform.Options{Config: config.Default(), Now: func() time.Time { return time.Now().Add(time.Duration(step.Load())) }})
	const place = `"lon":1,"lat":1`
	bus := r.byBus(r.dial(func() {}), "bus")
	wire := r.wireConn()
	doors := map[string]func() (accounts, error){
		"http": func() (accounts, error) { return r.byHTTP(`{"id":"http",` + place + `}`) },
		"bus":  func() (accounts, error) { return bus(`{` + place + `}`) },
		"osmand": func() (a accounts, err error) {
			before := r.seen("osmand")
			status, _, err := r.call(http.MethodGet, "in/osmand?id=osmand&lat=1&lon=1", "", nil)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			if r.seen("osmand") != before {
				a.Accepted = 1
			}
			return a, err
		},
		"wire": func() (a accounts, err error) {
			before := r.seen("wire")
			body := "\xa3\x62id\x64wire\x63lon\x01\x63lat\x01" // CBOR
			number, err := wire.PostAck(t.Context(), wireapi.KindUpdate, []byte(body))
			if err == nil {
				err = wire.WaitAcked(t.Context(), number)
			}
			if r.seen("wire") != before {
				a.Accepted = 1
			}
			return a, err
		},
	}
	for range 2 {
		for name, send := range doors {
			for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) { // two of a millisecond have one time
				a, err := send()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if a.Accepted == 1 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: a clock that was set by %v makes the object stand still: %+v", name, time.Duration(step.Load()), a)
				}
			}
		}
		step.Store(int64(-2 * time.Hour))
	}
	a, err := r.byHTTP(fmt.Sprintf(`{"id":"timed",%s,"t":%d}`+"\n"+`{"id":"timed",%s,"t":%d}`, place, time.Now().UnixMilli(), place, time.Now().Add(-2*time.Hour).UnixMilli()))
	if err != nil || a.Accepted != 1 || len(a.Rejected) != 1 || a.Rejected[0].Index != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// seen returns the time of an object's last position, "" if there is none.
func (r *running) seen(id string) string {
	r.t.Helper()
	status, answer, err := r.call(http.MethodGet, "v1/objects/"+id, "", nil)
	if err != nil || status != http.StatusOK {
		return ""
	}
	var o struct{ T string }
	if err := json.Unmarshal(answer, &o); err != nil {
		r.t.Fatal(err)
	}
	return o.T
}
