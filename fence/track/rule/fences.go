package rule

import (
	"encoding/json"
	"slices"
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
