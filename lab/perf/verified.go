package perf

import (
	"fmt"
	"sort"

	"paddock/lab/internal/numbers"
)

// Verified is the result of a verifying run, by verb.
type Verified struct {
	Posts    Class `json:"posts"`
	Acked    Class `json:"acked_posts"`
	Requests Class `json:"requests"`
	Streams  Class `json:"streams"`

	Reconnects int64 `json:"reconnects"` // of the client
	Restarted  bool  `json:"restarted"`  // the server is another process than at the start
}

// Class counts the calls of one verb.
type Class struct {
	Done       int64 `json:"done"`       // calls that succeeded
	Failed     int64 `json:"failed"`     // calls that returned an error
	NotSent    int64 `json:"not_sent"`   // of those, calls that had no effect for certain
	Corrupt    int64 `json:"corrupt"`    // bodies that were not what was sent, at either end
	Missing    int64 `json:"missing"`    // succeeded, and the server never had it
	Duplicates int64 `json:"duplicates"` // the server had it more than once
	Disorder   int64 `json:"disorder"`   // the server had it behind a later one of its routine
}

// Account lists which calls of one routine with one verb succeeded. The calls have the numbers 1 to
// Begun. Report.Failures has the first 10,000 failed calls of the run.
type Account struct {
	Verb          string
	Conn, Routine int
	Begun         uint64

	done []numbers.Span
}

// Done says whether the call with the number succeeded.
func (a *Account) Done(seq uint64) bool {
	i := sort.Search(len(a.done), func(i int) bool { return a.done[i].Last >= seq })
	return i < len(a.done) && a.done[i].First <= seq
}

func (c Class) text(p *printer, name string) {
	failed := fmt.Sprintf("%d failed", c.Failed)
	if c.NotSent > 0 {
		failed += fmt.Sprintf(" (%d not sent)", c.NotSent)
	}
	p.f("verified: %-12s %d done, %s, %d corrupt, %d missing, %d duplicates, %d out of order\n",
		name, c.Done, failed, c.Corrupt, c.Missing, c.Duplicates, c.Disorder)
}

func (v *Verified) text(p *printer) {
	if v == nil {
		return
	}
	v.Posts.text(p, "posts")
	v.Acked.text(p, "acked posts")
	v.Requests.text(p, "requests")
	v.Streams.text(p, "streams")
	if v.Reconnects > 0 || v.Restarted {
		p.f("verified: %d reconnects; the server was restarted: %t\n", v.Reconnects, v.Restarted)
	}
}

// missing returns the number of calls that succeeded and did not arrive.
func (v *Verified) missing() int64 {
	if v == nil {
		return 0
	}
	return v.Posts.Missing + v.Acked.Missing + v.Requests.Missing + v.Streams.Missing
}

// fault names the first promise that was broken, "" if all were kept. A call that failed broke
// none: it said so. Nor did a plain post that was lost with its connection: it was queued, and no
// more was promised. Order is promised within a connection, so disorder counts only where the
// client has not reconnected and the server has not restarted.
func (v *Verified) fault() string {
	broken := v.Reconnects > 0 || v.Restarted
	for _, c := range []struct {
		name  string
		class Class
		lossy bool // may be lost with a connection
	}{{"posts", v.Posts, true}, {"acknowledged posts", v.Acked, false}, {"requests", v.Requests, false}, {"streams", v.Streams, false}} {
		switch n := c.class; {
		case n.Corrupt > 0:
			return fmt.Sprintf("%d %s were not what was sent", n.Corrupt, c.name)
		case n.Duplicates > 0:
			return fmt.Sprintf("%d %s arrived more than once", n.Duplicates, c.name)
		case n.Missing > 0 && !(c.lossy && broken):
			return fmt.Sprintf("%d %s did not arrive", n.Missing, c.name)
		case n.Disorder > 0 && !broken:
			return fmt.Sprintf("%d %s arrived out of order", n.Disorder, c.name)
		}
	}
	return ""
}
