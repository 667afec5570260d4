package script

import (
	lua "github.com/yuin/gopher-lua"

	"paddock/lab/internal/persona/wrk"
)

// statsType names statistics in the interpreter's registry.
const statsType = "paddock.stats"

// figures are statistics as a script asks for them.
type figures struct {
	*wrk.Stats
	buckets []wrk.Bucket // nil = not computed yet
}

// list is the numbers that were counted, in ascending order.
func (f *figures) list() []wrk.Bucket {
	if f.buckets == nil {
		f.buckets = f.Buckets()
	}
	return f.buckets
}

// openStats makes the methods of statistics: latency.min, max, mean and stdev,
// latency:percentile(p), latency(i), which gives a number and how often it was counted, and
// #latency, how many of these there are.
func (s *state) openStats() {
	percentile := s.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(checkStats(l).Percentile(float64(l.CheckNumber(2)))))
		return 1
	})
	s.set(s.NewTypeMetatable(statsType), map[string]lua.LGFunction{
		"__index": func(l *lua.LState) int {
			f := checkStats(l)
			switch l.CheckString(2) {
			case "min":
				l.Push(lua.LNumber(f.Min()))
			case "max":
				l.Push(lua.LNumber(f.Max()))
			case "mean":
				l.Push(lua.LNumber(f.Mean()))
			case "stdev":
				l.Push(lua.LNumber(f.StdDev()))
			case "percentile":
				l.Push(percentile)
			default:
				l.Push(lua.LNil)
			}
			return 1
		},
		"__call": func(l *lua.LState) int {
			f, i, b := checkStats(l), l.CheckInt(2), wrk.Bucket{}
			if list := f.list(); i >= 1 && i <= len(list) {
				b = list[i-1]
			}
			l.Push(lua.LNumber(b.Value))
			l.Push(lua.LNumber(b.Count))
			return 2
		},
		"__len": func(l *lua.LState) int {
			l.Push(lua.LNumber(len(checkStats(l).list())))
			return 1
		},
	})
}

func checkStats(l *lua.LState) *figures { return check[*figures](l, 1, "statistics are expected") }

func (s *state) stats(of *wrk.Stats) lua.LValue { return s.value(&figures{Stats: of}, statsType) }

// Truth holds the arguments of done() that wrk does not have.
type Truth struct {
	Response, Service, Lag *wrk.Stats // us
	Verdict                string     // of the verdict
	Unanswered             int64
}

// Done calls done(summary, latency, requests, truth), if there is one. latency is as wrk
// would have it. The requests have to be stopped before.
func (s *Script) Done(b *wrk.Block, truth Truth) error {
	m := s.main
	f := m.global("done")
	if f == nil {
		return nil
	}
	e := m.table(map[string]int64{
		"connect": b.Errors.Connect, "read": b.Errors.Read, "write": b.Errors.Write, "status": b.Errors.Status, "timeout": b.Errors.Timeout,
	})
	summary := m.table(map[string]int64{"duration": b.Runtime.Microseconds(), "requests": b.Requests, "bytes": b.Bytes})
	summary.RawSetString("errors", e)
	extra := m.table(map[string]int64{"unanswered": truth.Unanswered})
	extra.RawSetString("verdict", lua.LString(truth.Verdict))
	for name, of := range map[string]*wrk.Stats{"response": truth.Response, "service": truth.Service, "lag": truth.Lag} {
		extra.RawSetString(name, m.stats(of))
	}
	m.Push(f)
	m.Push(summary)
	m.Push(m.stats(b.Corrected))
	m.Push(m.stats(b.PerSecond))
	m.Push(extra)
	return m.call("done", loadTime, 4, 0)
}

// table is a table of numbers.
func (s *state) table(numbers map[string]int64) *lua.LTable {
	t := s.NewTable()
	for name, n := range numbers {
		t.RawSetString(name, lua.LNumber(n))
	}
	return t
}
