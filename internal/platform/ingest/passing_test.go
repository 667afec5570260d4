package ingest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"paddock/fence/track"
)

// A batch that a replica passes on gets the answer that the leader would have given.
func TestPassing(t *testing.T) {
	leader, catalog := newPipeline(t, &published{}, Config{Track: track.Options{Initial: track.InitialEnter}})
	alone, other := newPipeline(t, &published{}, Config{Track: track.Options{Initial: track.InitialEnter}})
	addSet(t, catalog, "s", unitSquare("a", 0))
	addSet(t, other, "s", unitSquare("a", 0))
	for n := range 3 {
		b := &Batch{Trace: &track.Trace{Parent: "p", State: "s"}, Handled: &Handled{Session: [16]byte{1}, Epoch: 2, Index: 3, Count: uint64(n)}}
		for i := range 40 {
			p := fix(fmt.Sprint("v", i%7), n)
			p.Time += track.Millis(time.Duration(i%9) * time.Second / time.Millisecond)
			p.Speed = track.Measured(float64(i))
			b.Indexes = append(b.Indexes, 2*i)
			b.Positions = append(b.Positions, p)
		}
		b.Rejected = []Rejection{{Index: 1, Reason: "bad"}}
		same := *b
		same.Positions = slices.Clone(b.Positions)
		want, err := alone.Submit(t.Context(), &same)
		if err != nil {
			t.Fatal(err)
		}
		first, second := b.Half()
		var halves []Outcomes
		for _, part := range []*Batch{first, second} {
			stored := AppendBatch(nil, part)
			batches, err := ParseBatches(slices.Concat(stored, AppendBatch(nil, &Batch{})))
			if err != nil || len(batches) != 2 || len(batches[1].Positions) != 0 {
				t.Fatal(batches, err)
			}
			for i := range part.Positions {
				part.Positions[i].Arrived = 0
			}
			if !reflect.DeepEqual(batches[0], part) {
				t.Errorf("%+v, want %+v", batches[0], part)
			}
			done := make(chan Outcomes, 1)
			if err := leader.Pass(batches[0], func(o Outcomes) { done <- o }); err != nil {
				t.Fatal(err)
			}
			o := <-done
			read, err := ParseOutcomes(o.Append(nil), []int{len(part.Positions)})
			if err != nil {
				t.Fatal(err)
			}
			halves = append(halves, read[0])
			if _, err := ParseBatches(stored[:len(stored)-1]); err == nil {
				t.Error("half a batch is read")
			}
			if _, err := ParseOutcomes(o.Append(nil), []int{len(part.Positions) + 1}); err == nil {
				t.Error("outcomes of another batch are taken")
			}
		}
		if got := b.Result(halves[0].Then(halves[1])); !reflect.DeepEqual(got, want) {
			t.Errorf("the answer is\n%+v\nand not\n%+v", got, want)
		}
	}
	if r := (&Batch{Positions: []track.Position{fix("v", 0)}}); r.Result(r.Refusal("why")).Rejected[0].Reason != "why" {
		t.Error("the reason of a refusal is lost")
	}
}
