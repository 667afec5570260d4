package format

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message builds protobuf messages.
type message []byte

func (m message) text(n protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), s)
}

func (m message) number(n protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
}

func (m message) float(n protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, n, protowire.Fixed32Type), math.Float32bits(v))
}

func (m message) in(n protowire.Number, inner message) message { return m.text(n, string(inner)) }

var feedHeader = message{}.text(1, "2.0").number(2, 0).number(3, 1527621931)

func place(lat, lon float32) message { return message{}.float(1, lat).float(2, lon) }

// The feed is the example of the minimum specification of vehicle positions, with others beside it.
func TestGTFS(t *testing.T) {
	bus := message{}.
		in(1, message{}.text(1, "270856").text(2, "09:42:00").text(3, "20170313").number(4, 0).text(5, "r7")).
		in(2, place(-32.92627, 151.78036).float(3, 91).float(5, 9.8)).
		number(5, 1527621930).
		in(8, message{}.text(1, "bus-234").text(2, "234"))
	feed := message{}.in(1, feedHeader).
		in(2, message{}.text(1, "e1").in(4, bus)).
		in(2, message{}.text(1, "e2").in(4, message{}.in(2, place(1, 2)))).
		in(2, message{}.text(1, "e3").in(4, message{}.in(2, place(3, 4)).number(5, 0).in(8, message{}.text(2, "tram 3")))).
		in(2, message{}.text(1, "e4").in(4, message{}.number(5, 1))).
		in(2, message{}.text(1, "e5").number(2, 1).in(4, message{}.in(2, place(1, 2)))).
		in(2, message{}.text(1, "e6").in(3, message{}.text(1, "a trip"))).
		in(2, message{}.text(1, "e7").in(4, message{}.in(2, message{}.float(1, 5)))).
		text(1000, "an extension")
	r, err := GTFS(feed)
	if err != nil || len(r.Positions) != 3 || r.Ignored != 3 || len(r.Rejected) != 1 || r.Rejected[0] != (Rejection{"e7", "lon: missing"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	expected{"bus-234", "2018-05-29T19:25:30Z", float64(float32(-32.92627)), float64(float32(151.78036)), unknown, 9.8, 91, unknown, `{"route_id":"r7","trip_id":"270856"}`}.check(t, r.Positions[0])
	expected{"e2", "2018-05-29T19:25:31Z", 1, 2, unknown, unknown, unknown, unknown, ""}.check(t, r.Positions[1])
	expected{"tram 3", "2018-05-29T19:25:31Z", 3, 4, unknown, unknown, unknown, unknown, ""}.check(t, r.Positions[2])

	for _, bad := range []string{"<html>no</html>", string(feed[:len(feed)-3]), `{"header":{}}`} {
		if r, err := GTFS([]byte(bad)); err == nil || len(r.Positions) > 0 {
			t.Errorf("%q: %+v, %v", bad, r, err)
		}
	}
	many := message{}.in(1, feedHeader)
	many = append(many, strings.Repeat(string(message{}.in(2, message{})), MaxEntities+1)...)
	if _, err := GTFS(many); err == nil || err.Error() != "body: more than 200000 entities" {
		t.Error(err)
	}
}

func FuzzGTFS(f *testing.F) {
	f.Add([]byte(message{}.in(1, feedHeader).in(2, message{}.text(1, "e").in(4, message{}.in(2, place(1, 2)).in(8, message{}.text(1, "v"))))))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := GTFS(body)
		for i := range r.Positions {
			if r.Positions[i].ID == "" {
				r.Positions[i].ID = "-" // package ingest rejects it
			}
		}
		sound(t, r, err)
	})
}
