package perf

import (
	"errors"
	"slices"
	"testing"

	"paddock/lab/internal/numbers"
)

func TestLedger(t *testing.T) {
	var l ledger
	for _, seq := range []uint64{1, 2, 5, 5, 4} {
		if id, err := l.take(classAcked, appendBody(nil, bodyID{9, 3, seq}, 40)); err != nil || id.seq != seq {
			t.Fatal(id, err)
		}
	}
	got := l.report(laneQuery{9, classAcked, 3})
	if !slices.Equal(got.Spans, []numbers.Span{{First: 1, Last: 2}, {First: 4, Last: 5}}) || got.Duplicates != 1 || got.Disorder != 1 {
		t.Errorf("%+v", got)
	}
	for _, other := range []laneQuery{{9, classPost, 3}, {9, classAcked, 4}, {8, classAcked, 3}} {
		if got := l.report(other); got.Spans != nil {
			t.Errorf("%v: %+v", other, got)
		}
	}
	if _, err := l.take(classPost, []byte("short")); !errors.Is(err, errBody) {
		t.Error(err)
	}
	l.spoiled(classStream)
	if got := l.spoilt(); got != [classes]int64{classPost: 1, classStream: 1} {
		t.Errorf("corrupt: %v", got)
	}
}

func TestLedgerForgetsTheOldestRun(t *testing.T) {
	var l ledger
	for run := range uint64(maxRuns + 1) {
		if _, err := l.take(classPost, appendBody(nil, bodyID{run, 1, 1}, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.runs) != maxRuns || l.report(laneQuery{0, classPost, 1}).Spans != nil || l.report(laneQuery{maxRuns, classPost, 1}).Spans == nil {
		t.Errorf("%d runs", len(l.runs))
	}
}
