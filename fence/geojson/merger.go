package geojson

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
)

// merger makes a collection of the features of a document, which it takes in their order.
type merger struct {
	file    string
	limits  Limits
	index   int   // of the next feature
	failed  error // about the document as a whole
	keys    map[string]struct{}
	repeats map[string]int
	out     *Collection
}

func newMerger(file string, limits Limits) merger {
	return merger{
		file: file, limits: limits,
		keys: map[string]struct{}{}, repeats: map[string]int{}, out: &Collection{inspected: true},
	}
}

// take takes the next feature into the collection, or tells why not. Once it has failed it
// takes nothing any more.
func (m *merger) take(p *parsedFeature) {
	if m.failed != nil {
		return
	}
	if e, ok := errors.AsType[*RefusedError](p.err); ok {
		m.found(e.Finding, e.Finding.Key)
		m.out.Skipped++
	} else if p.err != nil {
		// Without the feature: which one gets the last vertices depends on the goroutines.
		m.failed = fmt.Errorf("%s: %w", m.file, p.err)
		return
	} else {
		m.fence(p.fence, p.findings)
	}
	m.index++
}

// fence takes a fence, under a key that no other has.
func (m *merger) fence(f Fence, findings []Finding) {
	base := cmp.Or(f.Key, strconv.Itoa(m.index))
	f.Key = UniqueKey(base, m.repeats, func(k string) bool { _, ok := m.keys[k]; return ok })
	m.keys[f.Key] = struct{}{}
	if f.Key != base {
		findings = append(findings, DuplicateFinding(base, f.Key))
	}
	for _, fd := range findings {
		m.found(fd, f.Key)
	}
	m.out.Fences = append(m.out.Fences, f)
}

func (m *merger) found(f Finding, key string) {
	if len(m.out.Findings) >= m.limits.Findings {
		m.out.Omitted++
		return
	}
	f.File, f.Feature, f.Key = m.file, m.index, key
	m.out.Findings = append(m.out.Findings, f)
}
