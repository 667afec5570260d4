package runfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

// The names of the files in a directory.
const (
	RunFile          = "run.json"
	LogFile          = "run.hlog"
	SecondsCSVFile   = "seconds.csv"
	SecondsFile      = "seconds.ndjson"
	ResponseFile     = "response.hgrm"
	ServiceFile      = "service.hgrm"
	LagFile          = "lag.hgrm"
	GoBenchmarksFile = "bench.txt"
)

// Directory is where the files of a run are written. A file that cannot be written is left
// as far as it came, and is said to be missing; the others go on. It belongs to one
// goroutine.
type Directory struct {
	path    string
	began   time.Time
	streams []*stream
	missing []string
	create  func(name string) (io.WriteCloser, error)
}

// stream is a file that grows with the run.
type stream struct {
	name string
	w    io.WriteCloser
	err  error
	head func(w io.Writer, began time.Time) error
	each func(w io.Writer, p Phase, v *load.Interval, u *process.TargetUse) error
}

// Create makes a directory for a run that begins now, and its parents, if they are not
// there. Files of an earlier run in it are written over.
func Create(path string) (*Directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("a directory for the run's files: %w", err)
	}
	return create(path, func(name string) (io.WriteCloser, error) {
		return os.Create(filepath.Join(path, name))
	}), nil
}

func create(path string, file func(string) (io.WriteCloser, error)) *Directory {
	d := &Directory{path: path, began: time.Now(), create: file}
	var log logWriter
	d.streams = []*stream{
		{name: LogFile, head: log.head, each: log.second},
		{name: SecondsCSVFile, head: csvHead, each: csvSecond},
		{name: SecondsFile, head: func(io.Writer, time.Time) error { return nil }, each: ndjsonSecond},
	}
	for _, s := range d.streams {
		if s.w, s.err = file(s.name); s.err == nil {
			s.err = s.head(s.w, d.began)
		}
	}
	return d
}

// second writes a part of the run that is over.
func (d *Directory) second(p Phase, v *load.Interval, u *process.TargetUse) {
	for _, s := range d.streams {
		if s.err == nil {
			s.err = s.each(s.w, p, v, u)
		}
	}
}

// Finish writes the remaining files: the percentiles, the benchmark line and, at last, the
// document, which lists missing files. The error is that of the document; other errors are in the
// document.
func (d *Directory) Finish(doc *Document, r *load.Result) error {
	for _, s := range d.streams {
		if s.w != nil {
			s.err = errors.Join(s.err, s.w.Close())
		}
		d.miss(s.name, s.err)
	}
	d.streams = nil
	for _, f := range []struct {
		name string
		of   *histogram.Histogram
	}{{ResponseFile, r.Total.Response}, {ServiceFile, r.Total.Service}, {LagFile, r.Total.Lag}} {
		d.write(f.name, func(w io.Writer) error { return WritePercentiles(w, f.of) })
	}
	d.write(GoBenchmarksFile, func(w io.Writer) error { return WriteGoBenchmark(w, "Run", doc) })
	doc.Missing = d.Missing()
	if err := d.write(RunFile, doc.Write); err != nil {
		return fmt.Errorf("the run's document: %w", err)
	}
	return nil
}

// write makes a whole file.
func (d *Directory) write(name string, f func(io.Writer) error) error {
	w, err := d.create(name)
	if err == nil {
		err = errors.Join(f(w), w.Close())
	}
	d.miss(name, err)
	return err
}

func (d *Directory) miss(name string, err error) {
	if err != nil {
		d.missing = append(d.missing, name+": "+err.Error())
	}
}

// Missing says which files could not be written so far, and why.
func (d *Directory) Missing() []string {
	all := append([]string{}, d.missing...)
	for _, s := range d.streams {
		if s.err != nil {
			all = append(all, s.name+": "+s.err.Error())
		}
	}
	return all
}

// csvHead names the columns. A number that is not known is an empty field.
func csvHead(w io.Writer, _ time.Time) error {
	_, err := io.WriteString(w, "phase,start_s,length_s,target_per_s,sent,done,good,errors,bytes_out,bytes_in,"+
		"in_flight,in_flight_max,response_p50_ns,response_p99_ns,response_max_ns,service_p50_ns,service_p99_ns,"+
		"service_max_ns,lag_p50_ns,lag_p99_ns,lag_max_ns,"+
		"machine_user_ns,machine_system_ns,machine_idle_ns,machine_steal_ns,target_cpu_ns,target_resident_bytes\n")
	return err
}

func csvSecond(w io.Writer, p Phase, v *load.Interval, u *process.TargetUse) error {
	line := fmt.Appendf(nil, "%s,%.3f,%.3f,%g,%d,%d,%d,%d,%d,%d,%.3f,%d", p, v.Start.Seconds(), v.Length.Seconds(), targetRate(v),
		v.Sent, v.Done, v.Failed[load.ClassOK], v.Errors(), v.BytesOut, v.BytesIn, v.InFlight, v.MaxInFlight)
	for _, h := range []*histogram.Histogram{v.Response, v.Service, v.Lag} {
		if h.Count() == 0 {
			line = append(line, ",,,"...)
			continue
		}
		line = fmt.Appendf(line, ",%d,%d,%d", h.Quantile(0.5), h.Quantile(0.99), h.Max())
	}
	if u != nil {
		line = fmt.Appendf(line, ",%d,%d,%d,%d", u.User, u.System, u.Idle, u.Steal)
	} else {
		line = append(line, ",,,,"...)
	}
	if u != nil && u.Service != nil {
		line = fmt.Appendf(line, ",%d,%d", u.Service.CPU, u.Service.Resident)
	} else {
		line = append(line, ",,"...)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}
