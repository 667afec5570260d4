package httpapi

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
)

const (
	defaultFixes = 10_000
	maxFixes     = 100_000
	maxTolerance = 100_000 // metres

	// maxWayProps ends a page early, in bytes.
	maxWayProps = 16 << 20
	// fixBytes is the size of a position in memory, twice as slices of them grow or are simplified.
	fixBytes = 2 * 72
)

// way is a page of the track of an object.
type way struct {
	object history.Object
	limit  int  // of fixes
	whole  bool // with Props
	fixes  []history.Fix
	props  int    // bytes of Props
	next   string // the after of the next page
}

// add adds fixes, and reports whether there is room for more.
func (t *way) add(fixes []history.Fix) bool {
	for _, f := range fixes {
		if len(t.fixes) == t.limit || t.props > maxWayProps {
			t.next = strconv.FormatInt(int64(t.fixes[len(t.fixes)-1].Time), 10)
			return false
		}
		if !t.whole {
			f.Props = ""
		}
		t.fixes = append(t.fixes, f)
		t.props += len(f.Props)
	}
	return true
}

// wayFormats are the forms of a track, by the parameter format.
var wayFormats = map[string]struct {
	mediaType string
	props     bool
	write     func(w *bufio.Writer, t *way)
}{
	"geojson": {"application/geo+json", false, writeFeature},
	"ndjson":  {"application/x-ndjson", true, writeLines},
	"gpx":     {"application/gpx+xml", false, writeGPX},
	"csv":     {"text/csv", true, writeColumns},
}

// getTrack answers the past positions of an object.
func (a *API) getTrack(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "fleet", "from", "to", "format", "tolerance", "limit", "after")
	if err != nil {
		return err
	}
	from, to, err := period(q)
	if err != nil {
		return err
	}
	format, ok := wayFormats[cmp.Or(q.Get("format"), "geojson")]
	if !ok {
		return fail(http.StatusBadRequest, "query: format %.64q: use geojson, ndjson, gpx or csv", q.Get("format"))
	}
	tolerance, limit, err := wayBounds(q)
	if err != nil {
		return err
	}
	if s := q.Get("after"); s != "" {
		last, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fail(http.StatusBadRequest, "query: after is not the next of an earlier answer")
		}
		from = max(from, track.Millis(last)+1)
	}
	fleet, err := fleetOf(r, q.Get("fleet"), events.DefaultFleet)
	if err != nil {
		return err
	}
	h, err := a.past(r)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	t := &way{object: history.Object{Fleet: fleet, ID: r.PathValue("id")}, limit: limit, whole: format.props}
	var crowded error
	err = h.Track(r.Context(), t.object, from, to, func(fixes []history.Fix) bool {
		room := t.add(fixes)
		crowded = hold(l, int64(len(t.fixes)*fixBytes+t.props))
		return room && crowded == nil
	})
	if err = errors.Join(err, crowded); err != nil {
		return err
	}
	if t.next != "" {
		w.Header().Set(nextHeader, t.next)
	}
	t.fixes = simplified(t.fixes, tolerance)
	begin(w, format.mediaType)
	out := bufio.NewWriterSize(w, 64<<10)
	format.write(out, t)
	_ = out.Flush() // the client may be gone
	return nil
}

func wayBounds(q url.Values) (tolerance float64, limit int, err error) {
	limit = defaultFixes
	if s := q.Get("limit"); s != "" {
		if limit, err = count("limit", s, maxFixes); err != nil {
			return 0, 0, err
		}
	}
	if s := q.Get("tolerance"); s != "" {
		tolerance, err = strconv.ParseFloat(s, 64)
		if err != nil || !(tolerance >= 0 && tolerance <= maxTolerance) {
			return 0, 0, fail(http.StatusBadRequest, "query: tolerance %.64q is not a number of metres from 0 to %d", s, maxTolerance)
		}
	}
	return tolerance, limit, nil
}

// writeFeature writes a GeoJSON Feature. A line has two positions at least, so that one is a Point,
// and none is null.
func writeFeature(w *bufio.Writer, t *way) {
	id, _ := events.PlainJSON(t.object.ID) // texts always encode
	fleet, _ := events.PlainJSON(t.object.Fleet)
	before, behind := `{"type":"LineString","coordinates":[`, "]}"
	switch len(t.fixes) {
	case 0:
		before, behind = "null", ""
	case 1:
		before, behind = `{"type":"Point","coordinates":`, "}"
	}
	var b []byte
	list := func(value func(f *history.Fix)) {
		for i := range t.fixes {
			if b = b[:0]; i > 0 {
				b = append(b, ',')
			}
			value(&t.fixes[i])
			_, _ = w.Write(b)
		}
	}
	_, _ = fmt.Fprintf(w, `{"type":"Feature","id":%s,"geometry":%s`, id, before)
	list(func(f *history.Fix) {
		b = append(events.AppendFloat(append(b, '['), f.Lon), ',')
		b = append(events.AppendFloat(b, f.Lat), ']')
	})
	_, _ = fmt.Fprintf(w, `%s,"properties":{"fleet":%s,"times":[`, behind, fleet)
	list(func(f *history.Fix) {
		b = append(f.Time.Time().AppendFormat(append(b, '"'), events.TimeFormat), '"')
	})
	_, _ = w.WriteString("]}")
	if t.next != "" {
		_, _ = fmt.Fprintf(w, `,"next":%q`, t.next)
	}
	_, _ = w.WriteString("}\n")
}

// fixJSON is a line of a track.
type fixJSON struct {
	T        string          `json:"t"`
	Seen     string          `json:"seen"`
	Lon      float64         `json:"lon"`
	Lat      float64         `json:"lat"`
	Accuracy *float32        `json:"accuracy,omitempty"`
	Speed    *float32        `json:"speed,omitempty"`
	Heading  *float32        `json:"heading,omitempty"`
	Props    json.RawMessage `json:"props,omitempty"`
}

func writeLines(w *bufio.Writer, t *way) {
	for i := range t.fixes {
		f := &t.fixes[i]
		text, _ := events.PlainJSON(fixJSON{
			T: events.FormatTime(f.Time.Time()), Seen: events.FormatTime(f.Arrived.Time()), Lon: f.Lon, Lat: f.Lat,
			Accuracy: known(f.Accuracy), Speed: known(f.Speed), Heading: known(f.Heading), Props: json.RawMessage(f.Props),
		})
		_, _ = w.Write(append(text, '\n'))
	}
}

func writeColumns(w *bufio.Writer, t *way) {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"t", "seen", "lon", "lat", "accuracy", "speed", "heading", "props"})
	measure := func(m track.Measure) string {
		if !m.Known {
			return ""
		}
		return strconv.FormatFloat(float64(m.Value), 'f', -1, 32)
	}
	number := func(v float64) string { return string(events.AppendFloat(nil, v)) }
	for i := range t.fixes {
		f := &t.fixes[i]
		_ = c.Write([]string{
			events.FormatTime(f.Time.Time()), events.FormatTime(f.Arrived.Time()), number(f.Lon), number(f.Lat),
			measure(f.Accuracy), measure(f.Speed), measure(f.Heading), f.Props,
		})
	}
	c.Flush()
}

func writeGPX(w *bufio.Writer, t *way) {
	_, _ = w.WriteString(xml.Header + `<gpx version="1.1" creator="paddock" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>`)
	_ = xml.EscapeText(w, []byte(t.object.ID))
	_, _ = w.WriteString("</name><trkseg>\n")
	var b []byte
	for i := range t.fixes {
		f := &t.fixes[i]
		b = events.AppendFloat(append(b[:0], `<trkpt lat="`...), f.Lat)
		b = events.AppendFloat(append(b, `" lon="`...), f.Lon)
		b = f.Time.Time().AppendFormat(append(b, `"><time>`...), events.TimeFormat)
		_, _ = w.Write(append(b, "</time></trkpt>\n"...))
	}
	_, _ = w.WriteString("</trkseg></trk></gpx>\n")
}

// stretch bounds the fixes that are simplified together: in the worst case their number squared
// decides the time.
const stretch = 4096

// simplified returns the fixes without the ones within so many metres of the line between the
// remaining ones (Douglas and Peucker).
func simplified(fixes []history.Fix, metres float64) []history.Fix {
	if metres <= 0 || len(fixes) <= 2 {
		return fixes
	}
	kept := []history.Fix{fixes[0]}
	for from := 0; from < len(fixes)-1; from += stretch {
		to := min(from+stretch, len(fixes)-1)
		kept = append(kept, needed(fixes[from:to+1], metres)...)
	}
	return kept
}

// needed returns the remaining fixes of a stretch, without the first one and with the last one.
func needed(fixes []history.Fix, metres float64) (kept []history.Fix) {
	points := flat(fixes)
	keep := make([]bool, len(fixes))
	keep[len(fixes)-1] = true
	stack := [][2]int{{0, len(fixes) - 1}}
	for len(stack) > 0 {
		from, to := stack[len(stack)-1][0], stack[len(stack)-1][1]
		stack = stack[:len(stack)-1]
		worst, at := metres, 0
		for i := from + 1; i < to; i++ {
			if d := distance(points[i], points[from], points[to]); d > worst {
				worst, at = d, i
			}
		}
		if at > 0 {
			keep[at] = true
			stack = append(stack, [2]int{from, at}, [2]int{at, to})
		}
	}
	for i := 1; i < len(fixes); i++ {
		if keep[i] {
			kept = append(kept, fixes[i])
		}
	}
	return kept
}

// flat returns the places in metres, as on a plane that touches the first one.
func flat(fixes []history.Fix) [][2]float64 {
	const degree = 111_195 // metres of latitude
	points := make([][2]float64, len(fixes))
	scale := degree * math.Cos(fixes[0].Lat*math.Pi/180)
	for i := range fixes {
		points[i] = [2]float64{math.Remainder(fixes[i].Lon-fixes[0].Lon, 360) * scale, fixes[i].Lat * degree}
	}
	return points
}

// distance returns the distance of p from the segment a-b.
func distance(p, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = max(0, min(1, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/length))
	}
	return math.Hypot(p[0]-a[0]-along*dx, p[1]-a[1]-along*dy)
}
