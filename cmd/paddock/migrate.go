package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/cmd/paddock/output"
	"paddock/internal/platform"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/version"
)

// migrateCmd takes the state of a platform into a cluster, or out of it.
type migrateCmd struct {
	Data    string        `placeholder:"DIR" help:"The data directory of a stopped platform (default as for up). It stays as it is."`
	Config  string        `short:"c" type:"path" placeholder:"FILE" help:"Configuration file with the section cluster."`
	Bus     string        `placeholder:"URL" help:"Take the state into the cluster of these NATS servers, separated by commas. It must not have a state."`
	Out     string        `type:"path" placeholder:"NEW" help:"Make the data directory of a platform on its own of that of a node."`
	Timeout time.Duration `default:"30s" help:"How long to wait for the servers."`
}

// Run migrates, and says how to go on.
func (m *migrateCmd) Run(ctx context.Context, c *console) error {
	flags := map[string]string{"data.dir": m.Data}
	if m.Out == "" {
		flags["cluster.url"] = m.Bus
	}
	cfg, _, err := (&upCmd{Config: m.Config}).load(c, flags)
	if err != nil {
		return err
	}
	dir, err := dataDir(cfg.Data.Dir)
	switch {
	case err != nil:
		return err
	case dir == "":
		return usagef("--data off: name the data directory of a stopped platform")
	case m.Out != "" && m.Bus != "":
		return usagef("--bus takes a state into a cluster, and --out out of one: give one of them")
	case m.Out != "":
		return m.detach(c, dir)
	case !cfg.Cluster.On():
		return usagef("no servers: set --bus URL, or cluster.url in the file; --out NEW takes a state out of a cluster")
	}
	log, err := c.Logger()
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	conn, err := platform.ConnectCluster(waiting, &cfg.Cluster, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	to, err := streamlog.Open(waiting, conn, platform.LogOf(&cfg.Cluster))
	if errors.Is(err, streamlog.ErrNoStream) {
		err = fmt.Errorf("%w: paddock cluster init makes it", err)
	}
	if err != nil {
		return err
	}
	shown := c.progress()
	defer shown.End()
	s, err := platform.Migrate(ctx, dir, to, version.Get().String(), &sent{shown: shown})
	if err != nil {
		return err
	}
	shown.End()
	fmt.Fprintf(c.Stdout, "The state in %s is that of the cluster now, %d MiB. Start each node with an empty directory: paddock up --bus %s --data NEW\n"+
		"%s is as it was: start it no more.\n", dir, s.Bytes>>20, cfg.Cluster.URL, dir)
	return nil
}

// detach makes a data directory of a platform on its own.
func (m *migrateCmd) detach(c *console, dir string) error {
	if err := platform.Detach(dir, m.Out); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s has the state in %s; start it with: paddock up --data %s\n", m.Out, dir, m.Out)
	return nil
}

// sent shows how many bytes have passed.
type sent struct {
	shown *output.Progress
	n     int64
}

// Write implements [io.Writer].
func (s *sent) Write(b []byte) (int, error) {
	s.n += int64(len(b))
	s.shown.Show("%d MiB stored", s.n>>20)
	return len(b), nil
}
