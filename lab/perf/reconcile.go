package perf

import (
	"context"
	"fmt"
	"time"

	"paddock/lab/internal/numbers"
)

// reconcile compares the successful calls with the server's record. After a restart it seeks
// missing calls among acknowledged posts only: the journal has these.
func (r *Run) reconcile(ctx context.Context, report *Report, workers []*worker, before, after serverReport) *Verified {
	v := &Verified{Restarted: after.Instance != "" && before.Instance != after.Instance, Reconnects: r.reconnects()}
	at := [classes]*Class{&v.Posts, &v.Acked, &v.Requests, &v.Streams}
	for c := range classes {
		at[c].Corrupt = r.corrupt[c]
		if after.Instance == before.Instance {
			at[c].Corrupt += after.Corrupt[c] - before.Corrupt[c]
		} else {
			at[c].Corrupt += after.Corrupt[c]
		}
		for _, w := range workers {
			w.count(c, at[c])
			report.Accounts = append(report.Accounts, Account{classNames[c], w.connIndex, w.routine, w.verify.seq[c], w.verify.ok[c].Spans})
		}
	}
	if after.Instance == "" {
		return v // it did not answer: Report.Unsettled says why
	}
	for _, w := range workers {
		for c := range classes {
			if err := w.reconcile(ctx, report, c, at[c], v.Restarted); err != nil {
				report.Unsettled = fmt.Sprintf("ask the server for its count, on connection %d: %v", w.connIndex, err)
				return v
			}
		}
	}
	return v
}

// count adds the worker's own account of its calls.
func (w *worker) count(c class, into *Class) {
	ok := &w.verify.ok[c]
	into.Failed += w.verify.failed[c]
	into.NotSent += w.verify.notSent[c]
	into.Done += ok.Count() + ok.Overflow
}

// reconcile compares one lane.
func (w *worker) reconcile(ctx context.Context, report *Report, c class, into *Class, restarted bool) error {
	if w.verify.seq[c] == 0 {
		return nil
	}
	had, err := w.laneReport(ctx, c, !restarted || c == classAcked)
	if err != nil {
		return err
	}
	into.Duplicates += had.Duplicates
	into.Disorder += had.Disorder
	if restarted && c != classAcked {
		return nil
	}
	n, first := numbers.Missing(w.verify.ok[c].Spans, had.Spans, maxFailures-len(report.Lost))
	into.Missing += max(0, n-had.Overflow)
	for _, seq := range first {
		report.Lost = append(report.Lost, FailedCall{
			Verb: classNames[c], Conn: w.connIndex, Routine: w.routine, Seq: seq, Error: "succeeded, but the server never had it",
		})
	}
	return nil
}

// laneReport asks for the server's record of a lane. While calls are missing that may still be on
// their way it asks again, until their number is unchanged for r.stall. Then no lane waits again.
func (w *worker) laneReport(ctx context.Context, c class, wait bool) (had laneReport, err error) {
	r := w.run
	query := laneQuery{r.run, c, w.verify.lane}
	last, changed := int64(-1), time.Now()
	for {
		if had, err = ask[laneReport](ctx, w.conn, kindVerifyReport, query); err != nil {
			return had, err
		}
		n, _ := numbers.Missing(w.verify.ok[c].Spans, had.Spans, 0)
		switch {
		case n == 0 || !wait || r.stalled:
			return had, nil
		case n != last:
			last, changed = n, time.Now()
		case time.Since(changed) > r.stall:
			r.stalled = true
			return had, nil
		}
		time.Sleep(pollTime)
	}
}
