package dryrun_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/dryrun"
)

// history is a block of the guide: the fences of the rule's set, a policy, positions, and below
// each position the events that have been told when it is applied.
type history struct {
	t         *testing.T
	rule      *rule.Rule
	features  []string
	policy    track.Policy
	zone      *time.Location
	positions []track.Position
	text      []string // the block without its events
	at        []int    // index in text of each position
}

// originLon and originLat are where 0,0 of a history is.
const (
	originLon, originLat = 13.4, 52.5
	degree               = 6_371_008.8 * math.Pi / 180 // metres
)

func parseHistory(t *testing.T, r *rule.Rule, block string) *history {
	t.Helper()
	h := &history{t: t, rule: r, zone: time.UTC}
	h.policy, _ = track.ParsePolicy("steady")
	for line := range strings.SplitSeq(strings.TrimRight(block, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue // an event
		}
		h.text = append(h.text, line)
		words := strings.Fields(line)
		switch words[0] {
		case "fence":
			h.box(words[1:])
		case "line":
			h.line(words[1:])
		case "policy":
			h.set(words[1:])
		case "zone":
			zone, err := time.LoadLocation(words[1])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			h.zone = zone
		default:
			h.position(words)
		}
	}
	return h
}

// box adds a fence between two corners: fence KEY SW NE PROPERTIES.
func (h *history) box(words []string) {
	a, b := h.place(words[1]), h.place(words[2])
	h.feature(words[0], fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}`,
		a[0], a[1], b[0], a[1], b[0], b[1], a[0], b[1], a[0], a[1]), words[3:])
}

// line adds a line, or with the property paddock:buffer a corridor: line KEY FROM TO PROPERTIES.
func (h *history) line(words []string) {
	a, b := h.place(words[1]), h.place(words[2])
	h.feature(words[0], fmt.Sprintf(`{"type":"LineString","coordinates":[[%v,%v],[%v,%v]]}`, a[0], a[1], b[0], b[1]), words[3:])
}

func (h *history) feature(key, geometry string, properties []string) {
	props, err := json.Marshal(h.pairs(properties))
	if err != nil {
		h.t.Fatal(err)
	}
	h.features = append(h.features, fmt.Sprintf(`{"type":"Feature","id":%q,"properties":%s,"geometry":%s}`, key, props, geometry))
}

func (h *history) set(words []string) {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if err := h.policy.Set(key, value); err != nil {
			h.t.Fatal(err)
		}
	}
}

// place reads x,y in metres east and north of the origin.
func (h *history) place(text string) (p [2]float64) {
	x, y, _ := strings.Cut(text, ",")
	east, err := strconv.ParseFloat(x, 64)
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	north, err := strconv.ParseFloat(y, 64)
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	return [2]float64{originLon + east/degree/math.Cos(originLat*math.Pi/180), originLat + north/degree}
}

// pairs reads name=value, where the value is JSON or a plain word.
func (h *history) pairs(words []string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if !json.Valid([]byte(value)) {
			value = strconv.Quote(value)
		}
		all[name] = json.RawMessage(value)
	}
	return all
}

// position reads MM-DD HH:MM[:SS] [FLEET/]OBJECT X,Y MEASURES PROPERTIES.
func (h *history) position(words []string) {
	clock := words[1]
	if len(clock) == len("08:00") {
		clock += ":00"
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-"+words[0]+" "+clock, h.zone)
	if err != nil {
		h.t.Fatal(err)
	}
	p := track.Position{Fleet: "default", ID: words[2], Time: track.MillisOf(at)}
	if fleet, id, ok := strings.Cut(words[2], "/"); ok {
		p.Fleet, p.ID = fleet, id
	}
	place := h.place(words[3])
	p.Lon, p.Lat = place[0], place[1]
	props := h.pairs(words[4:])
	for name, m := range map[string]*track.Measure{"speed": &p.Speed, "heading": &p.Heading, "accuracy": &p.Accuracy} {
		if raw, ok := props[name]; ok {
			v, err := strconv.ParseFloat(string(raw), 64)
			if err != nil {
				h.t.Fatal(err)
			}
			*m = track.Measured(v)
			delete(props, name)
		}
	}
	if len(props) > 0 {
		p.Props, _ = json.Marshal(props)
	}
	h.positions = append(h.positions, p)
	h.at = append(h.at, len(h.text))
}

// view returns the fences, the policy and the rule.
func (h *history) view() *track.View {
	h.t.Helper()
	name := cmp.Or(h.rule.Set, "none")
	set, err := fence.NewSet(name, fence.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	text := `{"type":"FeatureCollection","features":[` + strings.Join(h.features, ",") + `]}`
	collection, err := geojson.ReadGeoJSON(strings.NewReader(text), name, fence.Options{}.Reading())
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := set.Replace(collection); err != nil {
		h.t.Fatal(err)
	}
	catalog := &fence.Catalog{}
	if err := catalog.Add(set); err != nil {
		h.t.Fatal(err)
	}
	book := rulebook.New(h.policy)
	if _, err := book.SetFiles(rulebook.Files{Rules: []*rule.Rule{h.rule}, RulesFile: rulebook.RulesFile}); err != nil {
		h.t.Fatal(err)
	}
	return dryrun.View(catalog, book.State(), nil)
}

// run applies the positions to the rule, and returns the block with the events that come out.
func (h *history) run() string {
	h.t.Helper()
	view := h.view()
	var b strings.Builder
	told := 0
	lines := 0
	for i := range h.positions { // of the first ones, so that each event stands below its position
		for ; lines < h.at[i]; lines++ {
			b.WriteString(h.text[lines] + "\n")
		}
		var all []string
		count, err := dryrun.Run(h.t.Context(), view, append([]track.Position(nil), h.positions[:i+1]...), func(e *track.Event) { all = append(all, h.event(e, i)) })
		if err != nil || count.Accepted != i+1 {
			h.t.Errorf("%s: %+v, %v after %s", h.rule.ID, count, err, h.text[h.at[i]-1])
		}
		for _, e := range all[told:] {
			b.WriteString("      " + e + "\n")
		}
		told = len(all)
	}
	return b.String()
}

// event describes an event: kind, fence, time to the second, and details.
func (h *history) event(e *track.Event, i int) string {
	const day = "01-02"
	words := []string{e.Kind.String()}
	if e.Fence != nil {
		words = append(words, e.Fence.Key)
	}
	switch {
	case e.Several == nil:
	case e.Several.Other == nil:
		words = append(words, fmt.Sprintf("%d objects", e.Several.Count))
	default:
		words = append(words, fmt.Sprintf("%s %s %.0f m", e.ID, e.Several.Other.ID, e.Several.Metres))
	}
	at := e.At.Time().In(h.zone).Round(time.Second)
	if now := h.positions[i].Time.Time().In(h.zone); now.Format(day) != at.Format(day) {
		words = append(words, at.Format(day))
	}
	words = append(words, at.Format("15:04:05"))
	if e.Reason != track.Move {
		words = append(words, e.Reason.String())
	}
	if e.Direction != rule.AnyDirection {
		words = append(words, e.Direction.String())
	}
	return strings.Join(words, " ")
}
