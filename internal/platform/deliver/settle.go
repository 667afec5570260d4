package deliver

import (
	"fmt"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// maxReason bounds the reason of an attempt, in bytes.
const maxReason = 256

// settle records the outcome of an attempt and decides what the follower does next.
func (f *Follower) settle(j *job, r Result, begun time.Time) {
	f.o.Counts.attempts[r.Verdict].Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(r.Reason) > maxReason {
		r.Reason = r.Reason[:maxReason]
	}
	now := begun.Add(time.Since(begun)) // also if the clock was set meanwhile
	last := f.s.Last
	f.s.Last = &Attempt{At: instant(begun), Outcome: r.Verdict.String(), Status: r.Status, Reason: r.Reason, Events: len(j.batch.Items), Millis: now.Sub(begun).Milliseconds()}
	f.remember(*f.s.Last)
	if r.Verdict == Delivered {
		f.s.Failures, f.s.Since, f.s.Next = 0, time.Time{}, time.Time{}
		f.taken(j)
		return
	}
	f.drop()
	if r.Taken > 0 {
		f.taken(j.cut(r.Taken))
		f.s.Failures, f.s.Since = 0, time.Time{}
	}
	if f.changed { // the failure is one of a configuration that no longer holds
		f.save()
		return
	}
	at := f.progressOf(j)
	at.Repeat = len(j.batch.Items)
	if r.First {
		at.Repeat = 1
	}
	f.s.Since = f.failingSince(begun, last)
	f.s.Failures++
	f.s.Next = instant(now.Add(f.o.Schedule.wait(f.s.Failures, r.After) + time.Millisecond - 1))
	if r.Verdict == Refused {
		at.Refusals++
	}
	switch {
	case r.Verdict == Gone:
		f.giveUp(now, r.Reason)
	case now.Sub(f.s.Since) >= f.o.Schedule.GiveUp:
		f.giveUp(now, fmt.Sprintf("no success since %s: %s", events.FormatTime(f.s.Since), r.Reason))
	case at.Refusals >= f.o.Schedule.Refusals:
		if r.First && len(j.batch.Items) > 1 {
			j = j.cut(1)
		}
		f.bury(j, r)
		return
	}
	f.save()
}

// failingSince returns the time of the first failure after the last success, for a failure that has
// begun now. It is later by what does not count: all but the longest pause between two attempts. So
// an end is not given up for a time without events or without the process, nor because the clock
// was set.
func (f *Follower) failingSince(begun time.Time, last *Attempt) time.Time {
	if f.s.Since.IsZero() {
		return instant(begun)
	}
	between := begun.Sub(last.At)
	return f.s.Since.Add(between - min(max(0, between), f.o.Schedule.Longest))
}

// remember adds an attempt to the recent ones. The caller has the lock.
func (f *Follower) remember(a Attempt) {
	if len(f.recent) == maxAttempts {
		f.recent = f.recent[:copy(f.recent, f.recent[1:])]
	}
	f.recent = append(f.recent, a)
}

// cut splits the first n items off a job. n is less than the number of items.
func (j *job) cut(n int) *job {
	first := *j
	first.batch.Items, first.last = j.batch.Items[:n:n], false
	first.upTo = first.batch.Items[n-1].Cursor
	j.batch.Items = j.batch.Items[n:]
	return &first
}

// progressOf returns the progress of the batch's source.
func (f *Follower) progressOf(j *job) *progress {
	switch {
	case j.source == live:
		return &f.s.Live
	case f.isOver(j):
		return &progress{}
	}
	return &f.s.Again
}

// isOver reports whether a batch is one of a replay in whose place another one has come.
func (f *Follower) isOver(j *job) bool { return j.source == ranged && j.replay != f.replays }

// taken moves on behind a batch that was delivered.
func (f *Follower) taken(j *job) {
	var remove []journal.Span
	for i := range j.batch.Items {
		switch it := &j.batch.Items[i]; {
		case it.Gap != nil:
			f.s.Missed += it.Gap.Count()
		case j.source == live:
			f.s.Delivered++
		case j.source == letter:
			remove = f.removeLetter(it.Cursor, remove)
		}
	}
	f.advance(j)
	f.change(remove)
}

// advance moves on behind a batch.
func (f *Follower) advance(j *job) {
	*f.progressOf(j) = progress{}
	switch j.source {
	case live:
		f.cursor = max(f.cursor, j.upTo)
	case ranged:
		if !f.isOver(j) {
			f.s.Replay = &Range{After: f.o.Log.Cursor(j.upTo), To: f.s.Replay.To} // a status may share the old one
			if j.last {
				f.s.Replay = nil
			}
		}
	case letter:
		f.s.Letters = without(f.s.Letters, j.upTo)
	}
}

// bury makes dead letters of a refused batch, and moves on behind it.
func (f *Follower) bury(j *job, r Result) {
	var put []journal.Value
	for i := range j.batch.Items {
		it := &j.batch.Items[i]
		if it.Gap != nil {
			f.s.Missed += it.Gap.Count()
			continue
		}
		if j.source == live {
			f.s.Dead++
		}
		put = append(put, f.addLetter(it, r, f.progressOf(j).Refusals))
	}
	f.advance(j)
	f.s.Failures, f.s.Next = 0, time.Time{} // the end may accept the next batch; f.s.Since stays
	f.change(nil, put...)
	f.o.Logger.Warn("events were refused, and are dead letters", "to", f.o.Name, "events", len(put), "status", r.Status, "reason", r.Reason)
}

// giveUp disables the delivery until an operator enables it again.
func (f *Follower) giveUp(now time.Time, reason string) {
	f.s.Disabled = &Disabled{At: instant(now), Reason: reason}
	f.o.Logger.Error("a delivery is disabled until it is enabled again", "to", f.o.Name, "reason", reason)
	if f.o.GivenUp != nil {
		f.o.GivenUp(f.o.Name, reason)
	}
}
