// Package runfile writes the results of a run of package load to files, for people and for other
// programs.
//
// A [Recorder] is called with each second of the run. It keeps the data of the [Document] in
// bounded memory, and passes each second on to the files of a [Directory], which grow during the
// run. So memory does not grow with the length of the run. The document itself, run.json, is
// written at the end; schema.json describes it.
//
//	run.json       everything, for programs
//	seconds.csv    one line for each second, for spreadsheets
//	seconds.ndjson the same with more in it, one JSON object for each
//	run.hlog       the histograms of each second, as HdrHistogram's log
//	response.hgrm  the percentiles of the response times, to be plotted; service, lag too
//	bench.txt      one Go benchmark line, which benchstat reads
//
// A file that cannot be written does not end the run: the document lists it as missing. Unknown
// values are null, and so are all values over no requests. Times in files for programs are in ns
// and have names that end in _ns.
package runfile

import (
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"time"

	"paddock/lab/internal/slo"
	"paddock/lab/process"
	"paddock/load"
)

// SchemaName is the version of a document's form. Within one, keys are added at most.
const SchemaName = "paddock.run/1"

// Schema is the JSON schema of a document.
//
//go:embed schema.json
var Schema []byte

// Document is run.json: everything that is known of a run.
type Document struct {
	Schema   string    `json:"schema"`
	Title    string    `json:"title,omitempty"` // what was asked for
	Load     string    `json:"load,omitempty"`  // in words
	Manifest *Manifest `json:"manifest"`
	Plan     Plan      `json:"plan"`
	Totals   Totals    `json:"totals"`

	Response  *Times `json:"response"` // these are nil if there were none
	Service   *Times `json:"service"`
	Lag       *Times `json:"lag"`
	Connect   *Times `json:"connect"`
	FirstByte *Times `json:"first_byte"`
	DNS       *Times `json:"dns"` // the parts of connect, and the resolution before the run
	TCP       *Times `json:"tcp"`
	TLS       *Times `json:"tls"`

	Facts      []Fact      `json:"facts,omitempty"`    // of the protocol
	Messages   *Messages   `json:"messages,omitempty"` // of a broker that was verified; nil = nothing was
	Workers    []Worker    `json:"workers,omitempty"`  // of a run from several machines; nil = it was from this one
	Objectives []Objective `json:"objectives"`

	// Columns are the figures of the program whose flags were given, as it computes them: ab's or
	// wrk's.
	Columns map[string]float64 `json:"columns,omitempty"`

	Targets  []Target `json:"targets"` // empty = they are not told apart
	Errors   []Error  `json:"errors"`  // without samples, those beyond the first 64 texts
	Fairness *Shares  `json:"fairness"`
	Verdict  Verdict  `json:"lamp"`
	Little   *Little  `json:"little"` // nil = too little was measured
	Steady   *Steady  `json:"steady"` // nil = the run was too short
	Host     Host     `json:"host"`   // what the generator used of its machine
	// Machine is what the service's machine did in the measured time; nil = it is another one.
	Machine *process.TargetUse `json:"machine"`
	Missing []string           `json:"missing"` // files that could not be written, and why
}

// Fact is one thing to say of a run.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Plan describes the load.
type Plan struct {
	Driver    string  `json:"driver"` // the codec's name
	Network   string  `json:"network"`
	Address   string  `json:"address"`
	TLS       bool    `json:"tls"`
	Model     string  `json:"model"`    // "open" or "closed"
	Arrivals  *string `json:"arrivals"` // of an open run
	Conns     int     `json:"conns"`
	MaxConns  int     `json:"max_conns"`
	Depth     int     `json:"depth"`
	Think     int64   `json:"think_ns"`
	PerConn   int64   `json:"per_conn"` // 0 = no limit, as in count and duration_ns
	Duration  int64   `json:"duration_ns"`
	Warmup    int64   `json:"warmup_ns"`
	Count     int64   `json:"count"`
	Timeout   int64   `json:"timeout_ns"`
	Grace     int64   `json:"grace_ns"`
	Busy      string  `json:"busy"`
	Deadline  int64   `json:"deadline_ns"`
	Tolerance int64   `json:"tolerance_ns"`
	Engine    string  `json:"engine"` // that which ran
	Threads   int     `json:"threads"`
	Pace      string  `json:"pace"`
	Seed      uint64  `json:"seed"`
	Pinned    []int   `json:"pinned"` // processors; empty = not pinned
}

// Totals are the counts of the measured time and the grace.
type Totals struct {
	Elapsed     int64            `json:"elapsed_ns"` // measured, without the grace
	Warmup      int64            `json:"warmup_ns"`
	Interrupted bool             `json:"interrupted"`
	Sent        int64            `json:"sent"`
	Done        int64            `json:"done"`
	Good        int64            `json:"good"`    // answers that did not fail
	InTime      int64            `json:"in_time"` // of these, those within the measured time
	PerSecond   *float64         `json:"per_second"`
	Unanswered  int64            `json:"unanswered"`
	Unsent      int64            `json:"unsent"`
	Oldest      int64            `json:"oldest_ns"` // of the unanswered and unsent, since it was due
	BytesOut    int64            `json:"bytes_out"`
	BytesIn     int64            `json:"bytes_in"`
	BodyIn      int64            `json:"body_in"`
	Connects    int64            `json:"connects"`
	Reconnects  int64            `json:"reconnects"`
	InFlight    float64          `json:"in_flight"` // mean over time
	MaxInFlight int64            `json:"in_flight_max"`
	Status      map[string]int64 `json:"status"`
	Late        map[string]Late  `json:"late"`
}

// Messages counts the messages that were published to a broker, and their deliveries.
type Messages struct {
	Published int64 `json:"published"`
	Delivered int64 `json:"delivered"` // of them, to each subscriber or group, once
	Lost      int64 `json:"lost"`
	Doubled   int64 `json:"doubled"`
	Reordered int64 `json:"reordered"` // to one subscriber, behind a later one of the same publisher
	Foreign   int64 `json:"foreign"`   // of other processes
}

// Worker is one of the processes that made a run together.
type Worker struct {
	Name        string  `json:"name"` // host and process
	Cores       int     `json:"cores"`
	Threads     int     `json:"threads"`         // its part of those of the run
	Offset      int64   `json:"offset_ns"`       // of its clock to the controller's
	OffsetError int64   `json:"offset_error_ns"` // by which that may be off, either way
	Drift       int64   `json:"drift_ns"`        // of the offset, until the last beat; 0 = none beyond the errors of both
	Skew        int64   `json:"skew_ns"`         // of its beginning, by its own clock; 0 = not told
	Sent        int64   `json:"sent"`            // requests that are counted in the run
	Done        int64   `json:"done"`
	Coverage    float64 `json:"coverage"` // the share of the measured time in which its counts are there
	State       string  `json:"state"`    // "whole", "incomplete": some counts are missing, or "lost"
	Reason      string  `json:"reason"`   // of a state that is not whole
	Verdict     string  `json:"lamp"`     // "green", "amber", "red"; "" = not told
}

// Late is the sends of a cause, and the sum of their lags.
type Late struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum_ns"`
}

// Error is a class of errors, and its first texts.
type Error struct {
	Class   string   `json:"class"`
	Count   int64    `json:"count"`
	Samples []Sample `json:"samples"`
}

// Target is what the requests for one target had.
type Target struct {
	Name     string `json:"name"`
	Done     int64  `json:"done"`
	Errors   int64  `json:"errors"` // failed answers, and requests without one
	Response *Brief `json:"response"`
}

// Sample is an error as it was seen.
type Sample struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"` // base64; what came instead of an answer
	Count int64  `json:"count"`
	First int64  `json:"first_ns"` // since the run's start
	Last  int64  `json:"last_ns"`
}

// Shares say how even the answers were spread over the connections.
type Shares struct {
	Connections int     `json:"connections"`
	Least       int64   `json:"least"`
	Most        int64   `json:"most"`
	Jain        float64 `json:"jain"` // R. Jain's index: 1 = all the same, 1/n = all on one
}

// Verdict says whether the numbers are the service's.
type Verdict struct {
	Level    string    `json:"verdict"` // "green", "amber", "red"
	Text     string    `json:"text"`
	Measures []Measure `json:"measures"`
}

// Measure is one of the things by which that is judged.
type Measure struct {
	Name  string  `json:"name"`
	Level string  `json:"verdict"`
	Value float64 `json:"value"`
	Amber float64 `json:"amber"`
	Red   float64 `json:"red"`
	Text  string  `json:"text"`
}

// Little is the check by Little's law.
type Little struct {
	InFlight float64 `json:"in_flight"`
	Rate     float64 `json:"rate"`
	Service  int64   `json:"service_ns"`
	Delta    float64 `json:"delta"`
	Bound    float64 `json:"bound"`
	Holds    bool    `json:"holds"`
}

// Steady says whether the measured time was steady.
type Steady struct {
	Stationary bool   `json:"stationary"`
	Cut        int64  `json:"cut_ns"` // of the measured time, what was warm-up still
	Rate       Series `json:"rate"`
	Median     Series `json:"median"`
}

// Series is the judgement of one number by the second.
type Series struct {
	Stationary bool    `json:"stationary"`
	Trend      float64 `json:"trend_p"`
	Change     float64 `json:"change"`
	Lag1       float64 `json:"lag1"`
}

// Host is the generator's use of its machine.
type Host struct {
	User        int64    `json:"user_ns"`
	System      int64    `json:"system_ns"`
	MaxResident int64    `json:"max_resident_bytes"`
	Processors  int      `json:"processors"`
	Busy        *int64   `json:"busy_ns"` // the machine's, over all processors
	Idle        *int64   `json:"idle_ns"`
	Steal       *int64   `json:"steal_ns"`
	Throttled   int64    `json:"throttled_ns"`
	GCPause     int64    `json:"gc_pause_ns"`
	Threads     []Thread `json:"threads"`
}

// Thread is the activity of a thread of the generator in the measured time.
type Thread struct {
	CPU         *int64 `json:"cpu_ns"` // nil = not known; so are ready and held then
	Wall        int64  `json:"wall_ns"`
	Busy        int64  `json:"busy_ns"`
	Waited      int64  `json:"waited_ns"`
	Ready       *int64 `json:"ready_ns"`
	Held        *int64 `json:"held_ns"`
	Involuntary int64  `json:"involuntary"`
	Wakes       int64  `json:"wakes"`
	Events      int64  `json:"events"`
}

// Write writes the document as indented JSON.
func (d *Document) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// ns is a time that may not be known.
func ns(d time.Duration, known bool) *int64 {
	if !known {
		return nil
	}
	n := int64(d)
	return &n
}

// planOf describes a plan and the engine that ran.
func planOf(p *load.Plan, e load.Engine) Plan {
	d := Plan{
		Driver: p.Codec.Name(), Network: p.Network, Address: p.Address, TLS: p.TLS != nil, Model: "closed",
		Conns: p.Conns, MaxConns: p.MaxConns, Depth: p.Depth, Think: int64(p.Think), PerConn: p.PerConn,
		Duration: int64(p.Duration), Warmup: int64(p.Warmup), Count: p.Count, Timeout: int64(p.Timeout),
		Grace: int64(p.Grace), Busy: p.Busy.String(), Deadline: int64(p.Deadline), Tolerance: int64(p.Tolerance),
		Engine: e.String(), Threads: p.Threads, Pace: p.Pace.String(), Seed: p.Seed, Pinned: p.Pin,
	}
	if p.Arrivals != nil {
		text := p.Arrivals.String()
		d.Model, d.Arrivals = "open", &text
	}
	if d.Pinned == nil {
		d.Pinned = []int{}
	}
	return d
}

// Objective is an objective of the run, with its outcome.
type Objective struct {
	Objective string   `json:"objective"` // as it was given: "p99<50ms"
	Measure   string   `json:"measure"`   // "p99", "lag.max", "err"
	Op        string   `json:"op"`
	Limit     *float64 `json:"limit"` // nil = a part of a rate that was not meant
	Unit      string   `json:"unit"`  // of limit and measured: "ns", "share", "per_second"
	Outcome   string   `json:"outcome"`
	Measured  *float64 `json:"measured"` // nil = nothing, or some requests had no answer
	Text      string   `json:"text"`     // what was measured, or why it is unknown
}

// ObjectivesOf returns the outcomes of a run's objectives.
func ObjectivesOf(outcomes []slo.Outcome) []Objective {
	all := []Objective{}
	for _, o := range outcomes {
		all = append(all, Objective{
			Objective: o.Objective.String(), Measure: o.Name(), Op: o.Op.String(), Limit: finite(o.Limit),
			Unit: o.Unit(), Outcome: o.State.String(), Measured: finite(o.Value), Text: o.Measured,
		})
	}
	return all
}

// finite is a number, which JSON has of finite ones alone.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
