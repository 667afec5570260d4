package fence

import (
	"fmt"
	"log/slog"
	"strings"

	"paddock/fence/geojson"
)

// linesPerCode bounds what is shown of the findings of one code in one set: a file of a million
// broken features must not bury the rest.
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
	Findings []geojson.Finding
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
	for _, line := range s.lines() {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// lines tells the first findings of each code, and how many more there are.
func (s *SetReport) lines() (lines []string) {
	seen := map[geojson.Code]int{}
	for _, f := range s.Findings {
		if seen[f.Code]++; seen[f.Code] <= linesPerCode {
			lines = append(lines, f.String())
		}
	}
	for _, f := range s.Findings {
		if n := seen[f.Code]; n > linesPerCode {
			lines = append(lines, fmt.Sprintf("and %d more %s", n-linesPerCode, f.Code))
			delete(seen, f.Code)
		}
	}
	if s.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more findings, not kept", s.Omitted))
	}
	return lines
}

// Log tells a log what String tells people.
func (r *Report) Log(log *slog.Logger) {
	for _, s := range r.Sets {
		log.Info("set loaded", "set", s.Name, "file", s.File, "kind", s.Stats.Kind, "fences", s.Stats.Fences,
			"parts", s.Stats.Parts, "edges", s.Stats.Edges, "skipped", s.Skipped, "findings", len(s.Findings)+s.Omitted)
		for _, line := range s.lines() {
			log.Warn("finding", "set", s.Name, "what", line)
		}
	}
}
