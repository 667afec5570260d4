package feature

import "paddock/fence/track/rule"

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
