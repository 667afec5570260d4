package cli

import (
	"fmt"

	"paddock/lab/internal/report"
	"paddock/lab/internal/results"
)

// reportCmd presents runs again. docs/guides/bench-compare.md is its guide.
type reportCmd struct {
	Dirs []string `arg:"" type:"path" placeholder:"DIR" help:"Directories of --out: a run, or several in one, as --repeat and sweep make them."`

	Out  string `short:"o" type:"path" default:"report.html" placeholder:"FILE" help:"Write the page to this file (default ${default})."`
	Text bool   `xor:"form" help:"Print a table instead; of a single run, its report."`
	JSON bool   `name:"json" xor:"form" help:"Print the runs instead, as an array of objects of run.json."`
}

// Help describes the page.
func (*reportCmd) Help() string {
	return `One page has the response times of all runs by percentile, by load, and their rates over time; the runs of one DIR are one line of the diagram by load. It loads nothing from any network. Of a single run it is that run's report.

    paddock bench sweep http://127.0.0.1:8080/ --out new
    paddock bench report old new -o page.html`
}

// Run writes the page, or prints the runs.
func (b *reportCmd) Run(c *Console) error {
	if !b.Text && !b.JSON {
		if err := writeReport(b.Dirs, b.Out); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.Stdout, b.Out)
		return err
	}
	set, err := report.OpenSet(b.Dirs)
	switch {
	case err != nil:
		return usageError(err)
	case b.JSON:
		return results.Write(c.Stdout, set.Documents())
	}
	return set.WriteText(c.Stdout)
}

// writeReport writes the page of the runs in directories to a file.
func writeReport(dirs []string, file string) error {
	set, err := report.OpenSet(dirs)
	if err != nil {
		return usageError(err)
	}
	return writeTo(file, set.WriteHTML)
}
