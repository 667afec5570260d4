package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/views"
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

type unpublished struct{}

func (unpublished) Publish([]events.Record) {}

// Positions that wait in the forwarder when their node becomes the leader are before the ones that
// come to its doors from then on.
func TestNewLeaderKeepsTheOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var p *ingest.Pipeline
	f := NewForwarder(ctx, &Node{o: Options{Conn: &nats.Conn{}}}, func() *ingest.Pipeline { return p })
	p = ingest.New(ingest.Config{Replica: true, Forward: f, Fences: views.New(&fence.Catalog{}, nil), Publisher: unpublished{}})
	defer p.Close(t.Context())
	const batches = 20
	results := make(chan ingest.Result, batches)
	begun := track.Millis(time.Now().UnixMilli()) - 1000
	for n := range batches {
		if n == batches/2 {
			p.Lead()
		}
		b := &ingest.Batch{Positions: []track.Position{{Fleet: "f", ID: "v", Lon: 1, Lat: 1, Time: begun + track.Millis(n), Arrived: begun}}}
		if err := p.TrySubmit(b, func(r ingest.Result) { results <- r }); err != nil {
			t.Fatal(err)
		}
	}
	if !f.Waiting() || len(results) > 0 {
		t.Fatal("positions have overtaken those that wait")
	}
	ended := make(chan struct{})
	go func() { f.Run(); close(ended) }()
	for range batches {
		if r := <-results; r.Accepted != 1 || r.Late > 0 {
			t.Errorf("%+v", r)
		}
	}
	if f.Waiting() {
		t.Error("the doors do not reach the pipeline")
	}
	cancel()
	<-ended
}

// A request that is made again while the leader works on it, or after it is done, is done once,
// even if two processes have one name. Its answer goes to the latest attempt.
func TestRepeatedRequest(t *testing.T) {
	all := answers{newest: map[string]*answer{}}
	var got []string
	attempt := func(name string) func([]byte, error) {
		return func(body []byte, err error) { got = append(got, fmt.Sprintf("%s %s %v", name, body, err)) }
	}
	first := all.begin("id.1 node", attempt("one"))
	other := all.begin("other.1 node", attempt("other"))
	if first == nil || other == nil {
		t.Fatal("a first attempt is taken for a second one")
	}
	if all.begin("id.1 node", attempt("two")) != nil {
		t.Error("the request would be done twice")
	}
	first([]byte("done"), nil)
	other(nil, errors.New("no"))
	if all.begin("id.1 node", attempt("three")) != nil {
		t.Error("the request would be done again")
	}
	next := all.begin("id.2 node", attempt("next"))
	if next == nil {
		t.Fatal("the next request is not done")
	}
	next([]byte("too"), nil)
	want := []string{"two done <nil>", "other  no", "three done <nil>", "next too <nil>"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for n := range 10 * maxAskers {
		all.begin(fmt.Sprintf("process%d.1 node", n), attempt("more"))
	}
	if len(all.newest) != maxAskers || len(all.processes) != maxAskers {
		t.Errorf("%d answers are kept of %d processes", len(all.newest), len(all.processes))
	}
}
