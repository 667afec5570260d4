package distributed

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// part is what a made-up worker counts in seconds of its own, as it sends it.
type part struct {
	frames []*frame
	end    *final
}

// newParts makes the parts of two workers of a run of so many seconds, and the sum of their
// response times.
func newParts(t *testing.T, seconds int) (parts [2]part, sum *histogram.Histogram) {
	t.Helper()
	sum = histogram.New()
	rng := rand.New(rand.NewPCG(1, 2))
	for i, id := range []string{"a", "b"} {
		tell := teller{end: final{ID: id, Verdict: load.Verdict{Measures: []load.Measure{{Name: "steal", Red: 1, Amber: 1}}}}}
		for s := range seconds {
			v := load.NewInterval()
			v.Start, v.Length, v.Target = time.Duration(s)*time.Second, time.Second, 100
			for range 90 + rng.IntN(20) {
				ns := int64(rng.ExpFloat64() * 1e7)
				v.Response.Record(ns)
				v.Service.Record(ns / 2)
				sum.Record(ns)
				v.Sent, v.Done = v.Sent+1, v.Done+1
				v.Failed[load.ClassOK]++
			}
			parts[i].frames = append(parts[i].frames, sent(t, tell.frame(v)))
		}
		parts[i].end = &tell.end
	}
	return parts, sum
}

// sent is a frame after the way over the bus.
func sent(t *testing.T, f *frame) *frame {
	t.Helper()
	got := &frame{}
	if err := json.Unmarshal(encode(f), got); err != nil {
		t.Fatal(err)
	}
	return got
}

func newTestMerger(seconds int) *merger {
	plan := &load.Plan{Duration: time.Duration(seconds) * time.Second}
	return newMerger(plan, []*member{
		{reply: reply{ID: "a", Name: "A"}, threads: 1}, {reply: reply{ID: "b", Name: "B"}, threads: 1},
	}, load.Observers{})
}

// Whatever the order of the frames, and however often each comes, the merged result is that of one
// recording.
func TestMergeOnce(t *testing.T) {
	const seconds = 10
	parts, sum := newParts(t, seconds)
	for name, order := range map[string]func(m *merger){
		"in turns": func(m *merger) {
			for s := range seconds {
				m.frame(parts[0].frames[s])
				m.frame(parts[1].frames[s])
			}
		},
		"twice": func(m *merger) {
			for s := range seconds {
				for _, p := range parts {
					m.frame(p.frames[s])
					m.frame(p.frames[s])
					m.frame(p.frames[max(s-1, 0)])
				}
			}
		},
		"by pairs in reverse": func(m *merger) {
			for s := 0; s < seconds; s += 2 {
				for _, p := range parts {
					m.frame(p.frames[s+1])
					m.frame(p.frames[s])
				}
			}
		},
		"the end before the last second": func(m *merger) {
			for s := range seconds {
				m.frame(parts[0].frames[s])
				if s == seconds-1 {
					m.final(parts[1].end, false)
					m.tick()
				}
				m.frame(parts[1].frames[s])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMerger(seconds)
			order(m)
			m.final(parts[0].end, false)
			m.final(parts[1].end, false)
			if !m.finished() {
				t.Fatal("something is waited for")
			}
			all, missing := m.finish()
			r := &m.result
			if !r.Total.Response.Equal(sum) || r.Total.Done != int64(sum.Count()) || r.Elapsed != seconds*time.Second || r.Total.Target != 2*100*seconds {
				t.Errorf("%d answers in %v, want %d; target %v", r.Total.Done, r.Elapsed, sum.Count(), r.Total.Target)
			}
			if missing != "" || all[0].State != stateWhole || all[1].State != stateWhole || len(r.Verdicts) != 2 {
				t.Errorf("%v: %+v", missing, all)
			}
			if v := load.Judge(m.plan, r); v.Level != load.Green {
				t.Error(v.String())
			}
		})
	}
}

// A frame that is lost, or that came changed, marks the run, and so does a worker that is lost.
func TestMergeMarks(t *testing.T) {
	const seconds = 40
	parts, _ := newParts(t, seconds)
	for name, c := range map[string]struct {
		b              func(m *merger, s int, f *frame)
		state          string
		coverage, done float64 // the latter of worker B
	}{
		"a second is lost": {func(m *merger, s int, f *frame) {
			if s != 3 {
				m.frame(f)
			}
		}, "incomplete", 0.9875, 0.975},
		"the last second is lost": {func(m *merger, s int, f *frame) {
			if s != seconds-1 {
				m.frame(f)
			}
		}, "incomplete", 0.9875, 0.975},
		"a second is too late": {func(m *merger, s int, f *frame) {
			if s != 3 {
				m.frame(f)
			}
			if s == 3+maxAhead+1 {
				m.frame(parts[1].frames[3])
			}
		}, "incomplete", 0.9875, 0.975},
		"a count is another": {func(m *merger, s int, f *frame) {
			if s == 3 {
				g := *f
				g.Counts.Failed[load.ClassReset]++
				f = &g
			}
			m.frame(f)
		}, "incomplete", 1, 1},
		"a time is another": {func(m *merger, s int, f *frame) {
			if s == 3 {
				g := *f
				g.Times = slices.Clone(f.Times)
				g.Times[0] = parts[1].frames[4].Times[0]
				f = &g
			}
			m.frame(f)
		}, "incomplete", 1, 1},
		"a histogram is broken": {func(m *merger, s int, f *frame) {
			if s == 3 {
				g := *f
				g.Times = slices.Clone(f.Times)
				g.Times[0].V2 = g.Times[0].V2[:10]
				f = &g
			}
			m.frame(f)
		}, "lost", 0.5375, 0.075},
		"lost": {func(m *merger, s int, f *frame) {
			if s == 6 {
				m.lose(m.member("b"), "it gave no answer to 3 beats")
			}
			m.frame(f)
		}, "lost", 0.575, 0.15},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMerger(seconds)
			for s := range seconds {
				m.frame(parts[0].frames[s])
				c.b(m, s, parts[1].frames[s])
			}
			m.final(parts[0].end, false)
			m.final(parts[1].end, false)
			for range maxLate {
				m.tick()
			}
			if !m.finished() {
				t.Fatal("something is waited for")
			}
			all, missing := m.finish()
			coverage := (all[0].Coverage + all[1].Coverage) / 2
			if !strings.HasPrefix(missing, "coverage=") || !strings.Contains(missing, "; worker B was "+c.state) {
				t.Error(missing)
			}
			if all[0].State != stateWhole || all[1].State != c.state || all[1].Reason == "" || coverage < c.coverage-1e-9 || coverage > c.coverage+1e-9 {
				t.Errorf("coverage %v, want %v: %+v", coverage, c.coverage, all)
			}
			share := float64(all[1].Done) / float64(parts[1].end.Done)
			if share < c.done-0.05 || share > c.done+0.05 || m.result.Total.Done != all[0].Done+all[1].Done {
				t.Errorf("%.2f of the answers of B are counted, want %.2f: %+v", share, c.done, all)
			}
			if m.result.Total.Target != 2*100*seconds {
				t.Errorf("target %v: that of a lost worker is missing", m.result.Total.Target)
			}
			if v := load.Judge(m.plan, &m.result); v.Level != load.Red || !strings.Contains(v.String(), "B was "+c.state) {
				t.Error(v.String())
			}
		})
	}
}

// A worker that its own machine stopped, or that measured nothing, is lost; one that was told to
// stop is not.
func TestMergeEnds(t *testing.T) {
	parts, _ := newParts(t, 2)
	for _, c := range []struct {
		end     final
		stopped bool
		want    string
	}{
		{final{Result: load.Result{Stopped: true}}, false, "stopped on its machine"},
		{final{Result: load.Result{Stopped: true}}, true, ""},
		{final{Error: "connect-refused"}, false, "connect-refused"},
	} {
		m := newTestMerger(2)
		c.end.ID, c.end.Frames = "b", 1
		m.frame(parts[1].frames[0])
		m.final(&c.end, c.stopped)
		if w := m.member("b"); !strings.Contains(w.lost, c.want) || (w.lost == "") != (c.want == "") {
			t.Errorf("%q, want %q", w.lost, c.want)
		}
	}
}

// A histogram arrives as it was: its counts, and its extremes to the nanosecond.
func TestFrameIsLossless(t *testing.T) {
	for _, values := range [][]int64{{}, {0}, {5}, {1_000_003}, {1_000_003, 1_000_004}, {7, 123_456_789, 123_456_999, int64(histogram.Max)}} {
		v := load.NewInterval()
		for _, ns := range values {
			v.Response.Record(ns)
			v.FirstByte.Record(ns / 3)
			if v.TLS == nil {
				v.TLS = histogram.New()
			}
			v.TLS.Record(ns / 2)
		}
		v.Status[200], v.InFlight = 3, 0.1
		got, err := sent(t, new(teller).frame(v)).interval()
		if err != nil {
			t.Fatal(err)
		}
		if (got.TLS == nil) != (v.TLS == nil) || v.TLS != nil && !got.TLS.Equal(v.TLS) || got.TCP != nil {
			t.Errorf("%v: TCP %v, TLS %v", values, got.TCP, got.TLS)
		}
		if !got.Response.Equal(v.Response) || !got.FirstByte.Equal(v.FirstByte) || got.Status[200] != 3 || got.InFlight != 0.1 || checksum(got) != checksum(v) {
			t.Errorf("%v: %v, %v", values, got.Response.Min(), got.Response.Max())
		}
	}
}

// A frame has all histograms of an interval, and one that was not measured is empty. A frame with
// fewer is refused.
func TestFrameHasAllHistograms(t *testing.T) {
	v := load.NewInterval()
	all := v.Histograms()
	fields := 0
	for f := range reflect.TypeFor[load.Interval]().Fields() {
		if f.Type == reflect.TypeFor[*histogram.Histogram]() {
			fields++
		}
	}
	if len(all) < 5 || len(all) != fields {
		t.Fatalf("%d histograms, in %d fields", len(all), fields)
	}
	for i, h := range all {
		if *h == nil {
			*h = histogram.New()
		}
		(*h).Record(int64(i + 1))
	}
	f := sent(t, new(teller).frame(v))
	got, err := f.interval()
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range got.Histograms() {
		if !(*h).Equal(*all[i]) {
			t.Errorf("histogram %d is another", i)
		}
	}
	f.Times[0] = packed{}
	if got, err = f.interval(); err != nil || got.Response.Count() != 0 {
		t.Errorf("%v, %v", got, err)
	}
	f.Times = f.Times[1:]
	if _, err := f.interval(); err == nil {
		t.Error("a histogram is missing")
	}
}

// A drift is told if it exceeds what the two readings may be off.
func TestDrift(t *testing.T) {
	for _, c := range []struct{ last, want int64 }{{1000 + 60, 0}, {1000 - 60, 0}, {1000 + 61, 61}, {1000 - 61, -61}} {
		m := newTestMerger(1)
		w := m.members[0]
		w.lost, w.clock, w.last = "lost", reading{1000, 20}, reading{c.last, 100}
		if d := m.describe(w); d.Drift != c.want || d.Offset != 1000 || d.OffsetError != 10 {
			t.Errorf("%+v, want a drift of %d", d, c.want)
		}
	}
}
