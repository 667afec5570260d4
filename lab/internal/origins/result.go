package origins

import (
	"cmp"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"time"

	"paddock/lab/internal/documents"
	"paddock/lab/internal/results"
)

// Report is origins.json: all rows that were measured.
type Report struct {
	Date    time.Time       `json:"date"`
	Version string          `json:"version"`
	Machine results.Machine `json:"machine"`
	Scale   float64         `json:"scale"`
	Rounds  int             `json:"rounds"`
	Rows    []*Result       `json:"rows"` // in the order of the documents
}

// The states of a row.
const (
	Measured   = "measured"
	Unmeasured = "unmeasured" // the run ended without figures
	Failed     = "failed"     // a failure of this side
)

// Result is a row with the figures of the document, ours and the peer's.
type Result struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	State    string            `json:"state"`
	Error    string            `json:"error,omitempty"`
	Commands [][]string        `json:"commands"` // of `paddock bench`, at the scale; what they ask is a word with $
	Document map[string]string `json:"document"`
	TrueRate []float64         `json:"true_rate,omitempty"` // above the first, and at most the second
	Ours     *Side             `json:"ours"`
	Peer     *Side             `json:"peer"`
	Missing  []string          `json:"missing,omitempty"` // why peers are not there

	Lead         string          `json:"lead"` // the column of the quotients
	OverPeer     *results.Spread `json:"ours_over_peer"`
	OverDocument *float64        `json:"ours_over_document"`
	// Verdict is that on our load generator, the worst of all rounds; "" = the client is part of
	// what is measured.
	Verdict string `json:"lamp"`
	Why     string `json:"lamp_text,omitempty"`
	Note    string `json:"note,omitempty"`

	row *documents.Row
}

// Side is the measurement of ours, or of the peers.
type Side struct {
	Name    string               `json:"name"`
	Server  string               `json:"server,omitempty"` // that was asked
	Rounds  []map[string]float64 `json:"rounds"`           // by column, in its unit
	Figures map[string]float64   `json:"figures"`          // their medians
	Curve   [][2]float64         `json:"curve,omitempty"`  // quantiles of the response times, and ms; of the last round
}

// bind finds the row of a result that was read; false if there is none.
func (r *Result) bind() bool {
	for _, row := range documents.Rows() {
		if row.ID == r.ID {
			r.row = row
		}
	}
	return r.row != nil
}

// unmeasured is the exit code of a benchmark that has measured nothing.
const unmeasured = 4

// add adds the result of a job for a row.
func (r *Report) add(row *documents.Row, j *job, names []string) {
	one := &Result{
		ID: row.ID, Name: row.Name, State: Measured, Commands: j.lines, Document: row.Figures, Note: row.Note, Lead: row.Lead().ID, row: row,
		Ours: newSide(row, j, ours),
	}
	if low, high := row.TrueRate(); high > 0 {
		one.TrueRate = []float64{low, high}
	}
	if err := j.gone[ours]; err != nil {
		one.State, one.Error = Failed, err.Error()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == unmeasured {
			one.State = Unmeasured
		}
	}
	for _, name := range names {
		one.Peer = one.Peer.join(newSide(row, j, name))
	}
	for name, err := range j.gone {
		if slices.Contains(names, name) || slices.Contains(row.Peers, name) {
			one.Missing = append(one.Missing, err.Error())
		}
	}
	slices.Sort(one.Missing)
	for _, t := range j.takes[ours] {
		one.worse(t)
	}
	one.compare()
	all := documents.Rows()
	r.Rows = append(r.Rows, one)
	slices.SortFunc(r.Rows, func(a, b *Result) int { return cmp.Compare(slices.Index(all, a.row), slices.Index(all, b.row)) })
}

// newSide returns the figures of a contender for a row; nil if it was not run.
func newSide(row *documents.Row, j *job, name string) *Side {
	if len(j.takes[name]) == 0 {
		return nil
	}
	s := &Side{Name: name, Server: j.takes[name][0].server}
	for _, t := range j.takes[name] {
		s.Rounds, s.Curve = append(s.Rounds, t.figures(row, name)), nil
		quantiles, _ := at(t.docs[0], "rows.0.response.quantiles").([]any)
		for _, q := range quantiles {
			share, _ := at(q, "q").(float64)
			ns, _ := at(q, "ns").(float64)
			s.Curve = append(s.Curve, [2]float64{share, ns / float64(time.Millisecond)})
		}
	}
	return s.medians()
}

// medians computes the medians of the rounds.
func (s *Side) medians() *Side {
	s.Figures = map[string]float64{}
	for _, round := range s.Rounds {
		for column := range round {
			s.Figures[column] = results.NewSpread(s.values(column)).Median
		}
	}
	return s
}

// values returns a column of all rounds that have it.
func (s *Side) values(column string) (values []float64) {
	if s == nil {
		return nil
	}
	for _, round := range s.Rounds {
		if v, ok := round[column]; ok {
			values = append(values, v)
		}
	}
	return values
}

// join returns two peers as one: each has columns of its own.
func (s *Side) join(other *Side) *Side {
	if s == nil || other == nil {
		return cmp.Or(s, other)
	}
	s.Name += ", " + other.Name
	for i := range min(len(s.Rounds), len(other.Rounds)) {
		maps.Copy(s.Rounds[i], other.Rounds[i])
	}
	return s.medians()
}

// compare computes the quotients.
func (r *Result) compare() {
	mine, theirs := r.Ours.values(r.Lead), r.Peer.values(r.Lead)
	if v, ok := r.row.Value(r.Lead); ok && v > 0 && len(mine) > 0 {
		over := r.Ours.Figures[r.Lead] / v
		r.OverDocument = &over
	}
	if len(mine) > 0 && len(theirs) > 0 && slices.Min(theirs) > 0 {
		spread := results.Within(mine, theirs)
		r.OverPeer = &spread
	}
}

// worse takes over the verdicts of a run that are worse.
func (r *Result) worse(t *take) {
	verdicts := []string{"", "green", "amber", "red"}
	for _, doc := range t.docs {
		for _, path := range [][2]string{{"lamp.verdict", "lamp.text"}, {"rows.0.lamp", "rows.0.lamp_text"}} {
			verdict, _ := at(doc, path[0]).(string)
			if slices.Index(verdicts, verdict) > slices.Index(verdicts, r.Verdict) {
				r.Verdict = verdict
				r.Why, _ = at(doc, path[1]).(string)
			}
		}
	}
}

// Failed returns the rows that failed, and whether any was measured.
func (r *Report) Failed() (failed []string, measured bool) {
	for _, one := range r.Rows {
		if one.State == Failed {
			failed = append(failed, one.ID)
		}
		measured = measured || one.State == Measured
	}
	return failed, measured
}
