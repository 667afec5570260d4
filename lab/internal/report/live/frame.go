package live

import (
	"fmt"
	"strings"
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
)

const (
	// window is over how many frames the rate is a mean: a second.
	window = 10
	// history is how many seconds the sparkline shows.
	history = 40
	// barWidth is the columns of the bar.
	barWidth = 40
)

// state is the data of the lines on a terminal.
type state struct {
	progress []load.Progress // the last frames', the oldest first
	rates    []float64       // good answers by the second, the oldest first
	last     struct {        // second
		known              bool
		p50, p90, p99, max time.Duration
		lag, late          time.Duration // p99 of the lag, and the sum of the lags that the generator caused
	}
	classes [load.Classes]int64 // since the start
}

// take notes how far the run is.
func (s *state) take(p load.Progress) { s.progress = appendAtMost(s.progress, p, window+1) }

// second records the counts of a second.
func (s *state) second(i *load.Interval) {
	s.rates = appendAtMost(s.rates, i.PerSecond(), history)
	l := &s.last
	l.known = i.Response.Count() > 0
	l.p50, l.p90, l.p99 = i.Response.Quantile(0.5), i.Response.Quantile(0.9), i.Response.Quantile(0.99)
	l.max, l.lag = i.Response.Max(), i.Lag.Quantile(0.99)
	l.late = i.LateTime[load.LoopLate] + i.LateTime[load.TimerLate] + i.LateTime[load.Script]
	for class, n := range i.Failed {
		s.classes[class] += n
	}
}

func appendAtMost[T any](list []T, x T, n int) []T {
	if len(list) == n {
		copy(list, list[1:])
		list = list[:n-1]
	}
	return append(list, x)
}

// frame is the lines as they are now.
func (v *View) frame() []string {
	s := &v.told
	if len(s.progress) == 0 {
		return nil
	}
	now := s.progress[len(s.progress)-1]
	lines := []string{
		figure.Text(v.Title),
		v.bar(now),
		fmt.Sprintf("%s/s  in flight %s  failed %s  %s", figure.Number(s.rate()), figure.Count(now.InFlight), s.failures(now), spark(s.rates)),
	}
	times := "response times follow after the first second"
	if s.last.known {
		times = fmt.Sprintf("p50 %s  p90 %s  p99 %s  max %s  lag p99 %s  (last second)", figure.Time(s.last.p50), figure.Time(s.last.p90),
			figure.Time(s.last.p99), figure.Time(s.last.max), figure.Time(s.last.lag))
	}
	return append(lines, times)
}

// rate is that of good answers over the last frames.
func (s *state) rate() float64 {
	first, last := s.progress[0], s.progress[len(s.progress)-1]
	if last.At <= first.At {
		return 0
	}
	return float64(last.OK-first.OK) / (last.At - first.At).Seconds()
}

// failures returns the number of failures, and the most frequent class.
func (s *state) failures(now load.Progress) string {
	text := figure.Count(now.Failed)
	most := load.ClassOK
	for class, n := range s.classes {
		if c := load.Class(class); c != load.ClassOK && n > 0 && (most == load.ClassOK || n > s.classes[most]) {
			most = c
		}
	}
	if most != load.ClassOK {
		text += fmt.Sprintf(" (%s, most %v)", figure.Percent(float64(now.Failed)/float64(now.Failed+now.OK)), most)
	}
	return text
}

// bar shows how far the run is, as far as that is known.
func (v *View) bar(now load.Progress) string {
	at := now.At.Round(time.Second).String()
	part := 0.0
	switch {
	case v.Length > 0:
		part = float64(now.At) / float64(v.Length)
		at += " of " + v.Length.String()
	case v.Count > 0:
		part = float64(now.OK+now.Failed) / float64(v.Count)
		at += ", " + figure.Count(now.OK+now.Failed) + " of " + figure.Count(v.Count)
	default:
		return at
	}
	full := int(min(max(part, 0), 1) * barWidth)
	line := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + "  " + at
	if part >= 1 {
		line += ", waiting for answers"
	}
	return line
}

// spark draws numbers as bars, the largest of full height.
func spark(values []float64) string {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		at := 0
		if most > 0 {
			at = int(v / most * float64(len(bars)-1))
		}
		b.WriteRune(bars[at])
	}
	return b.String()
}
