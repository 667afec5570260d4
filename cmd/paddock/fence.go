package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"paddock/fence"
	"paddock/internal/httpapi/gofence"
	"paddock/internal/lifecycle"
	"paddock/internal/listen"
)

// fenceCmd is the original gofence: its flags, its HTTP interface, and its
// words when it does not start. docs/gofence.md is its guide.
type fenceCmd struct {
	Dir string `arg:"" optional:"" help:"Directory of GeoJSON files (*json), one set each."`

	Kind    string `name:"fence" placeholder:"KIND" default:"cellmap" complete:"brute,rtree,cellmap" help:"Kind of index: ${default}, rtree or brute. All give the same answers."`
	Zoom    int    `short:"z" placeholder:"Z" default:"14" help:"Zoom level of the kinds that have one, 0 to 23; those above have none (default ${default})."`
	Port    uint16 `short:"p" placeholder:"PORT" default:"8080" help:"Port to listen on; 0 takes a free one (default ${default})."`
	Host    string `placeholder:"HOST" default:"127.0.0.1" help:"Address to listen on (default ${default}). Any but loopback needs --token."`
	Profile bool   `help:"Serve profiles under /debug/pprof/."`
	Token   string `env:"PADDOCK_TOKEN" placeholder:"TOKEN" help:"Serve only requests with Authorization: Bearer TOKEN."`
}

// Run serves until a signal stops it. SIGHUP reads the directory again.
func (f *fenceCmd) Run(ctx context.Context, c *console) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	reload := make(chan os.Signal, 1) // one waits while another is done: it will see the later files
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	group, err := f.start(ctx, log, reload)
	if err != nil {
		fmt.Fprintf(c.Stdout, "Touché!\n%v\n", err)
		return err
	}
	return group.Run(ctx)
}

// maxFenceConnections is how many are open at once; further ones wait to be
// accepted.
const maxFenceConnections = 65_536

// start loads and listens, so that what is wrong is told before anything runs.
func (f *fenceCmd) start(ctx context.Context, log *slog.Logger, reload <-chan os.Signal) (*lifecycle.Group, error) {
	kind, err := f.check()
	if err != nil {
		return nil, err
	}
	d, err := gofence.Open(os.DirFS(f.Dir), fence.Options{Kind: kind}, gofence.Options{Profile: f.Profile, Logger: log})
	if err != nil {
		return nil, errors.New(gofence.Reason(err, f.Dir))
	}
	listener, err := listen.Listen(ctx, f.address(), f.Token != "")
	if err != nil {
		return nil, err
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "kind", kind, "profile", f.Profile, "token", f.Token != "")
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.Service{Name: "fences", Run: func(ctx context.Context) error { return d.ReloadOn(ctx, reload) }})
	group.Add(lifecycle.HTTP("http", gofence.NewServer(d, f.Token, log), listen.Limit(listener, maxFenceConnections)))
	return group, nil
}

// check refuses what cannot work, before a large directory is loaded. Its words
// are the original's where that had some.
func (f *fenceCmd) check() (fence.Kind, error) {
	if f.Dir == "" {
		return "", errors.New("fences_path required")
	}
	if f.Zoom < 0 || f.Zoom > 23 {
		return "", errors.New("required 0 <= -z <= 23")
	}
	kind, err := fence.ParseKind(f.Kind)
	if err != nil {
		return "", err
	}
	return kind, listen.Check(f.address(), f.Token != "")
}

func (f *fenceCmd) address() string {
	return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))
}
