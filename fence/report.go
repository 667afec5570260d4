package fence

import (
	"fmt"
	"strings"
)

// linesPerCode bounds what String shows of the findings of one code in one set.
const linesPerCode = 5

// Report tells what a load found.
type Report struct {
	Sets []SetReport // in load order
}

// SetReport tells what was found in one file.
type SetReport struct {
	Name     string
	File     string
	Stats    Stats
	Skipped  int // features that gave no fence
	Findings []Finding
	Omitted  int // findings beyond Limits.Findings
}

// Findings counts the findings of all sets.
func (r *Report) Findings() int {
	n := 0
	for _, s := range r.Sets {
		n += len(s.Findings) + s.Omitted
	}
	return n
}

func (r *Report) file(set string) (string, bool) {
	for _, s := range r.Sets {
		if s.Name == set {
			return s.File, true
		}
	}
	return "", false
}

// String is a text for people: a line for each set, and below it the first findings of each code.
func (r *Report) String() string {
	var b strings.Builder
	for _, s := range r.Sets {
		s.write(&b)
	}
	return b.String()
}

func (s *SetReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d fences, %d parts, %d edges", s.Name, s.Stats.Fences, s.Stats.Parts, s.Stats.Edges)
	if s.Skipped > 0 {
		fmt.Fprintf(b, ", %d features skipped", s.Skipped)
	}
	if n := len(s.Findings) + s.Omitted; n > 0 {
		fmt.Fprintf(b, ", %d findings", n)
	}
	b.WriteByte('\n')
	seen := map[Code]int{}
	for _, f := range s.Findings {
		if seen[f.Code]++; seen[f.Code] <= linesPerCode {
			fmt.Fprintf(b, "  %s\n", f)
		}
	}
	for _, f := range s.Findings {
		if n := seen[f.Code]; n > linesPerCode {
			fmt.Fprintf(b, "  and %d more %s\n", n-linesPerCode, f.Code)
			delete(seen, f.Code)
		}
	}
	if s.Omitted > 0 {
		fmt.Fprintf(b, "  and %d more findings, not kept\n", s.Omitted)
	}
}
