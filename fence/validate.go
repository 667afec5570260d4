package fence

import (
	"fmt"
	"sync"
)

// Validate tells the defects of a geometry. A Fatal one means that no set takes it. It takes
// O(n log n) steps for n vertices.
func Validate(mp MultiPolygon) []Finding {
	if f, bad := refusal(mp); bad {
		return []Finding{f}
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	return inspect(mp, nil, w).findings
}

// workspaces are those of callers of Validate; the collector takes those that nobody uses.
var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// refusal tells why no set takes the geometry, if so.
func refusal(mp MultiPolygon) (Finding, bool) {
	for i, part := range mp {
		for j, r := range part {
			for k, p := range r {
				if reason := p.outOfRange(); reason != "" {
					at := p
					return Finding{
						Feature: -1, Code: CodeOutOfRange, Fatal: true, At: &at,
						Reason: fmt.Sprintf("part %d ring %d vertex %d: %s", i, j, k, reason),
					}, true
				}
			}
		}
	}
	if mp.Vertices() == 0 {
		return Finding{Feature: -1, Code: CodeNoArea, Fatal: true, Reason: "no ring"}, true
	}
	return Finding{}, false
}

// check refuses a fence that no set may hold, and otherwise tells its defects.
func (f *Fence) check(strict bool) ([]Finding, error) {
	findings := Validate(f.Geometry)
	for _, fd := range findings {
		if fd.Fatal || strict && fd.Code.strict() {
			fd.Key, fd.Fatal = f.Key, true
			return nil, &RefusedError{fd}
		}
	}
	return findings, nil
}

// check gives the findings, by the fence's index, that the collection does not have itself. Of
// what Read has validated it makes sure only of what an index relies on.
func (c *Collection) check(strict bool) (found map[int][]Finding, err error) {
	found = map[int][]Finding{}
	for i := range c.Fences {
		f := &c.Fences[i]
		if c.inspected {
			if fd, bad := refusal(f.Geometry); bad {
				fd.Feature, fd.Key = i, f.Key
				return nil, &RefusedError{fd}
			}
			continue
		}
		findings, err := f.check(strict)
		if e, ok := err.(*RefusedError); ok {
			e.Finding.Feature = i
			return nil, e
		}
		if len(findings) > 0 {
			found[i] = findings
		}
	}
	return found, nil
}
