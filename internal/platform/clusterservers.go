package platform

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// ConnectCluster connects to the servers of a cluster. It waits for them until ctx ends.
func ConnectCluster(ctx context.Context, c *config.Cluster, log *slog.Logger) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("paddock " + nodeName(c)), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(2 * time.Second), nats.NoCallbacksAfterClientClose(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn("the cluster's servers are away", "error", err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to the cluster's servers", "url", nc.ConnectedUrlRedacted()) }),
	}
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, string(c.Password)))
	}
	if c.Token != "" {
		options = append(options, nats.Token(string(c.Token)))
	}
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	if c.RootCA != "" {
		options = append(options, nats.RootCAs(c.RootCA))
	}
	conn, err := nats.Connect(c.URL, options...)
	if err != nil {
		return nil, err
	}
	for !conn.IsConnected() {
		select {
		case <-ctx.Done():
			err := cmp.Or(conn.LastError(), ctx.Err())
			conn.Close()
			return nil, fmt.Errorf("no server of %s answers: %w", c.URL, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return conn, nil
}

// listenFor is the time of some beats of all nodes.
const listenFor = 1200 * time.Millisecond

// ObserveCluster asks the servers of a cluster how it is, without being a node.
func ObserveCluster(ctx context.Context, c *config.Cluster, log *slog.Logger) (*cluster.Status, error) {
	conn, err := ConnectCluster(ctx, c, log)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	bounded, cancel := context.WithTimeout(ctx, connectTimeout/10)
	defer cancel()
	stream, err := streamlog.Open(bounded, conn, LogOf(c))
	return cluster.Observe(ctx, conn, prefixOf(c), c.Name, stream, err, listenFor)
}

// CheckCluster examines the servers of a cluster. monitors are URLs of their monitoring.
func CheckCluster(ctx context.Context, c *config.Cluster, log *slog.Logger, monitors []string) (*cluster.Servers, error) {
	conn, err := ConnectCluster(ctx, c, log)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	bounded, cancel := context.WithTimeout(ctx, connectTimeout/10)
	defer cancel()
	stream, err := streamlog.Open(bounded, conn, LogOf(c))
	var info *streamlog.Info
	if err == nil {
		info, err = stream.Info(ctx)
	}
	return cluster.ExamineServers(ctx, conn, prefixOf(c), info, err, monitors), nil
}

// ClusterPermissions returns what the user of a cluster may do at its servers, as a part of their
// configuration.
func ClusterPermissions(c *config.Cluster) string { return cluster.Permissions(prefixOf(c), c.User) }

// prefixOf returns the subjects between nodes, without the dot at its end.
func prefixOf(c *config.Cluster) string { return "pdk." + c.Name }

// LogOf returns the names of a cluster's log.
func LogOf(c *config.Cluster) streamlog.Config {
	return streamlog.Config{
		Stream:  "PADDOCK_" + strings.ToUpper(c.Name),
		Subject: prefixOf(c) + ".log", Copies: prefixOf(c) + ".copies", Snapshots: prefixOf(c) + ".snapshots",
	}
}

func nodeName(c *config.Cluster) string {
	if c.Node != "" {
		return c.Node
	}
	name, err := os.Hostname()
	if err != nil {
		return "node"
	}
	return name
}
