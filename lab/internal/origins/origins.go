// Package origins makes the tables of package documents again. For each row it runs this program,
// and the program that the document measured where that is there, in turns. A [Runner] makes a
// [Report], which grows row by row, and is text, Markdown, JSON and one HTML page.
package origins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/internal/process/version"
	"paddock/lab/internal/documents"
	"paddock/lab/internal/results"
	"paddock/lab/process"
)

// Runner measures rows.
type Runner struct {
	Program string // this one
	Rows    []*documents.Row
	Scale   float64 // of durations and counts, above 0 and at most 1
	Rounds  int     // of a row that has a peer
	Out     string  // directory of the files; "" = none
	Resume  bool    // keep the rows that Out has already
	Peers   *Peers
	Tell    func(line string)        // is told of the progress
	Subject func() (*Subject, error) // makes the input of the rows of gofence; called if there are any

	began       time.Time
	done, ahead time.Duration // of runs, as planned
}

// Subject is the input of the rows of gofence.
type Subject struct {
	Dir, Set string // the GeoJSON files, and the set that is searched
	Parents  string // file of the areas by which the city kinds group fences; "" = none
	Bodies   string // file of the bodies, one on each line
	// Start starts our service with a kind of index. Bodies are posted to search.
	Start func(ctx context.Context, kind string) (s *process.Server, search string, err error)
}

// job is a run of ours with the rows that it measures, and the runs of their peers.
type job struct {
	rows  []*documents.Row
	lines [][]string // the command lines, at the scale
	lasts time.Duration
	takes map[string][]*take // by contender, in rounds
	gone  map[string]error   // by contender that cannot be run
}

// ours is the name of this program among the contenders.
const ours = "paddock"

// Run measures all rows. If ctx ends, the report has the rows until then. An error is one of files,
// not of a row.
func (r *Runner) Run(ctx context.Context) (*Report, error) {
	report := r.begin()
	jobs := r.jobs(report)
	for _, j := range jobs {
		if err := r.measure(ctx, j); err != nil {
			return report, err
		}
		if ctx.Err() != nil {
			break // and the rows that were under way are left out
		}
		for _, row := range j.rows {
			report.add(row, j, r.Peers.names(row))
		}
		if err := r.save(report); err != nil {
			return report, err
		}
	}
	return report, r.save(report)
}

// begin returns the report before the first run: with the rows of the directory that need not be
// measured again.
func (r *Runner) begin() *Report {
	report := &Report{
		Date: time.Now().UTC(), Version: version.Get().String(), Machine: results.ThisMachine(), Scale: r.Scale, Rounds: r.Rounds,
	}
	if !r.Resume {
		return report
	}
	var before Report
	text, err := os.ReadFile(filepath.Join(r.Out, "origins.json"))
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil || before.Version != report.Version || before.Scale != r.Scale || before.Machine != report.Machine {
		r.Tell("all rows are measured: there is no origins.json of this version, scale and machine")
		return report
	}
	report.Rows = slices.DeleteFunc(before.Rows, func(one *Result) bool { return one.State != Measured || !one.bind() })
	r.Tell(fmt.Sprintf("%d rows are there already", len(report.Rows)))
	return report
}

// save writes the report to the directory.
func (r *Runner) save(report *Report) error {
	if r.Out == "" {
		return nil
	}
	for name, write := range map[string]func(io.Writer) error{
		"origins.json": report.WriteJSON, "origins.md": report.WriteMarkdown, "origins.html": report.WriteHTML,
	} {
		var b bytes.Buffer
		whole := filepath.Join(r.Out, name)
		if err := write(&b); err != nil {
			return err
		}
		if err := errors.Join(os.WriteFile(whole+".new", b.Bytes(), 0o666), os.Rename(whole+".new", whole)); err != nil {
			return err
		}
	}
	return nil
}

// jobs returns the runs of the rows that the report does not have. Rows of the same run share it.
func (r *Runner) jobs(report *Report) (jobs []*job) {
	byRun := map[string]*job{}
	for _, row := range r.Rows {
		if slices.ContainsFunc(report.Rows, func(one *Result) bool { return one.ID == row.ID }) {
			continue
		}
		lines, lasts := commands(row, r.Scale)
		key := fmt.Sprint(row.Server, lines)
		if byRun[key] == nil {
			byRun[key] = &job{lines: lines, lasts: lasts, takes: map[string][]*take{}, gone: map[string]error{}}
			jobs = append(jobs, byRun[key])
			r.ahead += lasts
		}
		byRun[key].rows = append(byRun[key].rows, row)
	}
	r.began = time.Now()
	return jobs
}

// measure makes the runs of a job: of ours alone once, and with peers in rounds, each of which has
// the order of the one before reversed.
func (r *Runner) measure(ctx context.Context, j *job) error {
	contenders, rounds := append([]string{ours}, r.Peers.of(j)...), 1
	if len(contenders) > 1 {
		rounds = r.Rounds
	}
	r.ahead += j.lasts * time.Duration(rounds*len(contenders)-1)
	for round := 1; round <= rounds; round++ {
		for _, name := range contenders {
			if ctx.Err() != nil || j.gone[ours] != nil {
				return nil
			}
			if j.gone[name] == nil {
				r.Tell(fmt.Sprintf("%s %s: %s, round %d of %d, %v left", j.rows[0].ID, j.rows[0].Name, name, round, rounds, r.left()))
				t, err := r.take(ctx, j, name)
				if err != nil {
					j.gone[name] = err
				} else if err := r.keep(j, name, round, t); err != nil {
					return err
				}
			}
			r.ahead, r.done = r.ahead-j.lasts, r.done+j.lasts
		}
		slices.Reverse(contenders)
	}
	return nil
}

// left is the planned time that is ahead, at the pace until now.
func (r *Runner) left() time.Duration {
	pace := 1.0
	if r.done > 0 {
		pace = float64(time.Since(r.began)) / float64(r.done)
	}
	return time.Duration(pace * float64(r.ahead)).Round(time.Second)
}

// keep adds a run to the job, and writes its objects to the directories of the rows.
func (r *Runner) keep(j *job, name string, round int, t *take) error {
	j.takes[name] = append(j.takes[name], t)
	for _, row := range j.rows {
		if r.Out == "" || name != ours && !slices.Contains(r.Peers.names(row), name) {
			continue
		}
		file := filepath.Join(r.Out, row.ID, fmt.Sprintf("%s-%d.json", name, round))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, bytes.Join(t.raw, nil), 0o666)); err != nil {
			return err
		}
	}
	return nil
}
