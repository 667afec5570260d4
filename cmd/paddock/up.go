package main

import (
	"context"
	"fmt"
	"strconv"

	"paddock/internal/config"
	"paddock/internal/lifecycle"
	"paddock/internal/logging"
	"paddock/internal/platform"
	"paddock/internal/version"
)

// upCmd runs the platform. A flag that is not given leaves its setting to the
// environment and the file.
type upCmd struct {
	Config string `short:"c" type:"path" placeholder:"FILE" help:"Configuration file; docs/paddock.example.yaml shows every key."`
	Sets   string `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each."`
	Fence  string `placeholder:"KIND" help:"Kind of index."`
	Watch  *bool  `negatable:"" help:"Look for changed files of sets every second, and serve them (default on). SIGHUP has them read in any case."`

	Snapshots string `placeholder:"DIR" help:"Where sets are kept ready for the next start (default in the user's cache directory); off keeps none."`

	serving
}

// serving are the settings that every form of the platform has on its command
// line. Their names in the configuration are in flags.
type serving struct {
	Listen     string `placeholder:"ADDR" help:"Address of HTTP and dashboard (default 127.0.0.1:8080; port 0 takes a free one)."`
	BusListen  string `placeholder:"ADDR" help:"Address of the bus for NATS clients (default 127.0.0.1:4222)."`
	WireListen string `placeholder:"ADDR" help:"Address of the wire protocol (default 127.0.0.1:7400)."`
	Token      string `placeholder:"TOKEN" help:"What HTTP clients must present; needed to listen beyond loopback."`
	Profile    bool   `help:"Serve /debug/pprof."`
	Initial    string `placeholder:"WHAT" help:"What an object's first position causes: none, inside or enter."`
	TTL        string `placeholder:"TIME" help:"Silence after which an object leaves its fences, as 15m; 0 is never."`
}

// flags are the settings that were given, by their keys.
func (s *serving) flags() map[string]string {
	given := map[string]string{
		"http.listen": s.Listen, "http.token": s.Token, "bus.listen": s.BusListen, "wire.listen": s.WireListen,
		"track.initial": s.Initial, "track.ttl": s.TTL,
	}
	if s.Profile {
		given["http.profile"] = "true"
	}
	return given
}

// Run serves until a signal has drained everything.
func (u *upCmd) Run(ctx context.Context, c *console) error {
	flags := u.flags()
	flags["sets.dir"], flags["sets.kind"], flags["sets.snapshots"] = u.Sets, u.Fence, u.Snapshots
	if u.Watch != nil {
		flags["sets.watch"] = strconv.FormatBool(*u.Watch)
	}
	cfg, err := loadConfig(c, u.Config, flags)
	if err != nil {
		return err
	}
	reload, stop := hangups()
	defer stop()
	return serve(ctx, c, platform.Options{Config: cfg, Reload: reload}, nil)
}

// loadConfig reads the settings; flags that are empty were not given.
func loadConfig(c *console, file string, flags map[string]string) (*config.Config, error) {
	for key, value := range flags {
		if value == "" {
			delete(flags, key)
		}
	}
	return config.Load(config.Sources{File: file, Environ: c.Environ, Flags: flags})
}

// serve runs a platform, with a status line where a person watches. feed, if any,
// adds what brings positions in.
func serve(ctx context.Context, c *console, o platform.Options, feed func(*platform.Platform, *lifecycle.Group)) error {
	status := newStatusLine(c)
	c.Stderr = status
	format := o.Config.Log.Format
	if status.terminal && format == string(logging.Auto) {
		format = string(logging.Text) // the logger cannot see the terminal through the status line
	}
	log, err := c.LoggerOver(o.Config.Log.Level, format)
	if err != nil {
		return err
	}
	for _, w := range o.Config.Warnings {
		log.Warn(w)
	}
	o.Logger, o.Version = log, version.Get().String()
	p := platform.New(o)
	group := &lifecycle.Group{Logger: log, Timeout: o.Config.Limits.Drain}
	p.AddTo(group)
	if feed != nil {
		feed(p, group)
	}
	group.Add(lifecycle.Service{
		Name: "status",
		Start: func(context.Context) error {
			fmt.Fprintf(c.Stdout, "Dashboard: %s\nBus:       nats://%s\nWire:      %s\n", p.URL(), p.BusAddr(), p.WireAddr())
			return nil
		},
		Run: func(ctx context.Context) error { return status.run(ctx, p) },
	})
	return group.Run(ctx)
}
