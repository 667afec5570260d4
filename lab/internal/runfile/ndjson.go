package runfile

import (
	"encoding/json"
	"io"

	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

// Second is one line of seconds.ndjson.
type Second struct {
	Phase       Phase            `json:"phase"`
	Start       int64            `json:"start_ns"` // since the run's start
	Length      int64            `json:"length_ns"`
	Target      *float64         `json:"target"` // requests per second; nil in a closed run
	Sent        int64            `json:"sent"`
	Done        int64            `json:"done"`
	Good        int64            `json:"good"`
	Errors      map[string]int64 `json:"errors"` // by class
	Status      map[string]int64 `json:"status"`
	BytesOut    int64            `json:"bytes_out"`
	BytesIn     int64            `json:"bytes_in"`
	BodyIn      int64            `json:"body_in"`
	Connects    int64            `json:"connects"`
	Reconnects  int64            `json:"reconnects"`
	InFlight    float64          `json:"in_flight"`
	MaxInFlight int64            `json:"in_flight_max"`
	Response    *Brief           `json:"response"` // these are nil if there were none
	Service     *Brief           `json:"service"`
	Lag         *Brief           `json:"lag"`
	Late        map[string]Late  `json:"late"`
	Threads     []Thread         `json:"threads"`
	// Machine is the service's; nil = it is another one.
	Machine *process.TargetUse `json:"machine"`
}

// Brief is the least that a second says of a histogram.
type Brief struct {
	Count uint64 `json:"count"`
	P50   int64  `json:"p50_ns"`
	P90   int64  `json:"p90_ns"`
	P99   int64  `json:"p99_ns"`
	Max   int64  `json:"max_ns"`
}

func brief(h *histogram.Histogram) *Brief {
	n := h.Count()
	if n == 0 {
		return nil
	}
	return &Brief{n, int64(h.Quantile(0.5)), int64(h.Quantile(0.9)), int64(h.Quantile(0.99)), int64(h.Max())}
}

// SecondOf returns the summary of a part of a run.
func SecondOf(p Phase, v *load.Interval) *Second {
	s := &Second{
		Phase: p, Start: int64(v.Start), Length: int64(v.Length), Sent: v.Sent, Done: v.Done, Good: v.Failed[load.ClassOK],
		Errors: map[string]int64{}, Status: statuses(v), BytesOut: v.BytesOut, BytesIn: v.BytesIn, BodyIn: v.BodyIn,
		Connects: v.Connects, Reconnects: v.Reconnects, InFlight: v.InFlight, MaxInFlight: v.MaxInFlight,
		Response: brief(v.Response), Service: brief(v.Service), Lag: brief(v.Lag),
		Late: map[string]Late{}, Threads: threads(v.Threads),
	}
	if rate := targetRate(v); rate > 0 {
		s.Target = &rate
	}
	for c := range load.Classes {
		if n := v.Failed[c]; n > 0 && c != load.ClassOK {
			s.Errors[c.String()] = n
		}
	}
	for c := range load.Causes {
		if n := v.Late[c]; n > 0 {
			s.Late[c.String()] = Late{n, int64(v.LateTime[c])}
		}
	}
	return s
}

// targetRate is how many requests per second were meant; 0 in a closed run.
func targetRate(v *load.Interval) float64 {
	if v.Length <= 0 {
		return 0
	}
	return v.Target / v.Length.Seconds()
}

func ndjsonSecond(w io.Writer, p Phase, v *load.Interval, u *process.TargetUse) error {
	s := SecondOf(p, v)
	s.Machine = u
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
