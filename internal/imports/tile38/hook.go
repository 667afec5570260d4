package tile38

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"paddock/fence/track/rule"
	"paddock/internal/imports/feature"
)

// hook is a geofence: SETHOOK or SETCHAN.
type hook struct {
	order    int // of its command
	name     string
	endpoint string // of SETHOOK
	place    feature.Place

	key        string // of the collection whose objects it watches
	match      string // pattern over their ids
	detect     rule.Detect
	when       []string // comparisons that all hold
	area       feature.Geometry
	from       [2]string  // key and id of the fence, in place of an area
	near       *rule.Near // ROAM
	notes      []string   // what is not carried over
	fenced     bool       // FENCE stood there
	properties []byte     // of a Feature that is the area
}

// setHook applies SETHOOK name endpoint or SETCHAN name, and a search with FENCE.
func (s *state) setHook(c *command, r *reading, endpoint bool) {
	h := &hook{order: s.applied, place: c.place, name: r.next()}
	if endpoint {
		h.endpoint = r.next()
	}
	for r.err == nil && (r.word() == "META" || r.word() == "EX") {
		if r.word() == "META" {
			r.next()
			h.notes = append(h.notes, "META "+r.next())
			r.next()
		} else {
			r.next()
			h.notes = append(h.notes, "EX "+r.next())
		}
	}
	kind := r.word()
	r.next()
	in := inSearch
	switch kind {
	case "NEARBY":
		in = inNearby
	case "WITHIN", "INTERSECTS":
	default:
		if r.err == nil {
			r.err = fmt.Errorf("%.20q is not NEARBY, WITHIN or INTERSECTS", kind)
		}
	}
	h.key = r.next()
	for r.err == nil && h.option(r) {
	}
	if r.err == nil {
		r.err = h.readArea(r, in)
	}
	if r.err == nil && !h.fenced {
		r.err = errors.New("it has no FENCE")
	}
	if r.err == nil {
		s.hooks[h.name] = h
	}
}

// option reads an option of a search. It reports whether there was one.
func (h *hook) option(r *reading) bool {
	word := r.word()
	switch word {
	case "FENCE":
		h.fenced = true
		r.next()
	case "MATCH":
		r.next()
		if h.match != "" {
			r.err = fmt.Errorf("several MATCH: %w", errUnsaid)
		}
		h.match, r.err = pattern(r.next(), r.err)
	case "DETECT":
		r.next()
		h.readDetect(r)
	case "WHERE":
		r.next()
		h.where(r)
	case "WHEREIN":
		r.next()
		h.whereIn(r)
	case "WHEREEVAL", "WHEREEVALSHA", "BUFFER":
		r.err = fmt.Errorf("%s: %w", word, errUnsaid)
	case "COMMANDS":
		r.next()
		h.notes = append(h.notes, "COMMANDS "+r.next())
	case "CURSOR", "LIMIT", "SPARSE", "HASHES": // of answers
		r.next()
		r.next()
	case "NODWELL", "NOFIELDS", "DISTANCE", "CLIP", "COUNT", "IDS", "OBJECTS", "POINTS":
		r.next()
	case "BOUNDS": // of answers too, unless coordinates follow
		if len(r.args) > 1 {
			if _, err := feature.Number(r.args[1]); err == nil {
				return false
			}
		}
		r.next()
	default:
		return false
	}
	return r.err == nil
}

// readArea reads the area of a geofence.
func (h *hook) readArea(r *reading, in where) (err error) {
	switch r.word() {
	case "GET":
		r.next()
		h.from = [2]string{r.next(), r.next()}
	case "ROAM":
		r.next()
		h.near = &rule.Near{Fleet: r.next()}
		h.near.Objects, r.err = pattern(r.next(), r.err)
		h.near.Metres = r.number()
		if r.word() == "SCAN" {
			h.notes = append(h.notes, "SCAN")
			r.args = nil
		}
	default:
		h.properties, err = area(r, &h.area, in)
		if err == nil && h.area.Empty() && r.err == nil {
			err = errors.New("its area is empty")
		}
		if len(h.area.Points) > 0 && h.area.Radius == 0 && err == nil && r.err == nil {
			err = fmt.Errorf("an area that is a point: %w", errUnsaid)
		}
		return err
	}
	if len(r.args) > 0 && r.err == nil {
		r.err = fmt.Errorf("there is more behind the area: %.40q", r.args[0])
	}
	return r.err
}

// pattern returns a pattern of Tile38 as one of rules, which have no classes of characters.
func pattern(text string, err error) (string, error) {
	if strings.ContainsAny(text, "[]") && err == nil {
		err = fmt.Errorf("the pattern %.40q: %w", text, errUnsaid)
	}
	return text, err
}

// readDetect reads a list of events.
func (h *hook) readDetect(r *reading) {
	for name := range strings.SplitSeq(strings.ToLower(r.next()), ",") {
		if name == "roam" {
			continue
		}
		d, err := rule.ParseDetect(name)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("DETECT: %w", err)
		}
		h.detect |= d
	}
}

// where reads WHERE field min max. The numbers may be infinite, and ( before one leaves it out.
func (h *hook) where(r *reading) {
	name := r.next()
	low, high := r.next(), r.next()
	if r.err != nil {
		return
	}
	for _, bound := range []struct{ text, sign string }{{low, ">"}, {high, "<"}} {
		switch strings.ToLower(bound.text) {
		case "-inf", "+inf", "inf":
			continue
		}
		text, open := strings.CutPrefix(bound.text, "(")
		f, err := feature.Number(text)
		if err != nil {
			r.err = fmt.Errorf("WHERE %.40q: an expression: %w", name, errUnsaid)
			return
		}
		sign := bound.sign
		if !open {
			sign += "="
		}
		h.when = append(h.when, fmt.Sprintf("object[%s] %s %s", feature.Text(name), sign, number(f)))
	}
}

// whereIn reads WHEREIN field count value....
func (h *hook) whereIn(r *reading) {
	name := r.next()
	n := r.number()
	if r.err == nil && (n < 1 || n > float64(len(r.args))) {
		r.err = fmt.Errorf("WHEREIN: %v values", n)
	}
	var values []string
	for range int(n) {
		if r.err != nil {
			return
		}
		text := r.next()
		value := string(feature.Text(text))
		if f, err := feature.Number(text); err == nil {
			value = number(f)
		}
		values = append(values, "object["+string(feature.Text(name))+"] == "+value)
	}
	h.when = append(h.when, "("+strings.Join(values, " or ")+")")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
