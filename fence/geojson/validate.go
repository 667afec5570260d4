package geojson

import (
	"fmt"
	"sync"

	"paddock/fence/geometry"
)

// Validate tells the defects of a geometry. A Fatal one means that no set takes it. It takes
// O(n log n) steps for n vertices.
func Validate(mp geometry.MultiPolygon) []Finding {
	if f, bad := Refusal(mp); bad {
		return []Finding{f}
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	return inspect(mp, nil, w).findings
}

// workspaces belong to callers of Validate. The collector takes unused ones.
var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// Refusal tells why no set takes the geometry, if so.
func Refusal(mp geometry.MultiPolygon) (Finding, bool) {
	for i, part := range mp {
		for j, r := range part {
			for k, p := range r {
				if reason := p.OutOfRange(); reason != "" {
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

// Refusal tells why no set takes the fence, if so.
func (f *Fence) Refusal() (Finding, bool) {
	if len(f.Lines) == 0 {
		return Refusal(f.Geometry)
	}
	if fd, bad := refusedLines(f.Lines); bad {
		return fd, true
	}
	_, buffered, err := bufferOf(f.Properties)
	switch {
	case err != nil:
		return unfit(err.Error()), true
	case buffered != (len(f.Geometry) > 0):
		return unfit("a fence of lines has an area if and only if it has the property " + BufferProperty), true
	case buffered:
		return Refusal(f.Geometry)
	}
	return Finding{}, false
}

func unfit(reason string) Finding {
	return Finding{Feature: -1, Code: CodeInvalidGeometry, Fatal: true, Reason: reason}
}

// Check refuses a fence that no set may hold, and otherwise tells its defects. It makes the area of
// a corridor that has none yet.
func (f *Fence) Check(strict bool) ([]Finding, error) {
	var findings []Finding
	if len(f.Lines) > 0 {
		findings = f.checkLines()
	} else {
		findings = Validate(f.Geometry)
	}
	findings = append(findings, f.checkSettings()...)
	for _, fd := range findings {
		if fd.Fatal || strict && fd.Code.strict() {
			fd.Key, fd.Fatal = f.Key, true
			return nil, &RefusedError{fd}
		}
	}
	return findings, nil
}

// Check gives the findings, by the fence's index, that the collection does not have itself. Of
// what Read has validated it makes sure only of what an index relies on.
func (c *Collection) Check(strict bool) (found map[int][]Finding, err error) {
	found = map[int][]Finding{}
	for i := range c.Fences {
		f := &c.Fences[i]
		if c.inspected {
			if fd, bad := f.Refusal(); bad {
				fd.Feature, fd.Key = i, f.Key
				return nil, &RefusedError{fd}
			}
			continue
		}
		findings, err := f.Check(strict)
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
