package slo_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/slo"
	"paddock/load"
	"paddock/load/histogram"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"p99<50ms":                    "p99<50ms",
		" p99.9 <= 1s , err<0.1% ":    "p99.9<=1s, err<0.1%",
		"p99<50ms; err<0.1% ;rate>=1": "p99<50ms, err<0.1%, rate>=1/s",
		"p99<50ms err<0.1%":           "p99<50ms, err<0.1%",
		"p99 < 50ms  err <= 0  rate >= 0.9 * target max<1s": "p99<50ms, err<=0%, rate>=0.9*target, max<1s",
		"rate >= target\tlag.max<1ms":                       "rate>=target, lag.max<1ms",
		"rate>=0.99*target":                                 "rate>=0.99*target",
		"rate >= 0.99 * target":                             "rate>=0.99*target",
		"rate>target":                                       "rate>target",
		"rate>=1000":                                        "rate>=1000/s",
		"rate>=1000.5/s":                                    "rate>=1000.5/s",
		"err<=0.001":                                        "err<=0.1%",
		"err<=0":                                            "err<=0%",
		"service.p50<1ms,lag.max<1ms":                       "service.p50<1ms, lag.max<1ms",
		"connect.mean<1ms,first-byte.p99.99<1ms":            "connect.mean<1ms, first-byte.p99.99<1ms",
		"response.p100<1m":                                  "p100<1m0s",
		"min>0s,max<1h":                                     "min>0s, max<1h0m0s",
	} {
		list, err := slo.Parse(text)
		var names []string
		for _, o := range list {
			names = append(names, o.String())
		}
		if got := strings.Join(names, ", "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// Each mistake is shown where it is.
func TestParseErrors(t *testing.T) {
	for _, tc := range []struct {
		text   string
		column int
		reason string
	}{
		{"", 1, "an objective is missing"},
		{"p99<1ms,", 9, "an objective is missing"},
		{"p99<1ms;;err<1%", 9, "an objective is missing"},
		{"p99<1ms p0<1ms", 9, `"p0" is no percentile`},
		{"p99<1ms avg", 12, `a comparison is missing behind "avg"`},
		{"p99<50 ms", 5, `"50" is no time`},
		{"p99", 4, `a comparison is missing behind "p99"`},
		{"p99=1ms", 4, `"=" is no comparison`},
		{"p99==1ms", 4, `"==" is no comparison`},
		{"p99<", 5, `a limit is missing behind "p99<"`},
		{"p99<1ms, p0<1ms", 10, `"p0" is no percentile`},
		{"p101<1ms", 1, `"p101" is no percentile`},
		{"p1e1<1ms", 1, `"p1e1" is no percentile`},
		{"pNaN<1ms", 1, `"pNaN" is no percentile`},
		{"p99<50", 5, `"50" is no time`},
		{"p99< -5ms", 6, `"-5ms" is no time`},
		{"avg<50ms", 1, `"avg" is no measure`},
		{"wait.p99<50ms", 1, `"wait" is none of the times`},
		{"service.rate>1", 1, `"rate" is no measure of times`},
		{"err<2", 5, `"2" is no share`},
		{"err<101%", 5, `"101%" is no share`},
		{"err<1ms", 5, `"1ms" is no share`},
		{"rate>fast", 6, `"fast" is no rate`},
		{"rate>0.9target", 6, `"0.9target" is no rate`},
		{"rate>9/s*target", 6, `"9/s" is no rate`},
		{"rate>inf", 6, `"inf" is no rate`},
		{strings.Repeat("err<1%,", 64) + "err<1%", 449, "more than 64"},
	} {
		_, err := slo.Parse(tc.text)
		at, ok := errors.AsType[*slo.ParseError](err)
		if !ok || at.Column != tc.column || !strings.Contains(at.Reason, tc.reason) {
			t.Errorf("%q: %v, want column %d: %s", tc.text, err, tc.column, tc.reason)
		}
	}
}

// The String of parsed objectives parses to the same objectives.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"p99<50ms,err<0.1%,rate>=0.99*target", "lag.p99.99>=1h", "first-byte.mean<1ns", "rate>0.0000001/s", "err<=1e-3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := slo.Parse(text)
		if err != nil {
			if at, ok := errors.AsType[*slo.ParseError](err); !ok || at.Column < 1 || at.Column > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, o := range list {
			again, err := slo.Parse(o.String())
			if err != nil || len(again) != 1 || again[0].String() != o.String() {
				t.Fatalf("%q: %v became %v, %v", text, o, again, err)
			}
		}
	})
}

// result is a run of 10 s with answers of 1 ms to 1000 ms, one of each.
func result() *load.Result {
	r := &load.Result{Elapsed: 10 * time.Second, InTime: 1000}
	r.Total.Response, r.Total.Service, r.Total.Lag = histogram.New(), histogram.New(), histogram.New()
	for ms := range 1000 {
		r.Total.Response.Record(int64(time.Duration(ms+1) * time.Millisecond))
	}
	r.Total.Failed[load.ClassOK] = 1000
	r.Total.Target = 1000
	return r
}

// served changes a run that has all times.
func served(change func(*load.Result)) func(*load.Result) {
	return func(r *load.Result) {
		r.Total.Service, r.Total.FirstByte, r.Total.Done = r.Total.Response, r.Total.Response, 1000
		if change != nil {
			change(r)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		objective string
		change    func(*load.Result)
		want      slo.State
	}{
		{"p50<=501ms", nil, slo.Met},
		{"p50<500ms", nil, slo.Missed},
		{"p99<=991ms", nil, slo.Met},
		{"p99.9<2s", nil, slo.Unknown}, // takes 2,995 answers
		{"p100<=1s", nil, slo.Met},
		{"max<1s", nil, slo.Missed},
		{"min<=1ms", nil, slo.Met},
		{"mean<600ms", nil, slo.Met},
		{"service.p50<1s", nil, slo.Unknown}, // nothing measured
		{"connect.p50<1s", nil, slo.Unknown},
		{"err<=0%", nil, slo.Met},
		{"err<=1%", func(r *load.Result) { r.Total.Failed[load.ClassReset] = 11 }, slo.Missed},
		{"err<0.1%", func(r *load.Result) { r.Unanswered.Unsent = 1 }, slo.Met},
		{"rate>=0.99*target", nil, slo.Met},
		{"rate>=0.99*target", func(r *load.Result) { r.InTime = 980 }, slo.Missed},
		{"rate>=target", func(r *load.Result) { r.Total.Target = 0 }, slo.Unknown},
		{"rate>=100/s", nil, slo.Met},
		{"rate>100/s", nil, slo.Missed},
		// Requests without an answer are slower than any limit.
		{"p99<2s", func(r *load.Result) { r.Unanswered.Count = 9 }, slo.Met},
		{"p99<2s", func(r *load.Result) { r.Unanswered.Count = 12 }, slo.Missed},
		{"p99>2s", func(r *load.Result) { r.Unanswered.Count = 12 }, slo.Met},
		{"max<1h", func(r *load.Result) { r.Unanswered.Count = 1 }, slo.Missed},
		{"mean<1h", func(r *load.Result) { r.Unanswered.Unsent = 1 }, slo.Missed},
		{"p99<2s", func(r *load.Result) { r.Total.Lost = 12 }, slo.Missed},
		{"p99<2s", func(r *load.Result) { r.Total.Failed[load.ClassShed] = 12 }, slo.Missed},
		{"p99<2s", func(r *load.Result) { r.Total.Failed[load.ClassDropped] = 12 }, slo.Missed},
		{"p99<2s", func(r *load.Result) { r.Total.Failed[load.ClassTimeout] = 12 }, slo.Met}, // they have a time
		{"service.p99<2s", served(func(r *load.Result) { r.Total.Lost = 12 }), slo.Missed},
		{"service.p99<2s", served(func(r *load.Result) { r.Total.Failed[load.ClassShed] = 12 }), slo.Met},
		{"first-byte.p99<2s", served(nil), slo.Met},
		{"first-byte.p99<2s", served(func(r *load.Result) { r.Unanswered.Count = 12 }), slo.Missed},
		{"first-byte.p99<2s", served(func(r *load.Result) { r.Total.Failed[load.ClassTimeout] = 12 }), slo.Missed},
		{"first-byte.p99<2s", served(func(r *load.Result) { r.Total.Lost = 12 }), slo.Missed},
		{"first-byte.p99<2s", served(func(r *load.Result) { r.Total.Lost, r.Total.Failed[load.ClassEarlyEnd] = 12, 12 }), slo.Met},
		{"first-byte.p99<2s", func(r *load.Result) {
			r.Total.FirstByte, r.Total.Done, r.Unanswered.Count = histogram.New(), 1000, 300
		}, slo.Unknown},
		{"first-byte.p99<2s", func(r *load.Result) { r.Total.FirstByte, r.Unanswered.Count = histogram.New(), 300 }, slo.Missed},
	} {
		list, err := slo.Parse(tc.objective)
		if err != nil {
			t.Fatal(err)
		}
		r := result()
		if tc.change != nil {
			tc.change(r)
		}
		if got := slo.Check(list, r)[0]; got.State != tc.want || got.Measured == "" {
			t.Errorf("%v, want %v", got, tc.want)
		}
	}
}

// The numbers behind an outcome are in one unit.
func TestNumbers(t *testing.T) {
	list, err := slo.Parse("max<1s,p99.9<2s,err<1%,rate>=0.5*target,rate>1/s,lag.max<1s")
	if err != nil {
		t.Fatal(err)
	}
	none := math.NaN()
	outcomes := slo.Check(list, result())
	for i, want := range []struct {
		unit         string
		value, limit float64
	}{{"ns", 1e9, 1e9}, {"ns", none, 2e9}, {"share", 0, 0.01}, {"per_second", 100, 50}, {"per_second", 100, 1}, {"ns", none, 1e9}} {
		if got := outcomes[i]; got.Unit() != want.unit || !same(got.Value, want.value) || !same(got.Limit, want.limit) {
			t.Errorf("%v: %v and %v %s, want %v", got, got.Value, got.Limit, got.Unit(), want)
		}
	}
	gone := result()
	gone.Unanswered.Count, gone.Total.Target = 500, 0
	if got := slo.Check(list, gone); !math.IsInf(got[0].Value, 1) || !math.IsNaN(got[3].Limit) {
		t.Errorf("%+v", got)
	}
}

// same reports whether two numbers are, or are none both.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// Where the generator was the bottleneck, a time is an upper bound and a rate a lower one: each
// proves an objective of its direction, and leaves one of the other direction open.
func TestCheckBounds(t *testing.T) {
	open := func(r *load.Result) { r.Total.Target = 1000 }
	closed := func(r *load.Result) { r.Total.Target = 0 }
	for _, tc := range []struct {
		objective string
		change    func(*load.Result)
		want      slo.State
		text      string
	}{
		{"p50<=600ms", open, slo.Met, "at most"},
		{"p50<500ms", open, slo.Unknown, "at most"},
		{"p50>600ms", open, slo.Missed, "at most"},
		{"p50>400ms", open, slo.Unknown, "at most"},
		{"max<=1s", open, slo.Met, "1.00s at most"},
		{"max<1h", func(r *load.Result) { r.Unanswered.Count = 1 }, slo.Unknown, "no answer"},
		{"rate>=100/s", open, slo.Met, "at least"},
		{"rate>=0.99*target", open, slo.Met, "at least"},
		{"rate>=200/s", open, slo.Unknown, "at least"},
		{"rate<100/s", open, slo.Missed, "at least"},
		{"rate<200/s", open, slo.Unknown, "at least"},
		// Errors of the service are exact.
		{"err<=0%", open, slo.Met, "0.0 %"},
		{"err<1%", func(r *load.Result) { r.Total.Failed[load.ClassStatus] = 20 }, slo.Missed, "2.0 %"},
		{"err<1%", func(r *load.Result) { r.Unanswered.Count = 20 }, slo.Missed, "2.0 %"},
		// Those of this side may not be the service's.
		{"err<1%", func(r *load.Result) { r.Total.Failed[load.ClassFiles] = 20 }, slo.Unknown, "2.0 % at most"},
		{"err<1%", func(r *load.Result) { r.Unanswered.Unsent = 20 }, slo.Unknown, "2.0 % at most"},
		{"err<1%", func(r *load.Result) { r.Total.Failed[load.ClassPorts], r.Total.Failed[load.ClassReset] = 20, 20 }, slo.Missed, "at most"},
		{"err<5%", func(r *load.Result) { r.Total.Failed[load.ClassShed] = 20 }, slo.Met, "at most"},
		// From the send, an open run with less load than meant says nothing.
		{"service.p50<1h", open, slo.Unknown, "less load"},
		{"service.p50<1h", closed, slo.Met, "at most"},
		{"p99.9<1h", open, slo.Unknown, "it takes 2995"}, // as without a bound
		// The interval of the quantile widens its bound.
		{"p90<950ms", open, slo.Unknown, "960ms at most"},
		{"p90<961ms", open, slo.Met, "960ms at most"},
	} {
		list, err := slo.Parse(tc.objective)
		if err != nil {
			t.Fatal(err)
		}
		r := result()
		r.Total.Service = r.Total.Response
		if tc.change != nil {
			tc.change(r)
		}
		ends := func(of slo.Times, share float64) (time.Duration, bool) {
			return 960 * time.Millisecond, of == slo.Response && share == 0.9
		}
		if got := slo.CheckBounds(list, r, ends)[0]; got.State != tc.want || !strings.Contains(got.Measured, tc.text) {
			t.Errorf("%v, want %v and %q", got, tc.want, tc.text)
		}
	}
}
