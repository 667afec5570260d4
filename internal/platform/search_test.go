package platform_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/lookup"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/wire"
)

// question is a look-up for every door.
type question struct {
	set     string    // "": all
	at      uint64    // the generation; 0: any
	form    string    // one, many, compact, columns
	lonLat  []float64 // points
	refused int       // the status of HTTP; 0: none
	want    string    // the answer, or the reason
}

// json returns the body without its terms, which HTTP and the bus have outside of it.
func (q *question) json(terms string) []byte {
	if q.form == "one" {
		return fmt.Appendf(nil, `{%s"lon":%v,"lat":%v}`, terms, q.lonLat[0], q.lonLat[1])
	}
	points := [][2]float64{}
	for i := 0; i < len(q.lonLat); i += 2 {
		points = append(points, [2]float64{q.lonLat[i], q.lonLat[i+1]})
	}
	text, _ := json.Marshal(points)
	return fmt.Appendf(nil, `{%s"points":%s}`, terms, text)
}

func (q *question) columns() (b []byte) {
	for _, f := range q.lonLat {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// binary returns the compact form; on the bus the subject names the set.
func (q *question) binary(set string) []byte {
	b := []byte{lookup.CompactVersion, lookup.CompactMany}
	if q.form == "columns" {
		b[1] |= lookup.CompactColumns
	}
	if set != "" {
		b[1] |= lookup.CompactSet
		b = append(append(b, byte(len(set))), set...)
	}
	if q.at != 0 {
		b[1] |= lookup.CompactGeneration
		b = binary.LittleEndian.AppendUint64(b, q.at)
	}
	return append(b, q.columns()...)
}

// inBody returns the terms as members of a JSON object.
func (q *question) inBody(set string) (terms string) {
	if set != "" {
		terms += fmt.Sprintf(`"set":%q,`, set)
	}
	if q.at != 0 {
		terms += fmt.Sprintf(`"generation":%d,`, q.at)
	}
	return terms
}

func (q *question) isBinary() bool { return q.form == "compact" || q.form == "columns" }

// reply is the answer of a door, or its refusal with the status of HTTP.
type reply struct {
	refused int
	text    string
}

func (r *running) searchByHTTP(t *testing.T, q *question) reply {
	query := url.Values{}
	if q.set != "" {
		query.Set("set", q.set)
	}
	if q.at != 0 {
		query.Set("generation", strconv.FormatUint(q.at, 10))
	}
	media, body := "application/json", q.json("")
	if q.form == "columns" {
		media, body = "application/vnd.paddock.points", q.columns()
	}
	status, answer, err := r.call(http.MethodPost, "v1/search?"+query.Encode(), media, body)
	if err != nil {
		t.Fatal(err)
	}
	if status == http.StatusOK {
		return reply{text: string(answer)}
	}
	var problem struct{ Detail string }
	if err := json.Unmarshal(answer, &problem); err != nil {
		t.Fatal(err)
	}
	return reply{status, problem.Detail}
}

func searchByWire(t *testing.T, c *wire.Conn, q *question) reply {
	body := q.json(q.inBody(q.set))
	if q.isBinary() {
		body = q.binary(q.set)
	}
	answer, err := c.Call(t.Context(), wireapi.KindSearch, body)
	if err == nil {
		return reply{text: string(answer)}
	}
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Fatal(err)
	}
	return reply{map[wire.Code]int{wire.InvalidArgument: 400, wire.NotFound: 404, wire.FailedPrecondition: 410}[e.Code], e.Msg}
}

func searchByBus(t *testing.T, nc *nats.Conn, q *question) reply {
	body := q.json(q.inBody(""))
	if q.isBinary() {
		body = q.binary("")
	}
	set := q.set
	if set == "" {
		set = "_"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, "paddock.search."+set, body)
	if err != nil {
		t.Fatal(err)
	}
	code := m.Header.Get("Nats-Service-Error-Code")
	if code == "" {
		return reply{text: string(m.Data)}
	}
	status, _ := strconv.Atoi(code)
	var v struct{ Error string }
	if err := json.Unmarshal(m.Data, &v); err != nil || v.Error != m.Header.Get("Nats-Service-Error") {
		t.Errorf("%v: body %s, header %q", err, m.Data, m.Header)
	}
	return reply{status, v.Error}
}

// columnsOf returns an answer in columns: the generation, and the refs of each point.
func columnsOf(generation uint64, refs ...[]uint32) string {
	b := binary.LittleEndian.AppendUint64(nil, generation)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(refs)))
	end := uint32(0)
	b = binary.LittleEndian.AppendUint32(b, end)
	for _, r := range refs {
		end += uint32(len(r))
		b = binary.LittleEndian.AppendUint32(b, end)
	}
	for _, r := range refs {
		for _, ref := range r {
			b = binary.LittleEndian.AppendUint32(b, ref)
		}
	}
	return string(b)
}

// All doors give the same answer to the same look-up, byte for byte, and refuse it for the same
// reason.
func TestSearchByEveryDoor(t *testing.T) {
	r := start(t, config.Default(), square(t))
	conn, nc := r.wireConn(), r.dial(func() {})
	nan := math.NaN()
	const (
		in      = `{"fences":[{"set":"zone","id":"square","properties":null}]}`
		out     = `{"fences":[]}`
		unknown = `no set "none"; GET /v1/sets lists them`
		stale   = `set "zone" is at generation 1: 7 is not kept; ask again for this one, or for none`
		swapped = "points[1]: lat 91 is out of range -90 to 90: lon and lat swapped?"
	)
	for _, q := range []question{
		{form: "one", lonLat: []float64{0.5, 0.5}, want: in + "\n"},
		{form: "one", lonLat: []float64{1, 0.5}, want: out + "\n"},
		{form: "one", set: "zone", at: 1, lonLat: []float64{0, 0}, want: in + "\n"},
		{form: "many", lonLat: []float64{0.5, 0.5, 2, 2}, want: `{"results":[` + in + "," + out + "]}\n"},
		{form: "many", set: "zone", want: `{"results":[]}` + "\n"},
		{form: "compact", lonLat: []float64{0.5, 0.5, 2, 2}, want: `{"results":[` + in + "," + out + "]}\n"},
		{form: "columns", set: "zone", lonLat: []float64{0.5, 0.5, 2, 2, math.Copysign(0, -1), 0}, want: columnsOf(1, []uint32{0}, nil, []uint32{0})},
		{form: "columns", set: "zone", at: 1, want: columnsOf(1)},

		{form: "one", lonLat: []float64{0, 91}, refused: 400, want: "body: lat 91 is out of range -90 to 90: lon and lat swapped?"},
		{form: "one", set: "none", lonLat: []float64{0, 0}, refused: 404, want: unknown},
		{form: "one", set: "zone", at: 7, lonLat: []float64{0, 0}, refused: 410, want: stale},
		{form: "one", at: 7, lonLat: []float64{0, 0}, refused: 400, want: "set missing: a generation is that of one set"},
		{form: "many", lonLat: []float64{0, 0, 0, 91}, refused: 400, want: swapped},
		{form: "compact", lonLat: []float64{0, 0, 0, 91}, refused: 400, want: swapped},
		{form: "columns", set: "zone", lonLat: []float64{0, 0, 0, 91}, refused: 400, want: swapped},
		{form: "columns", set: "zone", lonLat: []float64{nan, 0}, refused: 400, want: "points[0]: lon NaN is out of range -180 to 180"},
		{form: "columns", set: "none", refused: 404, want: unknown},
		{form: "columns", set: "zone", at: 7, refused: 410, want: stale},
		{form: "columns", refused: 400, want: "set missing: an answer in columns is that of one set"},
	} {
		want := reply{q.refused, q.want}
		for door, got := range map[string]reply{
			"HTTP": r.searchByHTTP(t, &q), "wire": searchByWire(t, conn, &q), "bus": searchByBus(t, nc, &q),
		} {
			if got != want {
				t.Errorf("%s, %+v:\ngot  %d %q\nwant %d %q", door, q, got.refused, got.text, want.refused, want.text)
			}
		}
	}
}
