package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"paddock/fence/geometry"
	"paddock/internal/imports"
)

// importCmd makes sets of fences of files of other tools. See docs/guides/import.md.
type importCmd struct {
	Path   string  `arg:"" name:"path" help:"File, or directory whose files are imported."`
	Output string  `short:"o" required:"" placeholder:"DIR" help:"Directory of the sets, as for up --sets; it is made if necessary."`
	ID     string  `name:"id" placeholder:"PROPERTY" help:"The property that becomes the id of each fence (default the id that the file has)."`
	Width  float64 `placeholder:"METRES" help:"Make corridors of this width of lines that have none (default for GPX 50; other lines stay lines)."`
	Radius float64 `placeholder:"METRES" help:"Make circles of points that have no radius (default: they are left out)."`
	Force  bool    `help:"Replace files that are there, also rules.yaml."`
	JSON   bool    `name:"json" help:"Print an object with files, rules and ignored."`
}

// Help describes formats and exit codes.
func (*importCmd) Help() string {
	return `The format is found by the contents or the extension. Coordinates must be longitude and latitude in WGS84; a file in another coordinate system is refused by the name of that. Each file becomes a set that is named after it, and Tile38's collections and TomTom's projects one each.

A fence with a defect is refused and named with its line, record or feature; the others are written. Nothing is written if a file of a set is there already, unless --force is given.

Exit codes: 0 all fences were imported, 1 some were refused, or a file could not be read or written, 2 usage, or a file is there already.

    paddock import zones.kml -o sets/
    paddock import tracts.shp -o sets/ --id GEOID
    paddock import exports/ -o sets/ --force`
}

// Run imports, and says what was written.
func (k *importCmd) Run(ctx context.Context, c *console) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // so that no part of a file is left
	defer stop()
	if k.Width != 0 && !(k.Width >= 2*geometry.MinBufferMeters && k.Width <= 2*geometry.MaxBufferMeters) {
		return usagef("--width %v: not within %v and %v metres", k.Width, 2*geometry.MinBufferMeters, 2*geometry.MaxBufferMeters)
	}
	if k.Radius != 0 && !(k.Radius >= geometry.MinRadiusMeters && k.Radius <= geometry.MaxRadiusMeters) {
		return usagef("--radius %v: not within %v and %v metres", k.Radius, geometry.MinRadiusMeters, geometry.MaxRadiusMeters)
	}
	report, err := imports.Run(ctx, k.Path, k.Output, imports.Options{Width: k.Width, Radius: k.Radius, IDProperty: k.ID, Force: k.Force})
	switch {
	case errors.Is(err, imports.ErrExists):
		return usageError{err}
	case err != nil:
		return err
	case k.JSON:
		err = c.printJSON(report)
	default:
		_, err = fmt.Fprint(c.Stdout, report)
	}
	if err == nil && !report.Whole() {
		err = fmt.Errorf("%s: not all of it was imported", k.Path)
	}
	return err
}
