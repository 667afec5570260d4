package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable prints the results, as a table that is Markdown too, and below it each test that did
// not pass at once.
func WriteTable(w io.Writer, outcomes []*Outcome) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| suite\t| server\t| tests\t| not applicable\t| applicable\t| passed\t| failed\t| not run\t| passed %\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, o := range outcomes {
		lost := o.Count(Missing) + o.Count(Skipped)
		fmt.Fprintf(t, "| %s\t| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %.1f\t|\n", o.Suite, o.Server,
			o.Applicable()+o.Left(), o.Left(), o.Applicable(), o.Count(Passed), o.Count(Failed), lost,
			100*float64(o.Count(Passed))/float64(max(1, o.Applicable())))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, o := range outcomes {
		for _, test := range o.Selection.Run {
			switch r := o.Results[test]; {
			case slices.Contains(o.Again, test):
				fmt.Fprintf(w, "\n%s against %s: %s passed only when it was run again, alone\n", o.Suite, o.Server, test)
			case r != Passed:
				fmt.Fprintf(w, "\n%s against %s: %s: %v\n%s", o.Suite, o.Server, test, r, indent(o.Logs[test]))
			}
		}
	}
	return nil
}

// indent returns the last lines of a log, set off.
func indent(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines = lines[max(0, len(lines)-25):]
	return "    " + strings.Join(lines, "\n    ") + "\n"
}
