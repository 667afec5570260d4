package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/httpapi/gofence"
	"paddock/internal/process/lifecycle"
)

// fenceCmd is compatible with the original gofence: its flags, its HTTP interface, and its texts
// when it does not start. See docs/reference/gofence.md.
type fenceCmd struct {
	Dir string `arg:"" optional:"" help:"Directory of GeoJSON files (*json), one set each."`

	Kind         string `name:"fence" placeholder:"KIND" default:"cellmap" complete:"brute,bbox,city,city-bbox,qtree,qrtree,rtree,s2,cellmap,auto" help:"Kind of index: brute, bbox, city, city-bbox, qtree, qrtree, rtree, s2, cellmap or auto (default ${default}). All give the same answers."`
	Zoom         int    `short:"z" placeholder:"Z" default:"14" help:"Finest level of the tiles of qtree and qrtree and of the cells of s2, 0 to 23 (default ${default})."`
	Parents      string `placeholder:"FILE" type:"path" help:"GeoJSON file of areas by which city and city-bbox group fences; without it they look at all."`
	Boundary     string `placeholder:"RULE" default:"half-open" complete:"half-open,closed,open" help:"Which points of its own boundary a fence holds: half-open (of two neighbours, one), closed (all) or open (none) (default ${default})."`
	Antimeridian string `placeholder:"WAY" default:"planar" complete:"planar,unwrap" help:"What an edge over more than 180 degrees of longitude means: planar (the long way round) or unwrap (over the antimeridian) (default ${default})."`
	Watch        bool   `negatable:"" default:"true" help:"Look for changed files every second, and serve them (default on). SIGHUP has them read in any case."`
	Snapshots    string `placeholder:"DIR" help:"Where sets are kept ready for the next start (default in the user's cache directory); off keeps none."`
	Port         uint16 `short:"p" placeholder:"PORT" default:"8080" help:"Port to listen on; 0 takes a free one (default ${default})."`
	Host         string `placeholder:"HOST" default:"127.0.0.1" help:"Address to listen on (default ${default}). Any but loopback needs --token."`
	Profile      bool   `help:"Serve profiles under /debug/pprof/."`
	Token        string `env:"PADDOCK_TOKEN" placeholder:"TOKEN" help:"Serve only requests with Authorization: Bearer TOKEN."`
}

// Run serves until a signal stops it. SIGHUP reads the directory again.
func (f *fenceCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	reload, stop := hangups()
	defer stop()
	group, err := f.start(ctx, log, reload)
	if err != nil {
		fmt.Fprintf(c.Stdout, "Touché!\n%v\n", err)
		return err
	}
	return group.Run(ctx)
}

// hangups returns the SIGHUP signals, which make the service read its files again, until stop.
func hangups() (signals <-chan os.Signal, stop func()) {
	reload := make(chan os.Signal, 1) // one is enough: the pending reload reads the latest files
	signal.Notify(reload, syscall.SIGHUP)
	return reload, func() { signal.Stop(reload) }
}

// maxFenceConnections bounds the open connections; further ones wait to be accepted.
const maxFenceConnections = 65_536

// start loads the sets and listens, so that mistakes are reported before anything runs.
func (f *fenceCmd) start(ctx context.Context, log *slog.Logger, reload <-chan os.Signal) (*lifecycle.Group, error) {
	options, err := f.check()
	if err != nil {
		return nil, err
	}
	catalog := new(fence.Catalog)
	d, err := directory.Open(directory.Options{Dir: f.Dir, Fences: options, Catalog: catalog, Logger: log, Unwatched: !f.Watch, Snapshots: directory.SnapshotDir(f.Snapshots)})
	if err != nil {
		return nil, errors.New(gofence.Reason(err, f.Dir))
	}
	listener, err := listen.Listen(ctx, f.address(), f.Token != "")
	if err != nil {
		return nil, listen.OrElse(err, "--port")
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "kind", options.Kind, "watch", f.Watch, "profile", f.Profile, "token", f.Token != "")
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.Service{Name: "fences", Run: func(ctx context.Context) error { return d.Run(ctx, reload) }})
	handler := gofence.New(catalog, gofence.Options{Profile: f.Profile, Logger: log})
	group.Add(lifecycle.HTTP("http", gofence.NewServer(handler, f.Token, log), listen.Limit(listener, maxFenceConnections)))
	return group, nil
}

// check validates the flags before a large directory is loaded. Its texts are those of the original
// where that has one.
func (f *fenceCmd) check() (o fence.Options, err error) {
	if f.Dir == "" {
		return o, errors.New("fences_path required")
	}
	if f.Zoom < 0 || f.Zoom > fence.MaxZoom {
		return o, fmt.Errorf("required 0 <= -z <= %d", fence.MaxZoom)
	}
	o.Zoom, o.Now = fence.ZoomLevel(f.Zoom), time.Now
	if o.Kind, err = fence.ParseKind(f.Kind); err != nil {
		return o, err
	}
	if o.Boundary, err = geometry.ParseBoundary(f.Boundary); err != nil {
		return o, err
	}
	if o.Antimeridian, err = geometry.ParseAntimeridian(f.Antimeridian); err != nil {
		return o, err
	}
	if err := listen.Check(f.address(), f.Token != ""); err != nil {
		return o, err
	}
	o.Parents, err = f.parents(o)
	return o, err
}

// parents reads the file of parents if the kind uses one. The original has the same variable.
func (f *fenceCmd) parents(o fence.Options) ([]geometry.MultiPolygon, error) {
	path := cmp.Or(f.Parents, os.Getenv("NYC_BOROS_PATH"))
	if path == "" || o.Kind != fence.KindCity && o.Kind != fence.KindCityBBox {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return fence.ReadParents(file, path, o.Reading())
}

func (f *fenceCmd) address() string {
	return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))
}
