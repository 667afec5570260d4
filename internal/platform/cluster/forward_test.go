package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
)

// A batch without positions needs no leader.
func TestEmptyBatchIsNotForwarded(t *testing.T) {
	f := NewForwarder(t.Context(), nil, nil)
	r, err := f.Submit(t.Context(), &ingest.Batch{Rejected: []ingest.Rejection{{Reason: "body: x"}}})
	if err != nil || r.Accepted != 0 || len(r.Rejected) != 1 || len(f.waiting) > 0 {
		t.Errorf("%+v, %v; %d wait", r, err, len(f.waiting))
	}
}

// The parts of a batch fit into requests of any size that holds a position, and are done as one.
func TestSplit(t *testing.T) {
	b := &ingest.Batch{}
	for i := range 100 {
		b.Positions = append(b.Positions, track.Position{Fleet: "f", ID: fmt.Sprint(i), Props: []byte(`"` + strings.Repeat("x", 1000) + `"`)})
	}
	var answers []ingest.Result
	const most = 8 << 10
	parts := split(b, most, time.Now(), func(o ingest.Outcomes) { answers = append(answers, b.Result(o)) })
	n := 0
	for _, p := range parts {
		if len(p.body) > most {
			t.Errorf("a part of %d bytes", len(p.body))
		}
		for i := range p.batch.Positions {
			if got := p.batch.Positions[i].ID; got != fmt.Sprint(n) {
				t.Fatalf("%s is at place %d", got, n)
			}
			n++
		}
		if len(answers) > 0 {
			t.Error("the batch is done before its last part")
		}
		p.done(p.batch.Refusal(noLeader))
	}
	if n != 100 || len(answers) != 1 || answers[0].Overloaded != 100 {
		t.Errorf("%d positions, %+v", n, answers)
	}
}
