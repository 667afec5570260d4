package imports

import (
	"fmt"
	"strings"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
)

// linesPerCode bounds the printed findings of one code about one file.
const linesPerCode = 5

// Report tells what an import did.
type Report struct {
	Files   []FileReport `json:"files"`
	Ignored []string     `json:"ignored"`         // files of a directory or archive that are in no known format
	Rules   string       `json:"rules,omitempty"` // the file of rules that was written; "" if there is none
}

// FileReport tells what an import did with one file.
type FileReport struct {
	File     string            `json:"file"`
	Format   string            `json:"format,omitempty"`
	Sets     []SetReport       `json:"sets"`
	Features int               `json:"features"` // that were written
	Rules    int               `json:"rules"`    // that were written
	Skipped  int               `json:"skipped"`  // features that are no fences, such as points without a radius
	Refused  int               `json:"refused"`  // features that are fences with a defect for which no set takes them
	Findings []feature.Finding `json:"findings"`
	Omitted  int               `json:"omitted"`         // findings beyond MaxFindings
	Error    string            `json:"error,omitempty"` // why nothing of the file was written; "" if it was read
}

// SetReport is a set that was written.
type SetReport struct {
	Set      string `json:"set"`
	File     string `json:"file"`
	Features int    `json:"features"`
}

// Whole reports whether each file was read, and no fence was refused.
func (r *Report) Whole() bool {
	for i := range r.Files {
		if f := &r.Files[i]; f.Error != "" || f.Refused > 0 {
			return false
		}
	}
	return true
}

// String is a text for people: a line for each file, and below it its sets and the first findings
// of each code.
func (r *Report) String() string {
	var b strings.Builder
	for i := range r.Files {
		r.Files[i].write(&b)
	}
	if r.Rules != "" {
		fmt.Fprintf(&b, "rules: %s\n", r.Rules)
	}
	for _, name := range r.Ignored {
		fmt.Fprintf(&b, "%s: not imported: it is in no known format\n", name)
	}
	return b.String()
}

func (f *FileReport) write(b *strings.Builder) {
	if f.Error != "" {
		text := f.Error
		if !strings.HasPrefix(text, f.File) {
			text = f.File + ": " + text
		}
		fmt.Fprintf(b, "%s: nothing imported\n", text)
		return
	}
	fmt.Fprintf(b, "%s: %s, %d fences", f.File, f.Format, f.Features)
	for _, n := range []struct {
		count int
		what  string
	}{{f.Rules, "rules"}, {f.Skipped, "skipped"}, {f.Refused, "refused"}, {len(f.Findings) + f.Omitted, "findings"}} {
		if n.count > 0 {
			fmt.Fprintf(b, ", %d %s", n.count, n.what)
		}
	}
	b.WriteByte('\n')
	for _, s := range f.Sets {
		fmt.Fprintf(b, "  set %s: %d fences in %s\n", s.Set, s.Features, s.File)
	}
	for _, line := range f.lines() {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// lines tells the first findings of each code, and how many more there are.
func (f *FileReport) lines() (lines []string) {
	seen := map[geojson.Code]int{}
	for i := range f.Findings {
		if seen[f.Findings[i].Code]++; seen[f.Findings[i].Code] <= linesPerCode {
			lines = append(lines, f.Findings[i].String())
		}
	}
	for i := range f.Findings {
		code := f.Findings[i].Code
		if n := seen[code]; n > linesPerCode {
			lines = append(lines, fmt.Sprintf("and %d more %s", n-linesPerCode, code))
			delete(seen, code)
		}
	}
	if f.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more findings, not kept", f.Omitted))
	}
	return lines
}
