package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook"
)

// The bounds of a dry run.
const (
	dryRunPositions = 1_000_000
	dryRunEvents    = 10_000
)

// dryRunPath is the path of a dry run.
const dryRunPath = "/v1/rules/dry-run"

// dryRun is the body of POST /v1/rules/dry-run.
type dryRun struct {
	Rules     *[]*rule.Rule   `json:"rules"`     // in place of the present ones; nil: these
	Policy    *track.Policy   `json:"policy"`    // in place of those of all sets; nil: these
	Positions json.RawMessage `json:"positions"` // as of POST /v1/positions
	History   *struct {
		Object string    `json:"object"`
		Fleet  string    `json:"fleet"`
		From   time.Time `json:"from"`
		To     time.Time `json:"to"`
	} `json:"history"` // past positions in place of Positions
}

// dryRunResult is its answer.
type dryRunResult struct {
	Positions int                `json:"positions"`
	Accepted  int                `json:"accepted"`
	Late      int                `json:"late"`
	Outliers  int                `json:"outliers"`
	Rejected  []ingest.Rejection `json:"rejected"`
	Events    []json.RawMessage  `json:"events"` // CloudEvents
	Truncated bool               `json:"truncated,omitempty"`
}

// postDryRun tells which events positions would cause, from an empty state, and changes nothing.
// Each position arrives at its own time.
func (a *API) postDryRun(w http.ResponseWriter, r *http.Request) error {
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	var q dryRun
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	view, err := a.dryView(&q)
	if err != nil {
		return err
	}
	batch, err := a.dryPositions(r, &q)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, runDry(view, batch))
}

// dryView returns the present fences with the policy and the rules of the request.
func (a *API) dryView(q *dryRun) (*track.View, error) {
	state := a.cfg.Book.State()
	view := &track.View{}
	for s := range a.cfg.Catalog.All() {
		policy := q.Policy
		if policy == nil {
			policy, _, _ = state.Policy(s.Name())
		}
		view.Sets = append(view.Sets, track.TrackedSet{
			ID: track.SetID(len(view.Sets)), Name: s.Name(), Snapshot: s.Snapshot(), Policy: policy,
		})
	}
	rules := state.Rules()
	if q.Rules != nil {
		if n := rulebook.Nears(*q.Rules); n > rulebook.MaxNear {
			return nil, fail(http.StatusBadRequest, "body: rules: %d rules with near, the limit is %d", n, rulebook.MaxNear)
		}
		var err error
		if rules, err = rule.NewTable(*q.Rules); err != nil {
			return nil, fail(http.StatusBadRequest, "body: rules: %v", err)
		}
	}
	if rules.Len() > 0 {
		view.Rules = rules
	}
	return view, nil
}

// dryPositions returns the positions of the request, in their order.
func (a *API) dryPositions(r *http.Request, q *dryRun) (*ingest.Batch, error) {
	switch {
	case (q.Positions == nil) == (q.History == nil):
		return nil, fail(http.StatusBadRequest, "body: give one of positions and history")
	case q.History != nil:
		return a.dryHistory(r, q)
	}
	dec := ingest.Decoder{Arrived: track.MillisOf(time.Now()), MaxAhead: a.cfg.MaxAhead}
	batch, err := dec.Decode(q.Positions)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "body: positions: %v", err)
	}
	return batch, nil
}

// dryHistory reads past positions of an object.
func (a *API) dryHistory(r *http.Request, q *dryRun) (*ingest.Batch, error) {
	h := q.History
	past, err := a.past(r)
	switch {
	case err != nil:
		return nil, err
	case h.Object == "":
		return nil, fail(http.StatusBadRequest, "body: history: object: name one")
	case !h.From.Before(h.To):
		return nil, fail(http.StatusBadRequest, "body: history: to is not behind from")
	}
	if h.Fleet == "" {
		h.Fleet = events.DefaultFleet
	}
	batch := &ingest.Batch{}
	err = past.Track(r.Context(), history.Object{Fleet: h.Fleet, ID: h.Object}, track.MillisOf(h.From), track.MillisOf(h.To), func(fixes []history.Fix) bool {
		for i := range fixes {
			f := &fixes[i]
			batch.Positions = append(batch.Positions, track.Position{
				Fleet: h.Fleet, ID: h.Object, Lon: f.Lon, Lat: f.Lat, Time: f.Time,
				Speed: f.Speed, Heading: f.Heading, Accuracy: f.Accuracy, Props: json.RawMessage(f.Props),
			})
		}
		return len(batch.Positions) <= dryRunPositions
	})
	if err == nil && len(batch.Positions) > dryRunPositions {
		err = fail(http.StatusBadRequest, "body: history: more than %d positions: take a shorter time", dryRunPositions)
	}
	return batch, err
}

// dry is an empty state to which positions are applied, each as a record of its own.
type dry struct {
	part   *fold.Partition
	second *fold.Second
	view   *track.View
	record uint64
	told   []track.Event
	out    *dryRunResult
}

// runDry applies positions to an empty state.
func runDry(view *track.View, batch *ingest.Batch) *dryRunResult {
	out := &dryRunResult{Positions: len(batch.Positions) + len(batch.Rejected), Rejected: batch.Rejected, Events: []json.RawMessage{}}
	if out.Rejected == nil {
		out.Rejected = []ingest.Rejection{}
	}
	d := &dry{part: fold.NewPartition(track.Options{}), second: fold.NewSecond(), view: view, out: out}
	for i := range batch.Positions {
		p := &batch.Positions[i]
		p.Arrived = p.Time
		if i == 0 {
			d.part.SetView(view, p.Arrived)
		}
		d.part.Advance(p.Arrived)
		d.settle(p.Arrived)
		var outcome track.Outcome
		outcome, d.told = d.part.Shard.Apply(p, d.told)
		switch outcome {
		case track.Accepted, track.Held:
			out.Accepted++
		case track.Outlier:
			out.Outliers++
		default:
			out.Late++
		}
		d.end(p.Arrived)
	}
	if n := len(batch.Positions); n > 0 {
		d.settle(batch.Positions[n-1].Arrived)
	}
	return out
}

// settle does what is due at a time.
func (d *dry) settle(at track.Millis) {
	for more := true; more; {
		d.told, more = d.part.Step(d.told, dryRunEvents)
		d.end(at)
	}
}

// end ends a record: its events are part of the result, those about several objects last.
func (d *dry) end(at track.Millis) {
	d.record++
	d.second.Take(d.part)
	d.told, _ = d.second.End(fold.Round{Number: d.record, At: at, View: d.view}, d.told)
	for i := range d.told {
		if d.out.Truncated = len(d.out.Events) == dryRunEvents; d.out.Truncated {
			break
		}
		rec := events.NewRecord(&d.told[i], "dry")
		d.out.Events = append(d.out.Events, rec.JSON.Bytes())
	}
	d.told = d.told[:0]
}
