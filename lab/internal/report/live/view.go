// Package live shows a run while it goes on: a few changing lines on a terminal, and a line now and
// then elsewhere. It reads the numbers that the run has published and never asks for more. The goal
// report of bench load compares the cost of a run with it and without.
package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
	"paddock/load/histogram"
)

// frameEvery is the interval at which the lines on a terminal change: a faster change cannot be
// read.
const frameEvery = 100 * time.Millisecond

// View shows one run. It is a load.Watcher. Where Out is a terminal, its goroutine draws
// from Watch until Close.
type View struct {
	Title    string        // of the run
	Length   time.Duration // how long the run is to be, its warm-up included; 0 = not known
	Count    int64         // how many requests it is to make; 0 = not known
	Out      io.Writer
	Terminal bool
	Width    func() int // columns of the terminal now; 0 = not known. nil = not known

	ending chan struct{} // closed by Close
	ended  sync.WaitGroup
	once   sync.Once

	mu    sync.Mutex // guards the following fields
	drawn int        // lines that are on the terminal now
	told  state
	since *histogram.Histogram // response times since the line before
	next  time.Duration        // when the next line is due
	began time.Duration        // start of the interval of the next line
	ok    int64                // good answers in that
	bad   int64                // others
}

var _ load.Watcher = (*View)(nil)

// Watch begins to draw.
func (v *View) Watch(progress func() load.Progress) {
	if !v.Terminal {
		return
	}
	v.ending = make(chan struct{})
	v.ended.Go(func() { v.run(progress) })
}

// run draws until Close.
func (v *View) run(progress func() load.Progress) {
	ticker := time.NewTicker(frameEvery)
	defer ticker.Stop()
	for {
		select {
		case <-v.ending:
			return
		case <-ticker.C:
			v.mu.Lock()
			v.told.take(progress())
			v.draw()
			v.mu.Unlock()
		}
	}
}

// Interval records a second of the run.
func (v *View) Interval(i *load.Interval) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told.second(i)
	if !v.Terminal {
		v.line(i)
	}
}

// Say shows a line that stays.
func (v *View) Say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	fmt.Fprintln(v.Out, text)
}

// Close removes the changing lines. The report shows the results.
func (v *View) Close() {
	v.once.Do(func() {
		if v.ending != nil {
			close(v.ending)
		}
		v.ended.Wait()
		v.mu.Lock()
		defer v.mu.Unlock()
		v.clear()
	})
}

// draw replaces the lines on the terminal, in one write.
func (v *View) draw() {
	lines := v.frame()
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	width := v.width()
	for _, line := range lines {
		b.WriteString("\r\x1b[K" + cut(line, width-1) + "\n")
	}
	v.drawn = len(lines)
	_, _ = io.WriteString(v.Out, b.String())
}

// clear takes the lines off the terminal.
func (v *View) clear() {
	if v.drawn > 0 {
		fmt.Fprintf(v.Out, "\x1b[%dA\r\x1b[J", v.drawn)
		v.drawn = 0
	}
}

const usualWidth = 80

func (v *View) width() int {
	if v.Width != nil {
		if n := v.Width(); n > 0 {
			return n
		}
	}
	return usualWidth
}

// cut shortens a line to so many columns: one that went on in the next row could not be
// taken away.
func cut(line string, columns int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), max(columns, 0))])
}

// line prints the counts since the previous line, when a line is due.
func (v *View) line(i *load.Interval) {
	if v.since == nil {
		v.since, v.next = histogram.New(), time.Second
	}
	v.since.Add(i.Response)
	v.ok += i.Failed[load.ClassOK]
	v.bad += i.Errors()
	end := i.Start + i.Length
	if end < v.next {
		return
	}
	rate := float64(v.ok) / (end - v.began).Seconds()
	fmt.Fprintf(v.Out, "%7s  %9s/s  in flight %-6s  %s  failed %s\n",
		seconds(end), figure.Number(rate), figure.Number(i.InFlight), quantiles(v.since), figure.Count(v.bad))
	v.since.Reset()
	v.began, v.ok, v.bad, v.next = end, 0, 0, due(end)
}

// due is when the line behind the one at an instant is: each second of the first ten, each
// tenth of the first hundred, and so on.
func due(at time.Duration) time.Duration {
	step := time.Second
	for at+time.Second/2 >= 10*step {
		step *= 10
	}
	return (at+step/2)/step*step + step
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// quantiles are a few quantiles and the maximum of h in one line.
func quantiles(h *histogram.Histogram) string {
	if h.Count() == 0 {
		return "no answers"
	}
	return fmt.Sprintf("p50 %-6s  p99 %-6s  max %-6s", figure.Time(h.Quantile(0.5)), figure.Time(h.Quantile(0.99)), figure.Time(h.Max()))
}
