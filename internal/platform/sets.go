package platform

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/rulebook"
	"paddock/internal/process/config"
)

// fenceOptions returns the options of every set. The parents are set once they are read at the
// start.
func (p *Platform) fenceOptions() fence.Options {
	o := setOptions(&p.cfg.Sets)
	o.Parents, o.Now = p.parents, p.now
	return o
}

func setOptions(c *config.Sets) fence.Options {
	return fence.Options{
		Kind: fence.Kind(c.Kind), Zoom: fence.ZoomLevel(c.Zoom),
		Boundary: geometry.Boundary(c.Boundary), Antimeridian: geometry.Antimeridian(c.Antimeridian),
		IDProperty: c.IDProperty, Strict: c.Strict,
	}
}

// SetOptions returns the options of every set, with the parents, which it reads. The error joins
// all faults of the settings.
func SetOptions(cfg *config.Config) (fence.Options, error) {
	c := &cfg.Sets
	var faults []error
	check := func(key string, err error) {
		if err != nil {
			faults = append(faults, cfg.Fault(key, err))
		}
	}
	_, err := fence.ParseKind(c.Kind)
	check("sets.kind", err)
	_, err = geometry.ParseBoundary(c.Boundary)
	check("sets.boundary", err)
	_, err = geometry.ParseAntimeridian(c.Antimeridian)
	check("sets.antimeridian", err)
	if c.Zoom < 0 || c.Zoom > fence.MaxZoom {
		check("sets.zoom", fmt.Errorf("%d is not within 0 and %d", c.Zoom, fence.MaxZoom))
	}
	o := setOptions(c)
	o.Parents, err = readParents(c.Parents, o)
	check("sets.parents", err)
	return o, errors.Join(faults...)
}

// prepareSets reads what the sets need before the first one is made.
func (p *Platform) prepareSets(context.Context) error {
	o, err := SetOptions(p.cfg)
	if err != nil {
		return err
	}
	p.parents = o.Parents
	if p.catalog == nil {
		p.catalog = &fence.Catalog{}
	}
	return nil
}

// loadSets reads the directory of sets and reports errors in it.
func (p *Platform) loadSets(context.Context) error {
	if p.opts.Catalog != nil {
		return nil
	}
	dir := p.cfg.Sets.Dir
	if dir == "" {
		if p.member == nil { // a leader does it
			p.book.Release()
		}
		return nil
	}
	o := directory.Options{
		Dir: dir, Fences: p.fenceOptions(), Catalog: p.catalog, Logger: p.log,
		Unwatched: !p.cfg.Sets.Watch, Partial: true, Snapshots: directory.SnapshotDir(p.cfg.Sets.Snapshots),
	}
	if p.views != nil {
		o.Record, o.Publishing = p.views.Files(), p.views
	}
	o.Changing, o.Reloaded = p.auditFiles, p.opts.Reloaded
	p.rules = &rulebook.Follower{Book: p.book, Dir: dir, Logger: p.log, Changing: p.auditRules}
	o.Reloading = p.rules.Reload
	sets, err := directory.Open(o)
	if err != nil {
		return p.cfg.Fault("sets.dir", fmt.Errorf("%s: %w", dir, err))
	}
	p.sets = sets
	if err := p.rules.Load(); err != nil {
		return p.cfg.Fault("sets.dir", fmt.Errorf("%s: %w", dir, err))
	}
	return nil
}

// followSets keeps the sets equal to the files of the directory.
func (p *Platform) followSets(ctx context.Context) error {
	if p.sets != nil {
		return p.followDirectory(ctx)
	}
	for {
		select {
		case s := <-p.opts.Reload:
			p.log.Info("nothing to reload: there is no directory of sets", "signal", s.String())
			p.opts.Reloaded()
		case <-ctx.Done():
			return nil
		}
	}
}

// followDirectory keeps sets and rules equal to the files of the directory.
func (p *Platform) followDirectory(ctx context.Context) error {
	var all errgroup.Group
	all.Go(func() error { return p.sets.Run(ctx, p.opts.Reload) })
	all.Go(func() error { return p.rules.Run(ctx, p.cfg.Sets.Watch) })
	return all.Wait()
}

// setFiles returns a function for the state of the directory, or nil if there is none.
func (p *Platform) setFiles() func() directory.Status {
	if p.sets == nil {
		return nil
	}
	return p.sets.Status
}

// readParents reads the areas by which sets group fences; "" is none.
func readParents(file string, o fence.Options) ([]geometry.MultiPolygon, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return fence.ReadParents(f, file, o.Reading())
}
