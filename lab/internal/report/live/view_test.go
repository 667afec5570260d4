package live

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"paddock/load"
	"paddock/load/histogram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is one second of a run in which n requests took a millisecond each.
func second(start time.Duration, n uint64, failed int64) *load.Interval {
	i := &load.Interval{
		Start: start, Length: time.Second, InFlight: 2,
		Response: histogram.New(), Service: histogram.New(), Lag: histogram.New(),
	}
	i.Failed[load.ClassOK] = int64(n)
	i.Failed[load.ClassTimeout] = failed
	i.Response.RecordN(int64(time.Millisecond), n)
	return i
}

// Where there is no terminal, lines come at decades, and each covers all since the one
// before.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	v := &View{Out: &out}
	v.Watch(nil)
	for s := range 120 {
		v.Interval(second(time.Duration(s)*time.Second, uint64(100*(1+s%2)), 1))
	}
	v.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 10+9 || strings.Contains(out.String(), "\x1b") {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, want := range map[int]string{
		0:  "1s        100/s  in flight 2.00    p50 1.00ms  p99 1.00ms  max 1.00ms  failed 1",
		10: "    20s        150/s  in flight 2.00    p50 1.00ms  p99 1.00ms  max 1.00ms  failed 10",
		18: "  1m40s        150/s  in flight 2.00    p50 1.00ms  p99 1.00ms  max 1.00ms  failed 10",
	} {
		if lines[i] != want {
			t.Errorf("line %d: %q\nwant %q", i, lines[i], want)
		}
	}
}

// On a terminal the same lines change, at most ten times a second, and go away at the end.
func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		v := &View{Title: "http://\x1b[31mhost", Length: 10 * time.Second, Out: &out, Terminal: true, Width: func() int { return 60 }}
		v.Watch(func() load.Progress {
			at := time.Since(began)
			return load.Progress{At: at, OK: at.Milliseconds(), InFlight: 3, Failed: 1}
		})
		time.Sleep(1050 * time.Millisecond)
		v.Interval(second(0, 1000, 1))
		v.Say("stopping")
		time.Sleep(time.Second)
		v.Close()
		v.Close()
		text := out.String()
		if n := strings.Count(text, `http://\x1b[31mhost`); n != 20 {
			t.Errorf("%d frames in 2 s", n)
		}
		last := text[strings.LastIndex(text, `http://`):]
		for _, want := range []string{
			"████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  2s of 10s\n",
			"1,000/s  in flight 3  failed 1 (0.05 %, most timeout)  █\n",
			"p50 1.00ms  p90 1.00ms  p99 1.00ms  max 1.00ms  lag p99 0ns", // what the width has room for
		} {
			if !strings.Contains(last, want[:min(len(want), 50)]) {
				t.Errorf("%q is missing in\n%s", want, last)
			}
		}
		if !strings.HasSuffix(text, "\x1b[4A\r\x1b[J") || !strings.Contains(text, "\x1b[J"+"stopping\n") {
			t.Errorf("the lines stay: %q", text[len(text)-40:])
		}
		for line := range strings.Lines(last) {
			if n := len([]rune(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "\r\x1b[K"))); n > 59 && !strings.Contains(line, "\x1b[J") {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}

func TestSpark(t *testing.T) {
	if got := spark([]float64{0, 1, 2, 4, 7}); got != "▁▂▃▅█" {
		t.Error(got)
	}
	if got := spark([]float64{0, 0}); got != "▁▁" {
		t.Error(got)
	}
}
