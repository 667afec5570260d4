// Command results prints the table of measured ratios in README.md. Each JSON file beside it
// holds the ratios of one comparison, with the command, the date and the machine of the run.
//
//	go run ./docs/results -w     # in the repository's root: rewrite the table in README.md
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// The table in README.md stands between these two lines.
const (
	begin = "<!-- make ratios: begin -->\n"
	end   = "<!-- make ratios: end -->\n"
)

// A run is one file of results.
type run struct {
	Part    string `json:"part"`
	Command string `json:"command"`
	Date    string `json:"date"`    // as 2026-11-22
	Machine string `json:"machine"` // "not recorded" where the run did not write it down
	Note    string `json:"note"`
	Ratios  []struct {
		Goal   string  `json:"goal"`
		Beside string  `json:"beside"` // the peer
		Ratio  float64 `json:"ratio"`  // ours divided by the peer's, median over the rounds
		Least  float64 `json:"least"`  // smallest and largest round, 0 if not written down
		Most   float64 `json:"most"`
	} `json:"ratios"`
}

func main() {
	write := flag.Bool("w", false, "rewrite the table in README.md")
	flag.Parse()
	if err := update(*write); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

func update(write bool) error {
	text, err := table(os.DirFS("docs/results"))
	if err != nil || !write {
		fmt.Print(text)
		return err
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	changed, err := splice(string(readme), text)
	if err != nil {
		return err
	}
	return os.WriteFile("README.md", []byte(changed), 0o644)
}

// table returns the ratios of all runs of a directory as Markdown, in the order of the files.
func table(dir fs.FS) (string, error) {
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		return "", err
	}
	var rows, sources strings.Builder
	rows.WriteString("| part | measured | beside | ratio | spread |\n|---|---|---|---|---|\n")
	for _, name := range names {
		r, err := read(dir, name)
		if err != nil {
			return "", err
		}
		for _, x := range r.Ratios {
			spread := ""
			if x.Most > 0 {
				spread = number(x.Least) + " to " + number(x.Most)
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", r.Part, x.Goal, x.Beside, number(x.Ratio), spread)
		}
		fmt.Fprintf(&sources, "- %s: `%s`, %s; machine: %s", r.Part, r.Command, r.Date, r.Machine)
		if r.Note != "" {
			sources.WriteString("; " + r.Note)
		}
		sources.WriteString("\n")
	}
	return rows.String() + "\n" + sources.String(), nil
}

func read(dir fs.FS, name string) (*run, error) {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	r := new(run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Command == "" || r.Date == "" || r.Machine == "" || len(r.Ratios) == 0 {
		return nil, fmt.Errorf("%s: command, date, machine and ratios are required", name)
	}
	return r, nil
}

// splice puts the table between the two marks of a page.
func splice(page, text string) (string, error) {
	head, rest, ok := strings.Cut(page, begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return "", errors.New("README.md lacks the marks " + strings.TrimSpace(begin) + " and " + strings.TrimSpace(end))
	}
	return head + begin + text + end + tail, nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
