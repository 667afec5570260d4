package rule

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"paddock/fence/track/rule/internal/document"
)

// Fences selects fences of a set. The zero value selects all.
type Fences struct {
	IDs   []string       // only these; sorted, as Parse returns them
	Where map[string]any // only fences whose properties are these: string, float64 or bool
}

// All reports whether all fences of the set are selected.
func (f *Fences) All() bool { return len(f.IDs) == 0 && len(f.Where) == 0 }

// Select reports whether the rule selects the fence with this id and these properties, a JSON
// object. A fence without one of the properties, or with a value of another type, is not selected.
func (f *Fences) Select(id string, properties json.RawMessage) bool {
	if len(f.IDs) > 0 {
		_, ok := slices.BinarySearch(f.IDs, id)
		return ok
	}
	if len(f.Where) == 0 {
		return true
	}
	for name, want := range f.Where {
		if v := lookUp(properties, name); !v.is(want) {
			return false
		}
	}
	return true
}

// read reads "*", a list of ids, or properties with their values.
func (f *Fences) read(v reader) {
	switch {
	case v.Kind == document.Text && v.Text == "*":
	case v.Kind == document.List:
		if len(v.Items) == 0 {
			v.fault(`the list is empty: leave fences out, or write "*", for all`)
		}
		v.items(MaxFences, f.readID)
	case v.Kind == document.Object:
		v.fields(map[string]func(reader){"where": f.readWhere})
		if len(v.Members) == 0 {
			v.fault(`where is missing`)
		}
	default:
		v.fault(`%s is neither "*" nor a list of ids nor {"where":{...}}`, v.kindText())
	}
}

// readID reads the id of a fence. A whole number is its digits, as it is in GeoJSON.
func (f *Fences) readID(item reader) {
	if _, err := strconv.ParseInt(item.Text, 10, 64); item.Kind != document.Number || err != nil {
		if !item.is(document.Text) {
			return
		}
	}
	f.IDs = append(f.IDs, item.Text)
}

func (f *Fences) readWhere(v reader) {
	if !v.is(document.Object) {
		return
	}
	f.Where = make(map[string]any, len(v.Members))
	for _, m := range v.Members {
		switch m.Value.Kind {
		case document.Text:
			f.Where[m.Key] = m.Value.Text
		case document.Bool:
			f.Where[m.Key] = m.Value.Text == "true"
		case document.Number:
			var n float64
			reader{m.Value, join(v.path, m.Key), v.faults}.float(&n)
			f.Where[m.Key] = n
		default:
			v.fault("%q: %v is no text, number, true or false", m.Key, m.Value.Kind)
		}
	}
}

// write writes fences that are not all of a set.
func (f *Fences) write(o *object) {
	o.list("fences", f.IDs)
	if len(f.Where) == 0 {
		return
	}
	o.nest("fences", func() {
		o.nest("where", func() {
			for _, name := range slices.Sorted(maps.Keys(f.Where)) {
				o.key(name)
				o.text = append(o.text, valueOf(f.Where[name]).String()...)
			}
		})
	})
}
