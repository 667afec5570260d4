package events

import (
	"math"
	"testing"
)

// A subscriber encodes a batch as one write, so its memory must not be a multiple of the longest
// properties.
func TestBatchesEndAtASize(t *testing.T) {
	l := NewLog(100, 1<<30, "run")
	for range 10 {
		l.Append([]Record{{JSON: Plain(make([]byte, batchBytes/4))}})
	}
	r := l.Reader(0, Filter{})
	var batches []int
	for {
		records, gap := r.TryNext(make([]Record, 0, 100))
		if gap.Count() > 0 {
			t.Fatalf("a gap: %+v", gap)
		}
		if len(records) == 0 {
			break
		}
		batches = append(batches, len(records))
	}
	if len(batches) != 3 || batches[0] != 4 || batches[1] != 4 || batches[2] != 2 {
		t.Errorf("batches of %v records", batches)
	}
	// A record larger than a batch is still delivered.
	l.Append([]Record{{JSON: Plain(make([]byte, 2*batchBytes))}})
	if records, _ := r.TryNext(make([]Record, 0, 100)); len(records) != 1 {
		t.Errorf("%d records", len(records))
	}
}

// A cursor beyond the log was invented by the client. It sees new events, and neither waits for
// that cursor nor starts over.
func TestAPlaceThatTheLogHasNotReachedIsTheLatest(t *testing.T) {
	for _, after := range []uint64{3, 4, 1 << 40, math.MaxUint64} {
		l := NewLog(100, 1<<20, "run")
		l.Append(make([]Record, 3))
		r := l.Reader(after, Filter{})
		if records, gap := r.TryNext(make([]Record, 0, 9)); len(records) > 0 || gap.Count() > 0 {
			t.Errorf("after %d: %d records, %+v", after, len(records), gap)
		}
		l.Append(make([]Record, 2))
		if records, _ := r.TryNext(make([]Record, 0, 9)); len(records) != 2 || records[0].Cursor != 4 {
			t.Errorf("after %d: then %+v", after, records)
		}
	}
}
