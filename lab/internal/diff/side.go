// Package diff compares runs of one load, before and after a change: by their runs if there are
// several, else by parts of the one run.
//
// A part is as many seconds as it takes for neighbours to be nearly independent. Runs differ in
// more than their seconds do, as memory and ports lie elsewhere in each: comparisons by run see
// that, and comparisons by part do not.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/histogram"
)

// Side is the runs before or after the change.
type Side struct {
	Path  string
	Runs  []*runfile.Document
	parts []part // of a single run, its seconds
}

// Read returns the runs at a path: run.json, its directory, or a directory with several. The
// seconds of a single run are read too, behind its warm-up.
func Read(path string) (*Side, error) {
	dirs, err := runfile.Find(path)
	if err != nil {
		return nil, err
	}
	s := &Side{Path: path}
	for _, dir := range dirs {
		d, err := runfile.Read(dir)
		if err != nil {
			return nil, err
		}
		s.Runs = append(s.Runs, d)
		if fields := plansDiffer(s.Runs[0], d); len(fields) > 0 {
			return nil, fmt.Errorf("%s has runs of several loads, which differ in %s", path, strings.Join(fields, ", "))
		}
	}
	if len(dirs) == 1 {
		err = s.readParts(dirs[0])
	}
	return s, err
}

func (s *Side) readParts(dir string) error {
	var cut time.Duration
	if steady := s.Runs[0].Steady; steady != nil {
		cut = time.Duration(steady.Cut)
	}
	from := time.Duration(s.Runs[0].Totals.Warmup) + cut
	return runfile.ReadIntervals(dir, func(second *runfile.Second, v *load.Interval) {
		if second.Phase == runfile.Measured && v.Start >= from-time.Millisecond && v.Length >= time.Second*9/10 {
			s.add(partOf(v))
		}
	})
}

// maxParts bounds the seconds that are kept: beyond, two neighbours become one.
const maxParts = 4096

func (s *Side) add(p part) {
	if s.parts = append(s.parts, p); len(s.parts) == maxParts {
		s.parts = batched(s.parts, 2)
	}
}

// part is some seconds of a run.
type part struct {
	length     time.Duration
	good, done int64
	cpu        time.Duration
	response   histogram.Sparse
}

func partOf(v *load.Interval) part {
	p := part{length: v.Length, good: v.Failed[load.ClassOK], done: v.Done, response: histogram.Pack(v.Response)}
	for _, t := range v.Threads {
		p.cpu += t.CPU
	}
	return p
}

// batched merges each size neighbours; what is left over at the end is dropped.
func batched(parts []part, size int) (merged []part) {
	if size == 1 {
		return parts
	}
	h := histogram.New()
	for b := range slices.Chunk(parts, size) {
		if len(b) < size {
			break
		}
		h.Reset()
		var sum part
		for _, p := range b {
			sum.length, sum.good, sum.done, sum.cpu = sum.length+p.length, sum.good+p.good, sum.done+p.done, sum.cpu+p.cpu
			p.response.AddTo(h)
		}
		sum.response = histogram.Pack(h)
		merged = append(merged, sum)
	}
	return merged
}

// maxSamples bounds the parts of a side that are compared, each with each of the other side.
const maxSamples = 512

// alike bounds the correlation of neighbouring parts.
const alike = 0.1

// batch is the number of seconds in a part: so many that the correlation of neighbouring parts
// is below alike, by that of the seconds (as of an AR(1) process) and of the parts themselves, and
// that each has requests enough for the p99, while enough parts remain.
func batch(parts []part) int {
	size, requests := max(1, (len(parts)+maxSamples-1)/maxSamples), 0.0
	for _, p := range parts {
		requests += float64(p.response.Count()) / float64(len(parts))
	}
	for i, values := range valuesOf(parts) {
		if n := float64(len(values)); metrics[i].judged && n >= minSamples {
			r := lag1(values)
			r += (1+4*r)/n + math.Sqrt(max(1-r*r, 0)/n) // its bias, and its standard error
			r = min(r, 0.98)
			size = max(size, int(math.Ceil(r/(alike*(1-r*r)))))
		}
	}
	enough := int(math.Ceil(float64(load.Needed(0.99)) / max(requests, 1)))
	if len(parts)/max(enough, 1) >= 2*minSamples {
		size = max(size, enough)
	}
	for ; len(parts)/size >= 2*minSamples; size *= 2 {
		some := batched(parts, size)
		if lag1(valuesOf(some)[0]) < 1.645/math.Sqrt(float64(len(some))) {
			break
		}
	}
	return size
}

// lag1 is the correlation of each value with the next.
func lag1(values []float64) float64 {
	var mean, sum, next float64
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for i, v := range values {
		sum += (v - mean) * (v - mean)
		if i > 0 {
			next += (v - mean) * (values[i-1] - mean)
		}
	}
	if sum == 0 {
		return 0
	}
	return next / sum
}

// elsewhere are the members of a plan that do not make another load: where the service is, and
// what is drawn.
var elsewhere = []string{"network", "address", "seed", "pinned"}

// host is the service in a title, such as //host:8080.
var host = regexp.MustCompile(`//[^/\s]*`)

// Differ returns the members of run.json in which the loads of both sides differ, with the values.
func (s *Side) Differ(o *Side) []string { return plansDiffer(s.Runs[0], o.Runs[0]) }

// plansDiffer returns the names of the members of run.json in which two loads differ.
func plansDiffer(a, b *runfile.Document) []string {
	x, y := members(a), members(b)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if y[name] != nil && !bytes.Equal(x[name], y[name]) && !slices.Contains(elsewhere, name) {
			names = append(names, fmt.Sprintf("%s (%s and %s)", name, x[name], y[name]))
		}
	}
	return names
}

func members(d *runfile.Document) map[string]json.RawMessage {
	text, _ := json.Marshal(d.Plan) // it has no values that cannot be written
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(text, &all)
	if d.Title != "" {
		all["title"] = json.RawMessage(host.ReplaceAllString(d.Title, "//..."))
	}
	return all
}
