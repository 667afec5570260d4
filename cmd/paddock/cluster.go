package main

import (
	"context"
	"fmt"
	"time"

	"paddock/cmd/paddock/client"
	"paddock/internal/platform"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// clusterCmd groups the commands about a cluster.
type clusterCmd struct {
	Init   clusterInitCmd      `cmd:"" help:"Make the log of a cluster in the JetStream of NATS servers, or change its replicas."`
	Status clusterStatusCmd    `cmd:"" help:"Tell how the nodes of a cluster are, and the servers that keep its log."`
	Drain  client.ClusterDrain `cmd:"" help:"Have the leader of a cluster give its role to another node."`
}

// servers names the NATS servers of a cluster, and the login there.
type servers struct {
	Config string `short:"c" type:"path" placeholder:"FILE" help:"Configuration file with the section cluster."`
	Bus    string `placeholder:"URL" help:"NATS servers, separated by commas."`
}

// load reads the section cluster.
func (s *servers) load(c *console) (*config.Cluster, error) {
	up := upCmd{Config: s.Config}
	cfg, _, err := up.load(c, map[string]string{"cluster.url": s.Bus})
	if err != nil {
		return nil, err
	}
	if !cfg.Cluster.On() {
		return nil, usagef("no servers: set --bus URL, or cluster.url in the file")
	}
	return &cfg.Cluster, nil
}

// clusterInitCmd makes the log of a cluster.
type clusterInitCmd struct {
	servers
	Replicas int           `default:"3" help:"Servers that keep the log: 1, 3 or 5."`
	Timeout  time.Duration `default:"30s" help:"How long to wait for the servers."`

	Permissions bool `help:"Make nothing, and print what the user of the nodes needs at the servers, for their configuration."`
}

// Help describes what the servers need.
func (*clusterInitCmd) Help() string {
	return `The servers need JetStream and version 2.11 or later. The command waits until they have elected a leader, and may be called again. paddock check -c FILE examines them.

    paddock cluster init --bus nats://a:4222,nats://b:4222,nats://c:4222
    paddock cluster init --bus nats://a:4222 --permissions >> nats.conf`
}

// Run makes the stream.
func (i *clusterInitCmd) Run(ctx context.Context, c *console) error {
	if i.Replicas != 1 && i.Replicas != 3 && i.Replicas != 5 {
		return usagef("--replicas %d: 1, 3 or 5", i.Replicas)
	}
	cfg, err := i.load(c)
	if err != nil {
		return err
	}
	if i.Permissions {
		_, err := fmt.Fprint(c.Stdout, platform.ClusterPermissions(cfg))
		return err
	}
	log, err := c.Logger()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	conn, err := platform.ConnectCluster(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	names := platform.LogOf(cfg)
	names.Replicas = i.Replicas
	if err := streamlog.CreateInTime(ctx, conn, names); err != nil {
		return fmt.Errorf("the stream %s: %w", names.Stream, err)
	}
	fmt.Fprintf(c.Stdout, "The stream %s is ready, on %d servers. Start each node with: paddock up --bus %s\n", names.Stream, i.Replicas, cfg.URL)
	return nil
}

// clusterStatusCmd asks a node, or the servers.
type clusterStatusCmd struct {
	servers
	Timeout time.Duration `default:"10s" help:"How long to wait for the servers."`
	client.ClusterStatus
}

// Help describes the two ways to ask.
func (*clusterStatusCmd) Help() string {
	return `A node is asked over HTTP, with the key of an administrator. With --bus or --config the servers themselves are asked, as while no node answers: the command listens for a second to what the nodes tell each other, and asks for the state of the log.

SINCE is the time from which on the node that answers has heard of the other one. BEHIND is the time since another node had applied what this one has not.

Exit codes: 0 the cluster works, also with warnings, 1 it has no leader or no log, or nothing answers, 2 usage.

    paddock cluster status
    paddock cluster status --bus nats://a:4222,nats://b:4222,nats://c:4222`
}

// Run prints the state of the cluster.
func (k *clusterStatusCmd) Run(ctx context.Context, c *console, to *client.Console) error {
	if k.Bus == "" && k.Config == "" {
		return k.ClusterStatus.Run(ctx, to)
	}
	cfg, err := k.load(c)
	if err != nil {
		return err
	}
	log, err := c.LoggerOver("error", "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	status, err := platform.ObserveCluster(ctx, cfg, log)
	if err != nil {
		return err
	}
	return k.Print(to, status)
}
