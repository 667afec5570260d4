// Package runs lists the runs of the lab in a directory, and serves their reports.
//
// `paddock bench ... --out DIR/NAME` makes a directory with run.json and report.html, or several
// of them one level further down, as --repeat does. The package reads of run.json what a list
// shows; the lab itself is not part of the platform. It follows no link out of the directory, nor
// any link to a directory, and reads nothing but regular files.
package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	runFile    = "run.json"
	reportFile = "report.html"

	// MaxRuns bounds the runs of a list: those whose run.json was written last.
	MaxRuns = 200
	// MaxEntries bounds the directory entries that are looked at for a list.
	MaxEntries = 20_000
	// maxRunFile bounds a run.json in bytes. One of 64 targets and 64 texts of errors has 100 KB.
	maxRunFile = 1 << 20
)

// reportPolicy lets the script and the style run that are in a report, and nothing else: it has
// no access to the origin of the dashboard, and sends no request.
const reportPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ErrNone reports that there is no directory of runs, or no such run or report in it.
var ErrNone = errors.New("there is none")

// Directory is a directory of runs. A nil Directory has none.
type Directory struct {
	path string

	mu   sync.Mutex // held while a list is made, so that lists take turns
	read map[string]entry
}

// entry is a run.json, as it was when it was read.
type entry struct {
	size     int64
	modified time.Time
	run      Run
}

// Open returns the directory at a path; "" is none. It reports a path that is no directory, or
// cannot be read.
func Open(path string) (*Directory, error) {
	if path == "" {
		return nil, nil
	}
	d := &Directory{path: path, read: map[string]entry{}}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err = f.Readdirnames(1); errors.Is(err, io.EOF) {
		err = nil
	}
	return d, err
}

// Check reports an error of a setting, as Open does.
func Check(path string) error {
	_, err := Open(path)
	return err
}

// root opens the directory. It is opened for each request, so that it may be replaced.
func (d *Directory) root() (*os.Root, error) {
	if d == nil {
		return nil, fmt.Errorf("directory of runs: %w: set dashboard.runs to that of paddock bench --out DIR/NAME", ErrNone)
	}
	return os.OpenRoot(d.path)
}

// List is an answer with runs, the newest first.
type List struct {
	Runs []*Run `json:"runs"`
	// All counts the runs that were found, of which the list has MaxRuns at most.
	All int `json:"runs_all"`
	// Complete is false if the directory has more than MaxEntries entries: the others were not
	// looked at.
	Complete bool `json:"complete"`
	// Directory is the path, as it is configured.
	Directory string `json:"directory"`
}

// List lists the runs. A run.json that is broken or too large is in the list, with the error. An
// error of List is one of the directory.
func (d *Directory) List() (*List, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := search{root: root, left: MaxEntries}
	if err := s.below("."); err != nil {
		return nil, err
	}
	list := &List{Runs: []*Run{}, All: len(s.found), Complete: s.left >= 0, Directory: d.path}
	slices.SortFunc(s.found, func(a, b found) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), strings.Compare(a.name, b.name))
	})
	read := map[string]entry{}
	for _, f := range s.found[:min(len(s.found), MaxRuns)] {
		e, ok := d.read[f.name]
		if !ok || e.size != f.info.Size() || !e.modified.Equal(f.info.ModTime()) {
			e = entry{f.info.Size(), f.info.ModTime(), readRun(root, f.name)}
		}
		read[f.name] = e
		run := e.run
		run.Name, run.Modified, run.Report = f.name, e.modified.UTC(), isFile(root, path.Join(f.name, reportFile))
		list.Runs = append(list.Runs, &run)
	}
	d.read = read
	slices.SortStableFunc(list.Runs, func(a, b *Run) int { return b.time().Compare(a.time()) })
	return list, nil
}

// found is a run.json.
type found struct {
	name string // of its directory, with slashes
	info fs.FileInfo
}

// search looks for runs.
type search struct {
	root  *os.Root
	left  int // entries that may be looked at; below 0: there were more
	found []found
}

// below finds the runs in the subdirectories of a directory, with visit.
func (s *search) below(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for s.left >= 0 {
		entries, err := f.ReadDir(min(256, s.left+1))
		for _, e := range entries {
			if s.left--; s.left < 0 {
				return nil
			}
			if e.IsDir() {
				s.visit(path.Join(dir, e.Name()), dir == ".")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visit finds the run of a directory, or with deeper those in it. A directory that cannot be read
// has none.
func (s *search) visit(name string, deeper bool) {
	info, err := s.root.Stat(path.Join(name, runFile))
	if err != nil {
		info, err = s.root.Lstat(path.Join(name, runFile)) // a link that leads out has an error
	}
	switch {
	case err == nil:
		s.found = append(s.found, found{name, info})
	case deeper && errors.Is(err, fs.ErrNotExist):
		_ = s.below(name)
	}
}

// ServeReport answers with the report of a run. It returns an error before it has answered
// anything: ErrNone if there is no such report.
func (d *Directory) ServeReport(w http.ResponseWriter, name string) error {
	root, err := d.root()
	if err != nil {
		return err
	}
	defer root.Close()
	missing := fmt.Errorf("report of the run %.256q: %w: GET /v1/runs lists the runs", name, ErrNone)
	if !fs.ValidPath(name) || name == "." || strings.Count(name, "/") > 1 {
		return missing
	}
	f, info, err := open(root, path.Join(name, reportFile))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("report of the run %.256q: %w", name, fs.ErrPermission)
	case err != nil:
		return missing
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Security-Policy", reportPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = io.CopyN(w, f, info.Size()) // the client may be gone
	return nil
}

// errNotRegular reports a directory, a pipe or a device where a file is expected.
var errNotRegular = errors.New("not a regular file")

// open opens a regular file. It does not wait for the writer of a pipe.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
