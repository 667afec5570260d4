// Package imports makes sets of fences of files that other tools have written. Each format is a
// reader in a package of its own below this one; this package finds the format of a file, checks
// what its reader gives as a set would, and writes the sets.
package imports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"paddock/internal/imports/feature"
)

// Bounds of an import. What is larger is an error that names the bound.
const (
	// MaxFile bounds the bytes of a file, and the bytes of an archive when it is unpacked.
	MaxFile = 512 << 20
	// MaxEntries bounds the files of an archive, and of a directory.
	MaxEntries = 10_000
	// MaxSets bounds the sets of one import.
	MaxSets = 1000
	// MaxFeatures bounds the features of one file.
	MaxFeatures = 5_000_000
	// MaxFindings bounds the findings about one file that are kept. Those beyond are counted.
	MaxFindings = 10_000
	// MaxRules bounds the rules of one import.
	MaxRules = 10_000
)

// Options are the settings of an import.
type Options struct {
	Width      float64 // metres: corridors are made of lines that have no width; 0 makes lines
	Radius     float64 // metres: circles are made of points that have no radius; 0 leaves them out
	IDProperty string  // the property that gives the ids of features; "" keeps their own
	Force      bool    // replace files that are there
}

// ErrExists is wrapped where a set that would be written is there.
var ErrExists = errors.New("it is there already")

// Run imports a file, or each file of a directory that it knows, and writes the sets into the
// directory out, which it makes. The report has an entry for each file, also for one that failed.
// The files of a set have their names once all of the import is on disk: an import that returns an
// error has written nothing. The error is one of reading path, of writing, or that of ctx.
func Run(ctx context.Context, path, out string, o Options) (*Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	w := newWriter(out, o.Force)
	defer w.discard()
	r := &run{ctx: ctx, options: o, writer: w, report: &Report{Files: []FileReport{}, Ignored: []string{}}}
	if info.IsDir() {
		err = r.directory(path)
	} else {
		err = r.file(path, filepath.Base(path))
		if err == nil && len(r.report.Files) == 0 {
			err = fmt.Errorf("%s: it is in none of the formats that are known: %s", path, strings.Join(Formats(), ", "))
		}
	}
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return nil, err
	}
	r.report.Rules = w.rulesFile()
	return r.report, nil
}

// run is one import.
type run struct {
	ctx     context.Context
	options Options
	writer  *writer
	report  *Report
}

// directory imports the files of a directory, and not of those below it.
func (r *run) directory(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > MaxEntries {
		return fmt.Errorf("%s: %d files, the limit is %d", dir, len(entries), MaxEntries)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0 || e.Name()[0] == '.' {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil || info.IsDir() {
			continue
		}
		if err := r.file(filepath.Join(dir, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// file imports one file. A companion of another file is passed over in silence, and a file of an
// unknown format is listed.
func (r *run) file(path, name string) error {
	if isCompanion(name) {
		if shapes, _ := companion(path, ".shp"); shapes != "" {
			return nil
		}
	}
	data, err := readFile(path)
	if err != nil {
		return r.failed(name, "", err)
	}
	if isZip(data) {
		return r.archive(name, data)
	}
	format := formatOf(name, data)
	if format == nil {
		r.report.Ignored = append(r.report.Ignored, name)
		return nil
	}
	in := &feature.Input{Name: name, Data: data, Companion: func(ext string) ([]byte, error) {
		found, err := companion(path, ext)
		if err != nil || found == "" {
			return nil, err
		}
		return readFile(found)
	}}
	return r.read(format, in, base(name))
}

// read reads a file of a known format into sets. An error of the file goes into the report.
func (r *run) read(format *Format, in *feature.Input, set string) error {
	c := newConverter(r, in.Name, set)
	if c.options.Width == 0 {
		c.options.Width = format.width
	}
	in.Data = withoutMark(in.Data)
	err := format.read(in, c)
	if err == nil {
		err = c.finish()
	}
	if c.writeErr != nil {
		return c.writeErr
	}
	if err != nil {
		c.drop()
		return r.failed(in.Name, format.Name, err)
	}
	c.report.Format = format.Name
	r.report.Files = append(r.report.Files, c.report)
	return nil
}

// failed reports a file that could not be read.
func (r *run) failed(name, format string, err error) error {
	r.report.Files = append(r.report.Files, FileReport{File: name, Format: format, Sets: []SetReport{}, Findings: []feature.Finding{}, Error: err.Error()})
	return nil
}

// readFile reads a file of at most MaxFile bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", filepath.Base(path), info.Size(), MaxFile)
	}
	return os.ReadFile(path)
}

// base returns a file's name without its extension.
func base(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// companion returns the file beside path with another extension, in either case; "" if there is
// none.
func companion(path, ext string) (string, error) {
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	for _, e := range []string{ext, strings.ToUpper(ext)} {
		if _, err := os.Stat(stem + e); err == nil {
			return stem + e, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// isCompanion reports whether a file belongs to a .shp file beside it.
func isCompanion(name string) bool {
	return slices.Contains([]string{".dbf", ".shx", ".prj", ".cpg", ".qpj", ".qix", ".sbn", ".sbx"}, strings.ToLower(filepath.Ext(name)))
}
