package feature

import (
	"fmt"

	"paddock/fence/track/rule"
)

// Sink takes what a reader finds, in the order of the file.
type Sink interface {
	// Take takes a feature, and keeps nothing of it. An error ends the reading.
	Take(f *Feature) error
	// Note takes a finding. Its file is filled in by the sink.
	Note(f Finding)
	// Rule takes a rule.
	Rule(r *rule.Rule)
}

// Input is a file to read.
type Input struct {
	Name string // for errors
	Data []byte
	// Companion returns the file beside it with the same name and another extension, such as
	// ".dbf"; nil if there is none.
	Companion func(ext string) ([]byte, error)
}

// Errorf returns an error of the whole file.
func (in *Input) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", in.Name, fmt.Errorf(format, args...))
}

// Reader reads a file. The error is a defect of all of it, and names the file.
type Reader func(in *Input, out Sink) error

// List is a sink that keeps everything.
type List struct {
	Features []Feature
	Findings []Finding
	Rules    []*rule.Rule
}

// Take implements [Sink].
func (l *List) Take(f *Feature) error {
	l.Features = append(l.Features, *f)
	return nil
}

// Note implements [Sink].
func (l *List) Note(f Finding) { l.Findings = append(l.Findings, f) }

// Rule implements [Sink].
func (l *List) Rule(r *rule.Rule) { l.Rules = append(l.Rules, r) }
