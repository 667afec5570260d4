package fence

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// LoadDir reads every file of the directory whose name ends in "json", in name order and not
// recursively, as one set each, named after the file: Slug of its name less the last
// extension. It gives the sets and a report of what was found in them.
//
// The whole load fails if a file cannot be read as GeoJSON, if two files have the same slug
// (both are named), if a name has no slug (ErrName), and with ErrNoSets if there is no file.
// A file of points only is an empty set.
func LoadDir(fsys fs.FS, o Options) (*Catalog, *Report, error) {
	files, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, nil, err
	}
	catalog, report := &Catalog{}, &Report{}
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), "json") {
			continue
		}
		if err := loadFile(fsys, f.Name(), o, catalog, report); err != nil {
			return nil, nil, err
		}
	}
	if catalog.Len() == 0 {
		return nil, nil, fmt.Errorf("%w: no file matches *json", ErrNoSets)
	}
	return catalog, report, nil
}

func loadFile(fsys fs.FS, file string, o Options, catalog *Catalog, report *Report) error {
	name := Slug(strings.TrimSuffix(file, path.Ext(file)))
	if name == "" {
		return fmt.Errorf("%s: %w: its name has neither letter a-z nor digit", file, ErrName)
	}
	if other, ok := report.file(name); ok {
		return fmt.Errorf("%w: %s and %s are both named %q", ErrExists, other, file, name)
	}
	set, err := NewSet(name, o)
	if err != nil {
		return err
	}
	r, err := fsys.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := ReadGeoJSON(r, file, o.Reading())
	if err != nil {
		return err
	}
	snap, err := set.Replace(c)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	report.Sets = append(report.Sets, SetReport{
		Name: name, File: file, Stats: snap.Stats(), Skipped: c.Skipped, Findings: snap.Findings(), Omitted: c.Omitted,
	})
	return catalog.Add(set)
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
