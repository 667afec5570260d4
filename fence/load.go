package fence

import (
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"paddock/fence/geojson"
)

// LoadDir reads every file of the directory whose name ends in "json", not recursively, as one
// set each, named after the file: Slug of its name less the last extension. It gives the sets and
// a report of what was found in them, both in name order. Several files are read at once, one for
// each CPU at most, so fsys is asked by several goroutines.
//
// The whole load fails if a file cannot be read as GeoJSON, if two files have the same slug
// (both are named), if a name has no slug (ErrName), and with ErrNoSets if there is no file. Of
// several errors it tells that of the first file in name order.
// A file of points only is an empty set.
func LoadDir(fsys fs.FS, o Options) (*Catalog, *Report, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, nil, err
	}
	files, unnamed := filesOf(entries)
	loadFiles(fsys, files, o)
	catalog, report := &Catalog{}, &Report{}
	for i := range files {
		f := &files[i]
		if f.err == nil {
			f.err = catalog.Add(f.set)
		}
		if f.err != nil {
			return nil, nil, f.err
		}
		report.Sets = append(report.Sets, f.report)
	}
	if unnamed != nil {
		return nil, nil, unnamed
	}
	if catalog.Len() == 0 {
		return nil, nil, fmt.Errorf("%w: no file matches *json", ErrNoSets)
	}
	return catalog, report, nil
}

// fileLoad is a file that becomes a set.
type fileLoad struct {
	file, name string
	set        *Set
	report     SetReport
	err        error
}

// filesOf lists the files to load, up to the first that no set can be named after, and what is
// wrong with that.
func filesOf(entries []fs.DirEntry) (files []fileLoad, err error) {
	taken := map[string]string{}
	for _, e := range entries {
		file := e.Name()
		if e.IsDir() || !strings.HasSuffix(file, "json") {
			continue
		}
		name := Slug(strings.TrimSuffix(file, path.Ext(file)))
		if name == "" {
			return files, fmt.Errorf("%s: %w: its name has neither letter a-z nor digit", file, ErrName)
		}
		if other, ok := taken[name]; ok {
			return files, fmt.Errorf("%w: %s and %s are both named %q", ErrExists, other, file, name)
		}
		taken[name] = file
		files = append(files, fileLoad{file: file, name: name})
	}
	return files, nil
}

// loadFiles begins with the files in their order, and with none once one has failed. So all
// before that one are loaded.
func loadFiles(fsys fs.FS, files []fileLoad, o Options) {
	var (
		loaders sync.WaitGroup
		begun   atomic.Int64
		failed  atomic.Bool
	)
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		loaders.Go(func() {
			for !failed.Load() {
				i := int(begun.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if files[i].err = files[i].load(fsys, o); files[i].err != nil {
					failed.Store(true)
				}
			}
		})
	}
	loaders.Wait()
}

func (f *fileLoad) load(fsys fs.FS, o Options) error {
	set, err := NewSet(f.name, o)
	if err != nil {
		return err
	}
	r, err := fsys.Open(f.file)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := geojson.ReadGeoJSON(r, f.file, o.Reading())
	if err != nil {
		return err
	}
	snap, err := set.Replace(c)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	f.set = set
	f.report = SetReport{
		Name: f.name, File: f.file, Stats: snap.Stats(), Skipped: c.Skipped, Findings: snap.Findings(), Omitted: c.Omitted,
	}
	return nil
}

// Slug makes a name for a set: s in lower case, each run of bytes outside a-z and 0-9 a
// single "-", none at the ends. It is empty if nothing is left.
func Slug(s string) string {
	var b strings.Builder
	gap := false
	for _, c := range []byte(strings.ToLower(s)) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
		}
		gap = false
		b.WriteByte(c)
	}
	return b.String()
}
