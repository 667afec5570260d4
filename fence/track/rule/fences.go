package rule

import (
	"maps"
	"slices"
)

// Fences selects fences of a set. The zero value selects all.
type Fences struct {
	IDs   []string       // only these; sorted, as Parse returns them
	Where map[string]any // only fences whose properties are these: string, float64 or bool
}

// All reports whether all fences of the set are selected.
func (f *Fences) All() bool { return len(f.IDs) == 0 && len(f.Where) == 0 }

// Names returns the sorted names of the properties that Select reads.
func (f *Fences) Names() []string { return slices.Sorted(maps.Keys(f.Where)) }

// Select reports whether the rule selects the fence with this id and these properties; nil are
// none. A fence without one of the properties, or with a value of another type, is not selected.
func (f *Fences) Select(id string, p *Properties) bool {
	if len(f.IDs) > 0 {
		_, ok := slices.BinarySearch(f.IDs, id)
		return ok
	}
	for name, want := range f.Where {
		if !p.get(name).equals(valueOf(want)) {
			return false
		}
	}
	return true
}
