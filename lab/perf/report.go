// Package perf measures wire, and verifies the messages that it carries: the perf server, and the
// runs against it that `paddock bench wire` makes. It is outside lab/internal because cmd/paddock
// serves `paddock wire serve` with it.
//
// A run distributes its operations to the routines of its connections, starts them at the same
// moment, and times each call. Its report does not rest on the client alone: a run of posts asks
// the server how many it has received, a stream ends with the receiver's count, and the processor
// time of both processes is in the report.
//
// A verifying run mixes posts, acknowledged posts, requests and streams, each
// body with its number and checksum, and both ends check every one. It reports
// exactly which calls failed.
package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"paddock/wire"
)

// Report is the measurement of a run. WriteText prints it for people in the manner of gofast's
// perf; as JSON it has the same figures, times in nanoseconds.
type Report struct {
	Options
	Addr        string `json:"addr"`
	TLS         bool   `json:"tls"`
	Interrupted bool   `json:"interrupted"`         // it was told to end before everything was done
	Unsettled   string `json:"unsettled,omitempty"` // why the server could not be asked what it had

	Elapsed    time.Duration `json:"elapsed_ns"`                         // from the common start until the last outcome
	Ops        int64         `json:"ops"`                                // operations that were done
	Unit       string        `json:"unit"`                               // of Ops
	Throughput float64       `json:"throughput"`                         // Ops by second
	Payloads   float64       `json:"payload_bytes_per_second,omitempty"` // not of a verifying run

	Latency Latency          `json:"latency"`
	Client  End              `json:"client"`
	Server  End              `json:"server"`
	Stats   map[string]int64 `json:"stats"` // of the client's connections together

	Delivery *Delivery    `json:"delivery,omitempty"` // of posts
	Verified *Verified    `json:"verified,omitempty"`
	Floor    *Floor       `json:"floor,omitempty"`
	Failed   int64        `json:"failed"`             // calls
	Failures []FailedCall `json:"failures,omitempty"` // the first of them
	Lost     []FailedCall `json:"lost,omitempty"`     // the first calls that succeeded here and did not arrive

	// Accounts are those of a verifying run: one for each routine and verb.
	Accounts []Account `json:"-"`
}

// End is the cost of a run to one of the two processes, in all and by operation.
type End struct {
	CPU    time.Duration `json:"cpu_ns"`
	Allocs uint64        `json:"allocs"`

	CPUPerOp    float64 `json:"cpu_ns_per_op"`
	AllocsPerOp float64 `json:"allocs_per_op"`
	BytesPerOp  float64 `json:"bytes_per_op"`  // that this end sent
	WritesPerOp float64 `json:"writes_per_op"` // to its sockets
}

// Delivery compares the posts that a run sent with the server's count.
type Delivery struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"` // the server's n_rxpost
}

// FailedCall is a call with a wrong outcome.
type FailedCall struct {
	Verb    string `json:"verb"`
	Conn    int    `json:"conn"`
	Routine int    `json:"routine"`
	Seq     uint64 `json:"seq"` // among the calls of its routine and verb, from 1
	Error   string `json:"error"`
	Sent    Sent   `json:"sent,omitempty"` // "": of a lost call, or of a barrier
}

// Sent says of a call that failed whether it may have had an effect.
type Sent string

// A call was not sent, or was refused before anything ran; or the peer may have
// had it; or the peer had it, and its answer was an error.
const (
	SentNot   Sent = "no"
	SentMaybe Sent = "maybe"
	SentYes   Sent = "yes"
)

var sentWords = map[Sent]string{SentNot: ", not sent", SentMaybe: ", maybe sent", SentYes: ", answered"}

// sentBy derives it from the error. With an unknown error the call may have been sent.
func sentBy(err error) Sent {
	var answer *wire.Error
	switch {
	case errors.Is(err, errBody):
		return SentYes
	case errors.Is(err, wire.ErrNotSent), errors.Is(err, wire.ErrDraining):
		return SentNot
	case errors.Is(err, wire.ErrMaybeSent), errors.Is(err, context.DeadlineExceeded), !errors.As(err, &answer):
		return SentMaybe
	case answer.NotStarted:
		return SentNot
	}
	return SentYes
}

// Lane returns the lane in the bodies of a routine's calls.
func (r *Report) Lane(conn, routine int) uint32 { return uint32(conn*r.Routines + routine) }

// maxFailures bounds the failed calls that a report lists; all are counted.
const maxFailures = 10_000

// perOp fills in the figures that follow from the totals.
func (e *End) perOp(ops, bytes, writes int64) {
	if ops == 0 {
		return
	}
	n := float64(ops)
	e.CPUPerOp = float64(e.CPU) / n
	e.AllocsPerOp = float64(e.Allocs) / n
	e.BytesPerOp = float64(bytes) / n
	e.WritesPerOp = float64(writes) / n
}

// WriteText writes the report for people: first the output of gofast's perf.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.f("Latency Average: %v\n", nanos(r.Latency.Mean))
	p.f("Throughput: %.3f /second\n\n", r.Throughput)
	p.stats(r.Stats)
	l := r.Latency
	p.f("request stats: n:%d mean:%v var:%.6gns² sd:%v\n", l.N, nanos(l.Mean), l.Var, nanos(l.SD))
	p.f("latency: p50:%v p90:%v p99:%v p99.9:%v p99.99:%v max:%v\n", time.Duration(l.P50), time.Duration(l.P90),
		time.Duration(l.P99), time.Duration(l.P999), time.Duration(l.P9999), time.Duration(l.Max))
	p.f("timed: %s\n", l.Of)
	p.f("run: %d %ss in %v", r.Ops, r.Unit, r.Elapsed)
	if r.Do != Verify {
		p.f(", %.3f MB/s of payload", r.Payloads/1e6)
	}
	p.f("\n")
	p.end("client", r.Client)
	p.end("server", r.Server)
	if r.Delivery != nil {
		p.f("delivery: %d posts sent, the server's n_rxpost: %d\n", r.Delivery.Sent, r.Delivery.Received)
	}
	r.Verified.text(p)
	r.Floor.text(p, r)
	p.calls("lost", r.Verified.missing(), r.Lost)
	p.calls("failed", r.Failed, r.Failures)
	if r.Unsettled != "" {
		p.f("unsettled: %s\n", r.Unsettled)
	}
	if r.Interrupted {
		p.f("interrupted: %d of %d %ss were done\n", r.Ops, r.Total(), r.Unit)
	}
	return p.err
}

// ErrTooShort is the end of gofast's perf for a run of less than a second.
//
//lint:ignore ST1005 as gofast prints it
var ErrTooShort = errors.New("Run client for longer duration !!")

// WriteOriginal writes the report as gofast's perf printed it. The throughput is a division of
// integers by whole seconds: for a run of nearly two seconds it is nearly twice the rate. It counts
// more than the operations, as gofast does: with posts a heartbeat per second and connection, with
// requests one more per routine and one per connection, with streams the opening of each.
func (r *Report) WriteOriginal(w io.Writer) error {
	seconds := int64(r.Elapsed / time.Second)
	if seconds == 0 {
		return ErrTooShort
	}
	done, unit := r.Ops, ""
	switch conns := int64(r.Conns); r.Do {
	case Post:
		done, unit = done+conns*seconds, " /second" // with a heartbeat a second
	case Request:
		done += conns * int64(r.Routines+1)
	case StreamTx, StreamRx:
		done += conns * int64(r.Count)
	}
	p := &printer{w: w}
	p.f("Latency Average: %v\nThroughput: %d%s\n\n", time.Duration(r.Latency.Mean), done/seconds, unit)
	p.stats(r.Stats)
	l := r.Latency
	p.f("request stats: n:%d mean:%v var:%v sd:%v\n", l.N, time.Duration(l.Mean), time.Duration(l.Var), time.Duration(l.SD))
	return p.err
}

// shownFailures is how many calls of a list the text shows; JSON has more.
const shownFailures = 20

// calls prints a list of calls under its heading.
func (p *printer) calls(heading string, total int64, list []FailedCall) {
	if total == 0 {
		return
	}
	p.f("%s: %d calls\n", heading, total)
	shown := list[:min(len(list), shownFailures)]
	for _, f := range shown {
		p.f("  %s %d of connection %d, routine %d%s: %s\n", f.Verb, f.Seq, f.Conn, f.Routine, sentWords[f.Sent], f.Error)
	}
	if more := total - int64(len(shown)); more > 0 {
		p.f("  and %d more\n", more)
	}
}

// Err returns the failure of this run, or nil. A failed call is a failure, unless connections were
// made again: then failed calls are expected, and listed.
func (r *Report) Err() error {
	switch d := r.Delivery; {
	case r.Failed > 0 && len(r.Failures) > 0 && (r.Verified == nil || r.Verified.Reconnects == 0):
		f := r.Failures[0]
		return fmt.Errorf("%d calls failed, first %s %d of connection %d, routine %d: %s", r.Failed, f.Verb, f.Seq, f.Conn, f.Routine, f.Error)
	case d != nil && d.Received < d.Sent:
		return fmt.Errorf("the server had %d of %d posts", d.Received, d.Sent)
	case r.Verified != nil && r.Verified.fault() != "":
		return fmt.Errorf("verify: %s", r.Verified.fault())
	case r.Unsettled != "":
		return errors.New(r.Unsettled)
	case r.Interrupted:
		return fmt.Errorf("interrupted: %d of %d %ss were done", r.Ops, r.Total(), r.Unit)
	}
	return nil
}

// printer writes lines until one fails.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// stats prints the counters as gofast does: one in each line, sorted by name.
func (p *printer) stats(stats map[string]int64) {
	p.f("stats {\n")
	names := slices.Sorted(maps.Keys(stats))
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		p.f("  %q:%d%s\n", name, stats[name], comma)
	}
	p.f("}\n")
}

func (p *printer) end(name string, e End) {
	p.f("%s: %.1f ns/op CPU, %.3f bytes/op sent, %.4f writes/op, %.3f allocations/op\n",
		name, e.CPUPerOp, e.BytesPerOp, e.WritesPerOp, e.AllocsPerOp)
}

// nanos rounds to whole nanoseconds for print.
func nanos(ns float64) time.Duration { return time.Duration(math.Round(ns)) }
