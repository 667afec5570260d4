package wrk

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"
)

// Block is wrk's output for a run.
type Block struct {
	Latency   *Stats // us, as they were measured
	Corrected *Stats // us, as wrk would have it; nil = not shown
	PerSecond *Stats // requests per second of a thread, see Rates

	Distribution bool // --latency
	Requests     int64
	Bytes        int64
	Runtime      time.Duration
	Errors       Errors
}

// Errors are the errors that wrk counts.
type Errors struct{ Connect, Read, Write, Timeout, Status int64 }

// The names of the rows, as far in as each takes to leave a blank behind it.
const (
	latencyName   = "    Latency"
	rateName      = "    Req/Sec"
	correctedName = " Latency(wrk)" // what wrk would have printed as Latency
)

// Write writes the lines that come after the run. The row of the corrected latency stands
// behind those of wrk, and changes none of their places.
func (b *Block) Write(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "  Thread Stats%6s%11s%8s%12s\n", "Avg", "Stdev", "Max", "+/- Stdev")
	t.WriteString(rowOf(latencyName, b.Latency, formatMicroseconds))
	t.WriteString(rowOf(rateName, b.PerSecond, formatMetric))
	if b.Corrected != nil {
		t.WriteString(rowOf(correctedName, b.Corrected, formatMicroseconds))
	}
	if b.Distribution {
		t.WriteString(distribution(b.Latency))
	}
	fmt.Fprintf(&t, "  %d requests in %s, %sB read\n", b.Requests, formatMicroseconds(extended(float64(b.Runtime.Microseconds()))), formatBinary(float64(b.Bytes)))
	if e := b.Errors; e.Connect+e.Read+e.Write+e.Timeout > 0 {
		fmt.Fprintf(&t, "  Socket errors: connect %d, read %d, write %d, timeout %d\n", e.Connect, e.Read, e.Write, e.Timeout)
	}
	if n := b.Errors.Status; n > 0 {
		fmt.Fprintf(&t, "  Non-2xx or 3xx responses: %d\n", n)
	}
	seconds := max(b.Runtime.Seconds(), 1e-6)
	fmt.Fprintf(&t, "Requests/sec: %9.2f\n", float64(b.Requests)/seconds)
	fmt.Fprintf(&t, "Transfer/sec: %10sB\n", formatBinary(float64(b.Bytes)/seconds))
	_, err := io.WriteString(w, t.String())
	return err
}

// Columns returns the figures of the block for other programs.
func (b *Block) Columns() map[string]float64 {
	columns := map[string]float64{
		"requests": float64(b.Requests), "per_second": float64(b.Requests) / max(b.Runtime.Seconds(), 1e-6),
		"read_bytes": float64(b.Bytes), "non_2xx": float64(b.Errors.Status),
		"req_sec_mean": b.PerSecond.Mean(), "req_sec_stddev": b.PerSecond.StdDev(), "req_sec_max": float64(b.PerSecond.Max()), "req_sec_within": b.PerSecond.Within() / 100,
	}
	for name, s := range map[string]*Stats{"latency": b.Latency, "wrk_latency": b.Corrected} {
		const us = float64(time.Microsecond)
		columns[name+"_mean_ns"], columns[name+"_stddev_ns"] = us*s.Mean(), us*s.StdDev()
		columns[name+"_max_ns"], columns[name+"_within"] = us*float64(s.Max()), s.Within()/100
		for _, p := range distributed {
			columns[fmt.Sprintf("%s_p%.0f_ns", name, p)] = us * float64(s.Percentile(p))
		}
	}
	return columns
}

// distributed are the percentiles of --latency.
var distributed = []float64{50, 75, 90, 99}

// distribution is the lines of percentiles.
func distribution(s *Stats) string {
	text := "  Latency Distribution\n"
	for _, p := range distributed {
		text += fmt.Sprintf("%7.0f%%%s\n", p, pad(formatMicroseconds(extended(float64(s.Percentile(p)))), 10))
	}
	return text
}

// rowOf is a line of the table. Where nothing was counted the C library writes 0/0 so.
func rowOf(name string, s *Stats, format func(*big.Float) string) string {
	within := "-nan"
	if s.Count() > 0 {
		within = s.within().Text('f', 2)
	}
	return row(name, format(s.mean()), format(extended(s.StdDev())), format(extended(float64(s.Max()))), within)
}

func row(name, mean, stdev, most, within string) string {
	return fmt.Sprintf("%-14s%s%s%s%8s%%\n", name, pad(mean, 8), pad(stdev, 10), pad(most, 9), within)
}

// pad puts a number before two columns that are for the letters of its unit.
func pad(text string, width int) string {
	letters := 0
	for letters < 2 && letters < len(text) && isLetter(text[len(text)-1-letters]) {
		letters++
	}
	width -= 2 - letters
	return fmt.Sprintf("%*.*s%s", width, width, text, "  "[letters:])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
