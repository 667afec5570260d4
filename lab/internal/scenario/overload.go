package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
	"paddock/load/histogram"
)

// The bounds for an overloaded tunnel.
const (
	serverMemory  = 256 << 20 // bytes, resident
	clientMemory  = 128 << 20
	leastGoodput  = 0.9                    // of the capacity of the service or the link
	mostSlower    = 2                      // times the p99 at Calm of the capacity
	besideWithin  = 500 * time.Millisecond // p99 of another tunnel
	refusedWithin = 10 * time.Millisecond  // p99
	mostUnsent    = 10                     // one for so many that were sent
)

// Calm is the share of the capacity that is requested before the overload, to measure the normal
// time of an answer.
const Calm = 0.8

// IdleWithin bounds the time after the load until a tunnel is back at its level before it.
const IdleWithin = 10 * time.Second

// overloaded is the status of a refusal.
const overloaded = 503

// Answers separates the times of served requests from those of refused ones. Each is for
// load.Plan.Each; call Sum when the run is over.
type Answers struct{ threads []*byKind }

// byKind is one thread's.
type byKind struct {
	served, refused *histogram.Histogram
	other           int64
}

// Each returns the callback for the requests of a thread. It is called for one thread after
// another.
func (a *Answers) Each(int) func(*load.Outcome) {
	t := &byKind{served: histogram.New(), refused: histogram.New()}
	a.threads = append(a.threads, t)
	return func(e *load.Outcome) {
		switch {
		case e.Class == load.ClassOK:
			t.served.Record(e.Done - e.Sent)
		case e.Status == overloaded:
			t.refused.Record(e.Done - e.Sent)
		default:
			t.other++
		}
	}
}

// Overload is the result of more load than a service can take.
type Overload struct {
	Capacity  float64       `json:"capacity"` // requests a second that the service can answer
	Offered   float64       `json:"offered"`  // that were due
	Duration  time.Duration `json:"duration_ns"`
	Goodput   float64       `json:"goodput"` // that were answered well
	Served    int64         `json:"served"`
	Refused   int64         `json:"refused"` // with 503
	Failed    int64         `json:"failed"`  // in any other way, or never answered
	Unsent    int64         `json:"unsent"`  // no connection of the generator was idle
	ServedP99 time.Duration `json:"served_p99_ns"`
	// RefusedP99 is like ServedP99 from the send on: the generator's own connections, all
	// of them busy, are no part of it.
	RefusedP99 time.Duration `json:"refused_p99_ns"`
	// CalmP99 is like ServedP99, of the load before.
	CalmP99 time.Duration `json:"calm_p99_ns"`
	// ServedCPU is the processor time of server and client for a request in the load before,
	// RefusedCPU that of a refusal if a served request takes as much under overload.
	ServedCPU  time.Duration `json:"served_cpu_ns"`
	RefusedCPU time.Duration `json:"refused_cpu_ns"`
	// Ceiling is the share of the capacity that could be served at most if processor time were the
	// only bound: see Overload.Spent.
	Ceiling float64 `json:"ceiling"`
	// ServerMemory and ClientMemory are the most that was resident, bytes, and ServerGrowth and
	// ClientGrowth how fast that grew under the load, bytes a minute, once it had settled.
	ServerMemory int64   `json:"server_resident_bytes"`
	ClientMemory int64   `json:"client_resident_bytes"`
	ServerGrowth float64 `json:"server_resident_bytes_per_minute"`
	ClientGrowth float64 `json:"client_resident_bytes_per_minute"`
	// Levels are the levels of both sides; Idle is the time after the load until all of them were
	// at rest, at most IdleWithin.
	Levels   []Level       `json:"levels"`
	Idle     time.Duration `json:"idle_ns"`
	Uplink   string        `json:"uplink,omitempty"` // the link's rate each way, where that is what bounds
	Beside   *Beside       `json:"beside,omitempty"`
	Unhinted int64         `json:"refused_without_retry_after"` // of the ones that were sent beside the load
	Hinted   int64         `json:"refused_with_retry_after"`
}

// Beside is the result of another tunnel's small exchanges, over the same connection.
type Beside struct {
	Asked  int           `json:"asked"`
	Failed int           `json:"failed"` // a refusal is one
	P99    time.Duration `json:"p99_ns"`
}

// Served returns the times of the served requests.
func (a *Answers) Served() *histogram.Histogram {
	all := histogram.New()
	for _, t := range a.threads {
		all.Add(t.served)
	}
	return all
}

// Spent records the processor time that server and client used in the load before, for so many
// requests, and in the load itself, once that is counted. If a refusal takes x of a served request,
// and n times the capacity is requested, (1 - n x) / (1 - x) of the goodput is left.
func (o *Overload) Spent(calm time.Duration, requests int64, load time.Duration) {
	if requests == 0 || o.Refused == 0 {
		return
	}
	o.ServedCPU = calm / time.Duration(requests)
	o.RefusedCPU = max(load-o.ServedCPU*time.Duration(o.Served), 0) / time.Duration(o.Refused)
	if x := o.share(); x < 1 && o.Capacity > 0 {
		o.Ceiling = max((1-o.Offered/o.Capacity*x)/(1-x), 0)
	}
}

// share is the processor time of a refusal as a part of that of a served request.
func (o *Overload) share() float64 {
	if o.ServedCPU == 0 {
		return 0
	}
	return float64(o.RefusedCPU) / float64(o.ServedCPU)
}

// Count records the result of the run.
func (o *Overload) Count(a *Answers, r *load.Result) {
	served, refused := a.Served(), histogram.New()
	for _, t := range a.threads {
		refused.Add(t.refused)
		o.Failed += t.other
	}
	o.Failed += r.Unanswered.Count
	o.Unsent = r.Total.Failed[load.ClassDropped]
	o.Served, o.Refused = int64(served.Count()), int64(refused.Count())
	o.ServedP99, o.RefusedP99 = served.Quantile(0.99), refused.Quantile(0.99)
	o.Goodput, o.Duration = r.PerSecond(), r.Elapsed
}

// Missed returns the promises of an overloaded tunnel that did not hold.
func (o *Overload) Missed() (missed []string) {
	say := func(bad bool, format string, args ...any) {
		if bad {
			missed = append(missed, fmt.Sprintf(format, args...))
		}
	}
	say(o.Goodput < leastGoodput*o.Capacity, "goodput %s/s is below %s of %s/s", figure.Number(o.Goodput), figure.Percent(leastGoodput), figure.Number(o.Capacity))
	say(o.Unsent > o.sent()/mostUnsent, "%s of %s requests were not sent, so the load was less than was meant", figure.Count(o.Unsent), figure.Count(o.Unsent+o.sent()))
	say(o.Failed > 0, "%d requests failed otherwise than by a refusal", o.Failed)
	say(o.RefusedP99 > refusedWithin, "the p99 of refusals is %s, above %s", figure.Time(o.RefusedP99), figure.Time(refusedWithin))
	say(o.Unhinted > 0, "%d refusals had no Retry-After", o.Unhinted)
	say(o.ServerMemory > serverMemory, "the server had %s, more than %s", figure.Bytes(o.ServerMemory), figure.Bytes(serverMemory))
	say(o.ClientMemory > clientMemory, "the client had %s, more than %s", figure.Bytes(o.ClientMemory), figure.Bytes(clientMemory))
	if o.Duration >= slopeFrom {
		say(o.ServerGrowth > mostGrowth, "the server grew by %s a minute, more than %s", figure.Bytes(int64(o.ServerGrowth)), figure.Bytes(mostGrowth))
		say(o.ClientGrowth > mostGrowth, "the client grew by %s a minute, more than %s", figure.Bytes(int64(o.ClientGrowth)), figure.Bytes(mostGrowth))
	}
	say(o.ServedP99 > mostSlower*o.CalmP99, "the p99 of what is served is %s, more than %d times the %s at %s of the capacity",
		figure.Time(o.ServedP99), mostSlower, figure.Time(o.CalmP99), figure.Percent(Calm))
	if b := o.Beside; b != nil {
		say(b.Failed > 0, "%d of %d requests to the other tunnel failed", b.Failed, b.Asked)
		say(b.P99 > besideWithin, "the p99 of the other tunnel is %s, above %s", figure.Time(b.P99), figure.Time(besideWithin))
	}
	for _, l := range o.Levels {
		say(!l.AtRest(), "%s", l.missed())
	}
	return missed
}

// growthVerdict is a word about how memory grew.
func (o *Overload) growthVerdict() string {
	switch {
	case o.Duration < slopeFrom:
		return fmt.Sprintf("not judged below %.0f minutes", slopeFrom.Minutes())
	case max(o.ServerGrowth, o.ClientGrowth) > mostGrowth:
		return "MISSED"
	}
	return "holds"
}

// sent is how many requests there were.
func (o *Overload) sent() int64 { return o.Served + o.Refused + o.Failed }

// AtRest reports whether every level is.
func (o *Overload) AtRest() bool {
	return !slices.ContainsFunc(o.Levels, func(l Level) bool { return !l.AtRest() })
}

// WriteText writes it for a person.
func (o *Overload) WriteText(w io.Writer) error {
	of := "a service"
	if o.Uplink != "" {
		of = "a link of " + o.Uplink + ","
	}
	fmt.Fprintf(w, "overload: %s/s for %v on %s of %s/s, through an HTTP tunnel\n\n", figure.Number(o.Offered), o.Duration.Round(time.Second), of, figure.Number(o.Capacity))
	fmt.Fprintf(w, "served       %s, %s/s, p99 %s; at %s of that rate p99 %s\n", figure.Count(o.Served), figure.Number(o.Goodput), figure.Time(o.ServedP99), figure.Percent(Calm), figure.Time(o.CalmP99))
	fmt.Fprintf(w, "refused      %s, p99 %s; asked beside it: %d refusals with Retry-After, %d without\n", figure.Count(o.Refused), figure.Time(o.RefusedP99), o.Hinted, o.Unhinted)
	fmt.Fprintf(w, "failed       %s\n", figure.Count(o.Failed))
	fmt.Fprintf(w, "not sent     %s\n", figure.Count(o.Unsent))
	fmt.Fprintf(w, "processor    %s for a served request, %s for a refused one (x %.2f), server and client together\n", figure.Time(o.ServedCPU), figure.Time(o.RefusedCPU), o.share())
	fmt.Fprintf(w, "ceiling      %s of the goodput, if processor time were the only bound: (1 - %s x) / (1 - x)\n", figure.Percent(o.Ceiling), figure.Number(o.Offered/o.Capacity))
	if b := o.Beside; b != nil {
		fmt.Fprintf(w, "beside       %d small requests to another tunnel of the client, %d failed, p99 %s\n", b.Asked, b.Failed, figure.Time(b.P99))
	}
	fmt.Fprintf(w, "memory       server %s, client %s at most\n", figure.Bytes(o.ServerMemory), figure.Bytes(o.ClientMemory))
	fmt.Fprintf(w, "growth       server %+.2f MiB a minute, client %+.2f, %s\n\n", o.ServerGrowth/(1<<20), o.ClientGrowth/(1<<20), o.growthVerdict())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "held\tbefore\tat peak\tafter %v\t\n", o.Idle.Round(100*time.Millisecond))
	for _, l := range o.Levels {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.text(l.Before), l.text(l.Peak), l.text(l.After), l.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	missed := o.Missed()
	for _, m := range missed {
		fmt.Fprintf(w, "MISSED: %s\n", m)
	}
	if len(missed) > 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, "Everything holds.")
	return err
}

// MarshalJSON adds the promises that did not hold.
func (o *Overload) MarshalJSON() ([]byte, error) {
	missed := o.Missed()
	if missed == nil {
		missed = []string{}
	}
	type plain Overload // without this method
	return json.Marshal(struct {
		*plain
		Missed []string `json:"missed"`
	}{(*plain)(o), missed})
}
