package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
)

func TestEntries(t *testing.T) {
	want := []step{
		{kind: stepRecord, number: 7, record: []byte("record")},
		{kind: stepChange, remove: []journal.Span{{From: "a", To: "b"}, journal.Only("c")}, put: []journal.Value{{Name: "d", Bytes: []byte("e")}}},
		{kind: stepRecord, number: 8, record: []byte{}},
		{kind: stepChange},
	}
	b := []byte{entryVersion}
	for i := range want {
		b = appendStep(b, &want[i])
	}
	got, err := parseSteps(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := 1; n < len(b); n++ { // an end between two steps is an entry with fewer of them
		if got, err := parseSteps(b[:n]); err == nil && !reflect.DeepEqual(got, want[:len(got)]) && len(got) > 0 {
			t.Errorf("the first %d bytes are %+v", n, got)
		} else if err != nil && !errors.Is(err, errEntry) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for _, bad := range []string{"", "\x03", "\x05", "\x04X", "\x04R\x01\xff"} {
		if _, err := parseSteps([]byte(bad)); !errors.Is(err, errEntry) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// A follower writes nothing, and its journal stays as it is.
func TestAFollowerWritesNothing(t *testing.T) {
	own := journal.NewMemory()
	failed := 0
	j := NewJournal(context.Background(), own, nil, func(error) { failed++ })
	if _, err := j.Append([]byte("r")); !errors.Is(err, ingest.ErrReplica) {
		t.Errorf("append: %v", err)
	}
	if err := j.Put(journal.Value{Name: "a", Bytes: []byte("b")}); !errors.Is(err, ingest.ErrReplica) {
		t.Errorf("put: %v", err)
	}
	_, newest := own.Bounds()
	if names, err := own.Names(""); newest != 0 || len(names) != 0 || err != nil || failed != 0 {
		t.Errorf("record %d, values %q, %d failures", newest, names, failed)
	}
}

// The number of a record is the same in the log and at each node.
func TestStepsOutOfOrder(t *testing.T) {
	own := journal.NewMemory()
	for i, want := range []error{nil, journal.ErrOrder} {
		s := step{kind: stepRecord, number: 1, record: fmt.Append(nil, i)}
		if err := applyStep(own, &s); !errors.Is(err, want) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	for _, place := range []Place{{}, {Sequence: 5, Bytes: 1000}, {Sequence: 1 << 40, Bytes: 1 << 50}} {
		if place.Sequence > 0 {
			if err := own.Put(place.Value()); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := PlaceOf(own); got != place || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A change that no entry holds is refused alone, and steps that wait together share entries that
// hold them.
func TestLargeChanges(t *testing.T) {
	j := NewJournal(t.Context(), nil, nil, func(err error) { t.Error(err) })
	value := make([]byte, maxEntry)
	if err := j.Put(journal.Value{Name: "a", Bytes: value}); !errors.Is(err, journal.ErrTooLarge) || j.over != nil || len(j.waiting) > 0 {
		t.Errorf("%v, and %d steps wait", err, len(j.waiting))
	}
	for _, n := range []int{100 << 20, 150 << 20, 100 << 20, 1, maxEntry - 3*overhead} {
		j.waiting = append(j.waiting, &writing{step: step{kind: stepChange, put: []journal.Value{{Bytes: value[:n]}}}})
	}
	for _, want := range []int{2, 2, 1, 0} {
		if got := j.gather(); len(got) != want {
			t.Errorf("%d steps of an entry, want %d", len(got), want)
		}
	}
}
