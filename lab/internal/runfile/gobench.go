package runfile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteGoBenchmark writes a run as a line of Go benchmarks, below lines that describe the system,
// so that benchstat compares several runs. name is the name of the benchmark, without the prefix
// "Benchmark". A file may hold the lines of several runs.
func WriteGoBenchmark(w io.Writer, name string, d *Document) error {
	var b bytes.Buffer
	if m := d.Manifest; m != nil {
		fmt.Fprintf(&b, "goos: %s\ngoarch: %s\n", m.OS, m.Arch)
		if m.CPUModel != nil {
			fmt.Fprintf(&b, "cpu: %s\n", *m.CPUModel)
		}
	}
	fmt.Fprintf(&b, "driver: %s\nmodel: %s\nlamp: %s\n", d.Plan.Driver, d.Plan.Model, d.Verdict.Level)
	fmt.Fprintf(&b, "Benchmark%s %d", benchmarkName(name), max(d.Totals.Done, 1))
	if d.Totals.PerSecond != nil {
		fmt.Fprintf(&b, " %g req/s", *d.Totals.PerSecond)
	}
	if t := d.Response; t != nil {
		fmt.Fprintf(&b, " %d ns/op", t.Mean)
		for _, q := range t.Quantiles {
			if q.Q >= 0.5 && q.Q < 1 && q.Enough {
				fmt.Fprintf(&b, " %d p%s-ns", q.Value, fmt.Sprintf("%.4g", 100*q.Q))
			}
		}
		fmt.Fprintf(&b, " %d max-ns", t.Max)
	}
	if d.Totals.Done > 0 {
		fmt.Fprintf(&b, " %g cpu-ns/op", float64(d.Host.User+d.Host.System)/float64(d.Totals.Done))
	}
	fmt.Fprintf(&b, " %d errors\n", d.failed())
	_, err := w.Write(b.Bytes())
	return err
}

// failed is the number of requests and connections that failed.
func (d *Document) failed() (n int64) {
	for _, e := range d.Errors {
		n += e.Count
	}
	return n
}

// benchmarkName makes a word that begins in upper case, as the form demands.
func benchmarkName(name string) string {
	word := []rune(strings.Join(strings.Fields(name), "_"))
	if len(word) == 0 {
		return "Run"
	}
	word[0] = unicode.ToUpper(word[0])
	return string(word)
}
