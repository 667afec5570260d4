package sinks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/fence/track/rule"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/sinks/kafkasink"
	"paddock/internal/platform/deliver/sinks/mqttsink"
	"paddock/internal/platform/deliver/sinks/natssink"
	"paddock/internal/platform/deliver/sinks/ndjson"
	"paddock/internal/process/strictyaml"
)

// MaxSinks bounds the sinks of a file.
const MaxSinks = 100

// Settings is the section sinks of the configuration file.
type Settings struct{ Sinks []*Sink }

// Sink is one of the section: which events go where.
type Sink struct {
	ID string
	deliver.Selection
	Tile38  bool // events as notifications of Tile38
	Enabled bool
	Kind    string // of the end: one of kinds

	to fmt.Stringer // the settings of the end
}

// File returns the file of a sink that is one, or "".
func (s *Sink) File() string {
	if c, ok := s.to.(*ndjson.Config); ok {
		return c.Path
	}
	return ""
}

// end returns the end, which connects when it is used.
func (s *Sink) end() deliver.End {
	switch c := s.to.(type) {
	case *ndjson.Config:
		return ndjson.New(c, s.Tile38)
	case *kafkasink.Config:
		return kafkasink.New(c, s.Tile38)
	case *mqttsink.Config:
		return mqttsink.New(c, s.Tile38)
	case *natssink.Config:
		return natssink.New(c, s.Tile38)
	}
	panic("sinks: an end that is not known") // readKind makes no other
}

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Settings {
	s := &Settings{}
	items := n.Items("sinks")
	if len(items) > MaxSinks {
		n.Fault("%d sinks, the limit is %d", len(items), MaxSinks)
		return s
	}
	first := map[string]string{} // places by id
	for _, item := range items {
		sink := readSink(item)
		if other := first[sink.ID]; other != "" && sink.ID != "" {
			item.Fault("id: %s is the id of the sink at %s too", sink.ID, other)
			continue
		}
		first[sink.ID] = item.Place()
		s.Sinks = append(s.Sinks, sink)
	}
	slices.SortFunc(s.Sinks, func(a, b *Sink) int { return strings.Compare(a.ID, b.ID) })
	return s
}

func text(s string) (string, error) { return s, nil }

func readSink(n *strictyaml.Node) *Sink {
	s := &Sink{Enabled: true}
	at := map[string]*strictyaml.Node{}
	fields := strictyaml.Fields{
		"id": strictyaml.Into(&s.ID, text), "objects": strictyaml.Into(&s.Objects, text),
		"format": strictyaml.Into(&s.Tile38, strictyaml.Either("cloudevents", "tile38")), "enabled": strictyaml.Into(&s.Enabled, strictyaml.Either("false", "true")),
	}
	for name, list := range s.Lists() {
		fields[name] = strictyaml.ListInto(list, text)
	}
	for kind, read := range kinds {
		fields[kind] = func(e strictyaml.Entry) {
			if s.to != nil {
				e.At.Fault("a sink has one of %s", kindNames())
				return
			}
			s.Kind, s.to = kind, read(e.Value)
		}
	}
	for name, read := range fields {
		fields[name] = func(e strictyaml.Entry) {
			at[name] = e.Value
			read(e)
		}
	}
	fields.Read(n, "a sink")
	fault := func(field string, err error) {
		node := n
		if found := at[field]; found != nil {
			node = found
		}
		node.Fault("%s: %w", field, err)
	}
	if err := rule.CheckID(s.ID); err != nil {
		fault("id", err)
	}
	s.Check(fault)
	if s.to == nil {
		n.Fault("a sink has one of %s", kindNames())
	}
	return s
}

// kinds holds the readers of the kinds of ends.
var kinds = map[string]func(*strictyaml.Node) fmt.Stringer{
	"file":  func(n *strictyaml.Node) fmt.Stringer { return ndjson.Read(n) },
	"kafka": func(n *strictyaml.Node) fmt.Stringer { return kafkasink.Read(n) },
	"mqtt":  func(n *strictyaml.Node) fmt.Stringer { return mqttsink.Read(n) },
	"nats":  func(n *strictyaml.Node) fmt.Stringer { return natssink.Read(n) },
}

func kindNames() string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Locate makes relative paths those below the directory of the configuration file. The error names
// two sinks that write one file.
func (s *Settings) Locate(dir string) error {
	for i, sink := range s.Sinks {
		if c, ok := sink.to.(interface{ Locate(dir string) }); ok {
			c.Locate(dir)
		}
		for _, other := range s.Sinks[:i] {
			if sink.File() != "" && isSame(sink.File(), other.File()) {
				return fmt.Errorf("%s: file: the sink %s writes %s too: give each its own file", sink.ID, other.ID, other.File())
			}
		}
	}
	return nil
}

// isSame reports whether two paths are those of one file, which may still have to be made.
func isSame(a, b string) bool {
	there := func(a, b string) bool {
		one, err := os.Stat(a)
		if err != nil {
			return false
		}
		other, err := os.Stat(b)
		return err == nil && os.SameFile(one, other)
	}
	return filepath.Clean(a) == filepath.Clean(b) || there(a, b) ||
		filepath.Base(a) == filepath.Base(b) && there(filepath.Dir(a), filepath.Dir(b))
}

// idOf returns the id of the sink that a stored value is of.
func idOf(name string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/")
	return id
}
