package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"paddock/internal/platform/journal"
)

// entryVersion is the first byte of an entry of the log. It is raised with the form of entries, and
// with each change of the fold by which the same records have other events or states: nodes of
// different versions must not apply the same entries.
const entryVersion = 4

// Kinds of steps.
const (
	stepRecord = 'R'
	stepChange = 'C'
)

// step is a part of an entry: a record of the inputs, or a change of values.
type step struct {
	kind   byte
	number uint64 // of the record
	record []byte
	remove []journal.Span
	put    []journal.Value
}

var errEntry = errors.New("not a valid entry of the log")

// appendStep appends a step. Numbers are varints, and bytes follow their length.
func appendStep(b []byte, s *step) []byte {
	b = append(b, s.kind)
	if s.kind == stepRecord {
		b = binary.AppendUvarint(b, s.number)
		return append(binary.AppendUvarint(b, uint64(len(s.record))), s.record...)
	}
	b = binary.AppendUvarint(b, uint64(len(s.remove)))
	for _, span := range s.remove {
		b = journal.AppendText(journal.AppendText(b, span.From), span.To)
	}
	b = binary.AppendUvarint(b, uint64(len(s.put)))
	for _, v := range s.put {
		b = journal.AppendText(b, v.Name)
		b = append(binary.AppendUvarint(b, uint64(len(v.Bytes))), v.Bytes...)
	}
	return b
}

// parseSteps reads an entry. Bytes of it share memory with b.
func parseSteps(b []byte) (steps []step, err error) {
	f := &journal.Fields{Rest: b}
	switch v := f.Byte(); {
	case f.Failed:
		return nil, errEntry
	case v > entryVersion:
		return nil, fmt.Errorf("%w: it is of version %d, and this program applies %d: upgrade this node", errEntry, v, entryVersion)
	case v < entryVersion:
		return nil, fmt.Errorf("%w: it is of version %d, and this program applies %d: let the older program apply it before the upgrade, or begin with an empty directory and a snapshot of the new version",
			errEntry, v, entryVersion)
	}
	for len(f.Rest) > 0 {
		s := step{kind: f.Byte()}
		switch s.kind {
		case stepRecord:
			s.number = f.Uint()
			s.record = f.Take(f.Uint())
		case stepChange:
			for n := f.Uint(); n > 0 && !f.Failed; n-- {
				s.remove = append(s.remove, journal.Span{From: f.Text(), To: f.Text()})
			}
			for n := f.Uint(); n > 0 && !f.Failed; n-- {
				s.put = append(s.put, journal.Value{Name: f.Text(), Bytes: f.Take(f.Uint())})
			}
		default:
			return nil, fmt.Errorf("%w: a step of kind %q", errEntry, s.kind)
		}
		if f.Failed {
			return nil, errEntry
		}
		steps = append(steps, s)
	}
	return steps, nil
}
