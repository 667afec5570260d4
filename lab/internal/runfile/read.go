package runfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

const (
	maxDocument = 16 << 20 // bytes of run.json that are read
	maxLine     = 1 << 20  // of a line: the longest histogram there is, as base64
	maxFound    = 1000     // runs of one directory, as many as --repeat makes
)

// Find returns the directories of the runs at a path: the path itself if it has a run.json, or is
// one, else those of its subdirectories that have one, in the order of the numbers in their names.
func Find(path string) ([]string, error) {
	if filepath.Base(path) == RunFile {
		path = filepath.Dir(path)
	}
	is := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, RunFile))
		return err == nil
	}
	if is(path) {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if dir := filepath.Join(path, e.Name()); e.IsDir() && is(dir) {
			found = append(found, dir)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no run: neither %s, nor a directory with one, as --out writes them", path, RunFile)
	}
	if len(found) > maxFound {
		return nil, fmt.Errorf("%s has %d runs, of at most %d", path, len(found), maxFound)
	}
	slices.SortStableFunc(found, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return found, nil
}

// numberOf is the number at the end of a name, such as 12 or c-12; 0 = none.
func numberOf(name string) int {
	n, _ := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	return n
}

// Read returns the document of the run in a directory.
func Read(dir string) (*Document, error) {
	path := filepath.Join(dir, RunFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	d := &Document{}
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxDocument:
		return nil, fmt.Errorf("%s: more than %d MiB", path, maxDocument>>20)
	}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.Schema != SchemaName {
		return nil, fmt.Errorf("%s: its schema is %q, of which this version reads %q alone", path, d.Schema, SchemaName)
	}
	for _, t := range []*Times{d.Response, d.Service, d.Lag, d.Connect, d.FirstByte} {
		if t != nil && !slices.EqualFunc(t.Quantiles, Quantiles, func(v Quantile, q float64) bool { return v.Q == q }) {
			return nil, fmt.Errorf("%s: the quantiles of its times are not %v", path, Quantiles)
		}
	}
	return d, nil
}

// At is the quantile q, one of Quantiles; false if there were too few requests to speak of it, or
// none.
func (t *Times) At(q float64) (time.Duration, bool) {
	if t == nil {
		return 0, false
	}
	v := t.Quantiles[slices.Index(Quantiles, q)]
	return time.Duration(v.Value), v.Enough
}

// ReadIntervals calls each with the parts of the run in a directory, in order, as an observer of
// the run was called: with the counts of seconds.ndjson, and the histograms of run.hlog. An error
// names the file and the line; it is fs.ErrNotExist if one of the files is not there.
func ReadIntervals(dir string, each func(*Second, *load.Interval)) error {
	seconds, err := os.Open(filepath.Join(dir, SecondsFile))
	if err != nil {
		return err
	}
	defer seconds.Close()
	log, err := os.Open(filepath.Join(dir, LogFile))
	if err != nil {
		return err
	}
	defer log.Close()
	next, stop := iter.Pull2(ReadLog(log))
	defer stop()
	lines := bufio.NewScanner(seconds)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		var s Second
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%s: line %d: %w", seconds.Name(), n, err)
		}
		v := s.interval()
		for _, h := range []**histogram.Histogram{&v.Response, &v.Service, &v.Lag} {
			l, err, ok := next()
			if err == nil && (!ok || (l.Start-v.Start).Abs() > time.Millisecond) {
				err = fmt.Errorf("the histograms of the second at %v are missing", v.Start)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", log.Name(), err)
			}
			*h = l.Histogram
		}
		each(&s, v)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w", seconds.Name(), n+1, err)
	}
	return nil
}

// interval is the part of a run that a line describes, without its histograms.
func (s *Second) interval() *load.Interval {
	v := &load.Interval{
		Start: time.Duration(s.Start), Length: time.Duration(s.Length), Sent: s.Sent, Done: s.Done,
		BytesOut: s.BytesOut, BytesIn: s.BytesIn, BodyIn: s.BodyIn, Connects: s.Connects, Reconnects: s.Reconnects,
		Status: statusesOf(s.Status), InFlight: s.InFlight, MaxInFlight: s.MaxInFlight,
	}
	if s.Target != nil {
		v.Target = *s.Target * v.Length.Seconds()
	}
	setFailed(v, s.Good, s.Errors)
	setLate(v, s.Late)
	for _, t := range s.Threads {
		if t.CPU != nil {
			v.Threads = append(v.Threads, load.ThreadUse{CPU: time.Duration(*t.CPU), Wall: time.Duration(t.Wall)})
		}
	}
	return v
}

func setFailed(v *load.Interval, good int64, failed map[string]int64) {
	for c := range load.Classes {
		v.Failed[c] = failed[c.String()]
	}
	v.Failed[load.ClassOK] = good
}

func setLate(v *load.Interval, late map[string]Late) {
	for c := range load.Causes {
		l := late[c.String()]
		v.Late[c], v.LateTime[c] = l.Count, time.Duration(l.Sum)
	}
}

func statusesOf(of map[string]int64) map[uint16]int64 {
	all := map[uint16]int64{}
	for code, n := range of {
		if number, err := strconv.ParseUint(code, 10, 16); err == nil {
			all[uint16(number)] = n
		}
	}
	return all
}

// Result returns the result that the document describes, without its histograms.
func (d *Document) Result() *load.Result {
	t := &d.Totals
	r := &load.Result{
		Elapsed: time.Duration(t.Elapsed), Warmup: time.Duration(t.Warmup), InTime: t.InTime, Stopped: t.Interrupted,
		Unanswered: load.Unanswered{Count: t.Unanswered, Unsent: t.Unsent, Oldest: time.Duration(t.Oldest)},
		Total: load.Interval{
			Length: time.Duration(t.Elapsed), Sent: t.Sent, Done: t.Done, BytesOut: t.BytesOut, BytesIn: t.BytesIn, BodyIn: t.BodyIn,
			Connects: t.Connects, Reconnects: t.Reconnects, InFlight: t.InFlight, MaxInFlight: t.MaxInFlight, Status: statusesOf(t.Status),
		},
		Machine: load.MachineUse{User: time.Duration(d.Host.User), System: time.Duration(d.Host.System), MaxResident: d.Host.MaxResident},
	}
	if d.Manifest != nil {
		r.Began = d.Manifest.Began
	}
	failed := map[string]int64{}
	for _, e := range d.Errors {
		failed[e.Class] = e.Count
		for c := range load.Classes {
			for _, s := range e.Samples {
				if c.String() == e.Class {
					r.Samples = append(r.Samples, load.Sample{Class: c, Text: s.Text, Bytes: s.Bytes, Count: s.Count, First: time.Duration(s.First), Last: time.Duration(s.Last)})
				}
			}
		}
	}
	setFailed(&r.Total, t.Good, failed)
	setLate(&r.Total, t.Late)
	return r
}
