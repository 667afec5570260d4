package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook/dryrun"
	"paddock/internal/process/keyring"
)

const (
	// dryRunPositions bounds the past positions of a dry run.
	dryRunPositions = 1_000_000
	// positionBytes is the size of a position in memory, without Props, in a slice that grows.
	positionBytes = 160
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
	dryrun.Count
	Rejected []ingest.Rejection `json:"rejected"`
	dryrun.Events
}

// postDryRun tells which events positions would cause, from an empty state, and changes nothing.
// Each position arrives at its own time.
func (a *API) postDryRun(w http.ResponseWriter, r *http.Request) error {
	if g := keyring.From(r.Context()); g.OfSets() {
		return fail(http.StatusForbidden, "the key %.64q is for some sets only: a dry run uses all of them", g.Name())
	}
	l := a.memory.Lease()
	defer l.Release()
	var q dryRun
	if err := a.readJSON(w, r, l, &q); err != nil {
		return err
	}
	view, err := a.dryView(&q)
	if err != nil {
		return err
	}
	past := a.memory.Lease()
	defer past.Release()
	batch, err := a.dryPositions(r, past, &q)
	if err != nil {
		return err
	}
	for i := range batch.Positions {
		if err := permitFleet(r, batch.Positions[i].Fleet); err != nil {
			return err
		}
	}
	out, err := runDry(r.Context(), view, batch)
	if err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	return writeJSON(w, http.StatusOK, out)
}

// dryView returns the present fences with the policy and the rules of the request.
func (a *API) dryView(q *dryRun) (*track.View, error) {
	state := a.cfg.Book.State()
	if q.Rules != nil {
		if i := slices.Index(*q.Rules, nil); i >= 0 {
			return nil, fail(http.StatusBadRequest, "body: rules[%d]: null: want a rule", i)
		}
		var err error
		if state, err = state.WithRules(*q.Rules); err != nil {
			return nil, fail(http.StatusBadRequest, "body: rules: %v", err)
		}
	}
	return dryrun.View(a.cfg.Catalog, state, q.Policy), nil
}

// dryPositions returns the positions of the request, in their order. Past ones are in memory of the
// lease.
func (a *API) dryPositions(r *http.Request, l *budget.Lease, q *dryRun) (*ingest.Batch, error) {
	switch {
	case (q.Positions == nil) == (q.History == nil):
		return nil, fail(http.StatusBadRequest, "body: give one of positions and history")
	case q.History != nil:
		return a.dryHistory(r, l, q)
	}
	fleet, err := sendingFleet(r, "")
	if err != nil {
		return nil, err
	}
	dec := ingest.Decoder{Fleet: fleet, Arrived: track.MillisOf(time.Now()), MaxAhead: a.cfg.MaxAhead}
	batch, err := dec.Decode(q.Positions)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "body: positions: %v", err)
	}
	return batch, nil
}

// dryHistory reads past positions of an object, into memory of the lease.
func (a *API) dryHistory(r *http.Request, l *budget.Lease, q *dryRun) (*ingest.Batch, error) {
	h := q.History
	if g := keyring.From(r.Context()); !g.Can(keyring.ObjectsRead) {
		return nil, fail(http.StatusForbidden, "the key %.64q may not do this with the past of an object: it needs %v", g.Name(), keyring.ObjectsRead)
	}
	past, err := a.past(r)
	switch {
	case err != nil:
		return nil, err
	case h.Object == "":
		return nil, fail(http.StatusBadRequest, "body: history: object: name one")
	case !h.From.Before(h.To):
		return nil, fail(http.StatusBadRequest, "body: history: to is not behind from")
	}
	if h.Fleet, err = fleetOf(r, h.Fleet, events.DefaultFleet); err != nil {
		return nil, err
	}
	batch := &ingest.Batch{}
	var crowded error
	size := 0
	err = past.Track(r.Context(), history.Object{Fleet: h.Fleet, ID: h.Object}, track.MillisOf(h.From), track.MillisOf(h.To), func(fixes []history.Fix) bool {
		for i := range fixes {
			f := &fixes[i]
			batch.Positions = append(batch.Positions, track.Position{
				Fleet: h.Fleet, ID: h.Object, Lon: f.Lon, Lat: f.Lat, Time: f.Time,
				Speed: f.Speed, Heading: f.Heading, Accuracy: f.Accuracy,
			})
			if f.Props != "" { // else it leaves those of the object as they are
				batch.Positions[len(batch.Positions)-1].Props = json.RawMessage(f.Props)
			}
			size += positionBytes + len(f.Props)
		}
		crowded = hold(l, int64(size))
		return len(batch.Positions) <= dryRunPositions && crowded == nil
	})
	if err = errors.Join(err, crowded); err == nil && len(batch.Positions) > dryRunPositions {
		err = fail(http.StatusBadRequest, "body: history: more than %d positions: take a shorter time", dryRunPositions)
	}
	return batch, err
}

// runDry applies positions to an empty state.
func runDry(ctx context.Context, view *track.View, batch *ingest.Batch) (*dryRunResult, error) {
	out := &dryRunResult{Rejected: append([]ingest.Rejection{}, batch.Rejected...)}
	var err error
	out.Count, out.Events, err = dryrun.Encode(ctx, view, batch.Positions)
	out.Positions += len(batch.Rejected) + batch.Omitted
	return out, err
}
