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
	if all := differences(reference, ours); len(all) > 0 {
		return all[0]
	}
	return nil
}

// differences are the first ones of each connection, of the queues, and of the
// reasons.
func differences(reference, ours *answer) (all []*difference) {
	add := func(d *difference) {
		if d != nil {
			all = append(all, d)
		}
	}
	for i := range reference.conns {
		add(firstDifference("connection "+string(rune('a'+i)), reference.conns[i], ours.conns[i]))
	}
	add(firstDifference("queues", reference.queued, ours.queued))
	if !slices.Equal(reference.reasons, ours.reasons) {
		add(&difference{"reasons", strings.Join(reference.reasons, ", "), strings.Join(ours.reasons, ", ")})
	}
	return all
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
