package main

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// clusterCmd groups the commands about a cluster.
type clusterCmd struct {
	Init clusterInitCmd `cmd:"" help:"Make the log of a cluster in the JetStream of NATS servers, or change its replicas."`
}

// clusterInitCmd makes the log of a cluster.
type clusterInitCmd struct {
	Config   string        `short:"c" type:"path" placeholder:"FILE" help:"Configuration file with the section cluster."`
	Bus      string        `placeholder:"URL" help:"NATS servers, separated by commas."`
	Replicas int           `default:"3" help:"Servers that keep the log: 1, 3 or 5."`
	Timeout  time.Duration `default:"30s" help:"How long to wait for the servers."`
}

// Run makes the stream.
func (i *clusterInitCmd) Run(ctx context.Context, c *console) error {
	if i.Replicas < 1 || i.Replicas > 5 {
		return usagef("--replicas %d: 1, 3 or 5", i.Replicas)
	}
	cfg, err := loadConfig(c, config.Sources{File: i.Config, Flags: map[string]string{"cluster.url": i.Bus}, Others: nil})
	if err != nil {
		return err
	}
	if !cfg.Cluster.On() {
		return usagef("no servers: set --bus URL, or cluster.url in the file")
	}
	log, err := c.Logger()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	conn, err := platform.ConnectCluster(ctx, &cfg.Cluster, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	names := platform.LogOf(&cfg.Cluster)
	names.Replicas = i.Replicas
	if err := streamlog.Create(ctx, conn, names); err != nil {
		return fmt.Errorf("the stream %s: %w", names.Stream, err)
	}
	fmt.Fprintf(c.Stdout, "The stream %s is ready, on %d servers. Start each node with: paddock up --bus %s\n", names.Stream, i.Replicas, cfg.Cluster.URL)
	return nil
}
