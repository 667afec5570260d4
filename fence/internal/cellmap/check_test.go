package cellmap

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestCheckSideBySide: what one goroutine finds in its root cells, and what only all of them
// together can know, is refused as it is by one.
func TestCheckSideBySide(t *testing.T) {
	const roots = 4 * checkedRoots
	for name, tc := range map[string]struct {
		first, last uint32 // entries
		want        string // "" = it is of use
	}{
		"sound":           {EntryNode | roots, EntryNode | (roots + nodeSize), ""},
		"a shared node":   {EntryNode | roots, EntryNode | roots, errSharedNode.Error()},
		"a foreign fence": {entryList, entryOne | 7, "cell 16383: it names fence 7 of 3"},
		"two faults":      {EntryCell | 99, entryOne | 7, "cell 0: its record begins beyond the end"},
	} {
		for _, cpus := range []int{1, 2, 7} {
			m := &Map{W: roots, H: 1, Shift: MinShift, Words: []uint32{0}, Dir: make([]uint32, roots+2*nodeSize)}
			m.Dir[0], m.Dir[roots-1] = tc.first, tc.last
			before := runtime.GOMAXPROCS(cpus)
			err := m.Check(3)
			runtime.GOMAXPROCS(before)
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.want)):
				t.Errorf("%s, %d CPUs: %v, want %q", name, cpus, err, tc.want)
			case tc.want == errSharedNode.Error() && !errors.Is(err, errSharedNode):
				t.Errorf("%s, %d CPUs: %v", name, cpus, err)
			}
		}
	}
}
