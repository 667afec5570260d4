package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// schemaName is the schema of run.json that is read. Later versions of it may only add keys.
const schemaName = "paddock.run/1"

const (
	maxCommand    = 4096 // bytes of a command line in a list
	maxText       = 512  // bytes of any other text
	maxObjectives = 32
)

// Run is a run of the lab, as a list shows it: with an error or with a summary.
type Run struct {
	Name     string    `json:"name"`     // of its directory
	Modified time.Time `json:"modified"` // when run.json was written
	Report   bool      `json:"report"`   // it has a report.html
	Error    string    `json:"error,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"`
}

// Summary is the part of a run.json that a list shows. Durations are in ns. A nil value is unknown.
type Summary struct {
	Began    time.Time `json:"began"`
	Command  string    `json:"command"` // the command line, without secrets
	Version  string    `json:"version"`
	Revision *string   `json:"revision"`
	CPUModel *string   `json:"cpu_model"`
	CPUs     int       `json:"cpus"`

	Driver   string  `json:"driver"`
	Target   string  `json:"target"`
	Model    string  `json:"model"`    // open or closed
	Arrivals *string `json:"arrivals"` // of an open run
	Conns    int     `json:"conns"`

	Interrupted bool     `json:"interrupted"`
	Good        int64    `json:"good"` // answers that did not fail
	Rate        *float64 `json:"rate"` // good answers a second
	P50         *int64   `json:"p50_ns"`
	P99         *int64   `json:"p99_ns"`
	Max         *int64   `json:"max_ns"`
	Errors      *float64 `json:"errors"` // share of the requests that failed, had no answer or were not sent
	// CPU is the processor time of the load generator for each answer.
	CPU *int64 `json:"generator_cpu_ns"`

	Verdict     string      `json:"verdict"` // on the generator: green, amber or red
	VerdictText string      `json:"verdict_text"`
	Objectives  []Objective `json:"objectives"`
}

// Objective is an objective of a run.
type Objective struct {
	Objective string `json:"objective"`
	Outcome   string `json:"outcome"` // met, missed or unknown
	Text      string `json:"text"`
}

// document is what is read of run.json.
type document struct {
	Schema   string `json:"schema"`
	Manifest struct {
		Began    time.Time `json:"began"`
		Argv     []string  `json:"argv"`
		Version  string    `json:"version"`
		Revision *string   `json:"revision"`
		CPUModel *string   `json:"cpu_model"`
		CPUs     int       `json:"cpus"`
	} `json:"manifest"`
	Plan struct {
		Driver   string  `json:"driver"`
		Address  string  `json:"address"`
		Model    string  `json:"model"`
		Arrivals *string `json:"arrivals"`
		Conns    int     `json:"conns"`
	} `json:"plan"`
	Totals struct {
		Interrupted bool     `json:"interrupted"`
		Done        int64    `json:"done"`
		Good        int64    `json:"good"`
		PerSecond   *float64 `json:"per_second"`
		Unanswered  int64    `json:"unanswered"`
		Unsent      int64    `json:"unsent"`
	} `json:"totals"`
	Response *struct {
		Max       int64 `json:"max_ns"`
		Quantiles []struct {
			Q     float64 `json:"q"`
			Value int64   `json:"ns"`
		} `json:"quantiles"`
	} `json:"response"`
	Objectives []Objective `json:"objectives"`
	Errors     []struct {
		Count int64 `json:"count"`
	} `json:"errors"`
	Lamp struct {
		Level string `json:"verdict"`
		Text  string `json:"text"`
	} `json:"lamp"`
	Host struct {
		User   int64 `json:"user_ns"`
		System int64 `json:"system_ns"`
	} `json:"host"`
}

// time orders the runs of a list: the start of a run or, if that is unknown, its run.json's time.
func (r *Run) time() time.Time {
	if r.Summary == nil || r.Summary.Began.IsZero() {
		return r.Modified
	}
	return r.Summary.Began
}

// readRun reads the run.json of a directory.
func readRun(root *os.Root, name string) Run {
	d, err := readDocument(root, path.Join(name, runFile))
	if err != nil {
		return Run{Error: clip(runFile+": "+err.Error(), maxText)}
	}
	return Run{Summary: d.summary()}
}

func readDocument(root *os.Root, name string) (*document, error) {
	f, info, err := open(root, name)
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, pe.Err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxRunFile {
		return nil, fmt.Errorf("%d bytes, of which at most %d are read", info.Size(), maxRunFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRunFile)) // it may have grown
	if err != nil {
		return nil, err
	}
	d := &document{}
	err = json.Unmarshal(text, d)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("byte %d: %w", wrong.Offset, err)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("%s: a %s where another type is expected", wrong.Field, wrong.Value)
	}
	if err == nil && d.Schema != schemaName {
		err = fmt.Errorf("the schema is %q, not %q", d.Schema, schemaName)
	}
	return d, err
}

func (d *document) summary() *Summary {
	m, p, t := &d.Manifest, &d.Plan, &d.Totals
	s := &Summary{
		Began: m.Began, Command: clip(strings.Join(m.Argv, " "), maxCommand),
		Version: clip(m.Version, maxText), Revision: clipped(m.Revision), CPUModel: clipped(m.CPUModel), CPUs: m.CPUs,
		Driver: clip(p.Driver, maxText), Target: clip(p.Address, maxText), Model: clip(p.Model, maxText), Arrivals: clipped(p.Arrivals), Conns: p.Conns,
		Interrupted: t.Interrupted, Good: t.Good, Rate: t.PerSecond,
		Verdict: clip(d.Lamp.Level, maxText), VerdictText: clip(d.Lamp.Text, maxText), Objectives: []Objective{},
	}
	if d.Response != nil {
		s.Max = &d.Response.Max
		for _, q := range d.Response.Quantiles {
			switch q.Q {
			case 0.5:
				s.P50 = &q.Value
			case 0.99:
				s.P99 = &q.Value
			}
		}
	}
	failed := t.Unanswered + t.Unsent
	for _, e := range d.Errors {
		failed += e.Count
	}
	if all := failed + t.Good; all > 0 {
		share := float64(failed) / float64(all)
		s.Errors = &share
	}
	if t.Done > 0 {
		each := (d.Host.User + d.Host.System) / t.Done
		s.CPU = &each
	}
	for _, o := range d.Objectives[:min(len(d.Objectives), maxObjectives)] {
		s.Objectives = append(s.Objectives, Objective{clip(o.Objective, maxText), clip(o.Outcome, maxText), clip(o.Text, maxText)})
	}
	return s
}

// clip returns the first bytes of a text, with a sign if there were more.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most -= len("…"); !utf8.RuneStart(text[most]); most-- {
	}
	return text[:most] + "…"
}

func clipped(text *string) *string {
	if text == nil {
		return nil
	}
	s := clip(*text, maxText)
	return &s
}
