package gofence

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"paddock/fence"
)

// Directory is a Handler over the GeoJSON files of a directory, one set each,
// and can read them again.
type Directory struct {
	*Handler

	fsys   fs.FS
	fences fence.Options
}

// Open loads the files of fsys that end in "json" as fence.LoadDir does, logs
// what was found in them, and returns a handler over the sets. The error is
// that of LoadDir.
func Open(fsys fs.FS, fences fence.Options, o Options) (*Directory, error) {
	d := &Directory{Handler: New(new(fence.Catalog), o), fsys: fsys, fences: fences}
	return d, d.Reload()
}

// Reload reads the directory again and then answers from what it holds now, all
// sets at once. After an error nothing has changed. What was added at run time
// is gone after a success.
func (d *Directory) Reload() error {
	begun := time.Now()
	catalog, report, err := fence.LoadDir(d.fsys, d.fences)
	if err != nil {
		return err
	}
	report.Log(d.log)
	d.Use(catalog)
	d.log.Info("fences loaded", "sets", len(report.Sets), "findings", report.Findings(), "took", time.Since(begun))
	return nil
}

// ReloadOn reloads for each signal until ctx ends. A directory that cannot be
// loaded costs nobody anything: the sets stay, and the log says why.
func (d *Directory) ReloadOn(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case s := <-signals:
			d.log.Info("reloading; fences added at run time will be gone", "signal", s.String())
			if err := d.Reload(); err != nil {
				d.log.Error("reload failed; the sets stay as they were", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Reason returns why a load failed in the words of the original program where
// it has some. dir is as the user gave it.
func Reason(err error, dir string) string {
	if errors.Is(err, fence.ErrNoSets) || errors.Is(err, fs.ErrNotExist) {
		return "No valid geojson fences at " + dir
	}
	return err.Error()
}
