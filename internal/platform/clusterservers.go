package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/netio/natslogin"
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
		nats.ErrorHandler(refusals(log)),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to the cluster's servers", "url", nc.ConnectedUrlRedacted()) }),
	}
	login := natslogin.Login{User: c.User, Password: string(c.Password), Token: string(c.Token), Creds: c.Creds, RootCA: c.RootCA}
	conn, err := nats.Connect(c.URL, append(options, login.Options()...)...)
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

// refusalTime is the shortest time between log lines about what the servers refuse.
const refusalTime = 10 * time.Second

// refusals returns a function that logs what the servers refuse. A beat that they refuse comes
// several times a second.
func refusals(log *slog.Logger) nats.ErrHandler {
	var last time.Time // the calls come one after the other
	return func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if !last.IsZero() && time.Since(last) < refusalTime {
			return
		}
		last = time.Now()
		attrs := []any{"error", strings.TrimPrefix(err.Error(), "nats: ")}
		if errors.Is(err, nats.ErrPermissionViolation) {
			attrs = append(attrs, "advice", "give the user what paddock cluster init --permissions prints")
		}
		log.Warn("the cluster's servers have refused something", attrs...)
	}
}

// listenFor is the time of some beats of all nodes.
const listenFor = 1200 * time.Millisecond

// ObserveCluster asks the servers of a cluster how it is, without being a node.
func ObserveCluster(ctx context.Context, c *config.Cluster, log *slog.Logger) (status *cluster.Status, err error) {
	err = atServers(ctx, c, log, func(conn *nats.Conn, stream *streamlog.Log, missing error) error {
		status, err = cluster.Observe(ctx, conn, prefixOf(c), c.Name, stream, missing, listenFor)
		return err
	})
	return status, err
}

// CheckCluster examines the servers of a cluster. monitors are URLs of their monitoring.
func CheckCluster(ctx context.Context, c *config.Cluster, log *slog.Logger, monitors []string) (found *cluster.Servers, err error) {
	err = atServers(ctx, c, log, func(conn *nats.Conn, stream *streamlog.Log, missing error) error {
		var info *streamlog.Info
		if missing == nil {
			info, missing = stream.Info(ctx)
		}
		found = cluster.ExamineServers(ctx, conn, prefixOf(c), info, missing, monitors)
		return nil
	})
	return found, err
}

// atServers calls f with a connection to the servers of a cluster, and with its log or the reason
// why there is none.
func atServers(ctx context.Context, c *config.Cluster, log *slog.Logger, f func(conn *nats.Conn, stream *streamlog.Log, missing error) error) error {
	conn, err := ConnectCluster(ctx, c, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	bounded, cancel := context.WithTimeout(ctx, connectTimeout/10)
	defer cancel()
	stream, err := streamlog.Open(bounded, conn, LogOf(c))
	return f(conn, stream, err)
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
