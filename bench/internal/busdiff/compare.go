package busdiff

import (
	"fmt"
	"slices"
	"strings"
)

// difference is where two answers part.
type difference struct {
	where           string // "connection a", "queues" or "reasons"
	reference, ours string // the first frames that differ; "(nothing)" at an end
}

const nothing = "(nothing)"

func (d *difference) String() string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%s\n  nats-server: %q\n  paddock:     %q", d.where, d.reference, d.ours)
}

// compare returns nil if the answers are equal.
func compare(reference, ours *answer) *difference {
	for i := range reference.conns {
		if d := firstDifference("connection "+string(rune('a'+i)), reference.conns[i], ours.conns[i]); d != nil {
			return d
		}
	}
	if d := firstDifference("queues", reference.queued, ours.queued); d != nil {
		return d
	}
	if !slices.Equal(reference.reasons, ours.reasons) {
		return &difference{"reasons", strings.Join(reference.reasons, ", "), strings.Join(ours.reasons, ", ")}
	}
	return nil
}

func firstDifference[T ~string](where string, reference, ours []T) *difference {
	at := func(list []T, i int) string {
		if i < len(list) {
			return string(list[i])
		}
		return nothing
	}
	for i := range max(len(reference), len(ours)) {
		if r, o := at(reference, i), at(ours, i); r != o {
			return &difference{where, r, o}
		}
	}
	return nil
}
