package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/doctor"
)

// ClusterStatus tells how the nodes of a cluster are. See docs/guides/growing.md.
type ClusterStatus struct {
	JSON bool `name:"json" help:"Print an object as GET /v1/cluster answers it."`
	remote
}

// Run asks a node.
func (k *ClusterStatus) Run(ctx context.Context, c *Console) error {
	var s cluster.Status
	if err := k.ask(ctx, &s, http.MethodGet, "v1/cluster", nil, nil); err != nil {
		return err
	}
	return k.Print(c, &s)
}

// Print prints the state of a cluster. The error is the first problem of it.
func (k *ClusterStatus) Print(c *Console, s *cluster.Status) error {
	if k.JSON {
		if err := c.printJSON(s); err != nil {
			return err
		}
	} else if err := printCluster(c, s); err != nil {
		return err
	}
	var first error
	for _, r := range []doctor.Result{doctor.JudgeCluster(s), doctor.JudgeClusterLog(s)} {
		switch {
		case r.Status == doctor.Problem && first == nil:
			first = fmt.Errorf("%s: %s", r.Text, r.Advice)
		case r.Status == doctor.Problem, r.Status == doctor.Warning:
			fmt.Fprintf(c.Stderr, "paddock: %s: %s: %s\n", r.Status, r.Text, r.Advice)
		}
	}
	return first
}

func printCluster(c *Console, s *cluster.Status) error {
	leader := s.Leader
	if leader == "" {
		leader = "none"
	}
	fmt.Fprintf(c.Stdout, "Cluster %s: leader %s, term %d\n\n", plain(s.Name), plain(leader), s.Term)
	t := newTable(c.Stdout, "NODE", "ROLE", "APPLIED", "LAG", "BEHIND", "SINCE", "VERSION", "URL")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		role := string(n.Role)
		if !n.Alive {
			role = "silent since " + timeText(n.Seen)
		}
		t.row(n.Name, role, strconv.FormatUint(n.Applied, 10), strconv.FormatUint(n.Lag, 10),
			strconv.FormatFloat(n.LagSeconds, 'f', 1, 64)+" s", timeText(n.Since), n.Version, n.URL)
	}
	if err := t.flush(); err != nil || s.Log == nil {
		return err
	}
	l := s.Log
	fmt.Fprintf(c.Stdout, "\nLog %s: sequences %d to %d, %d messages, %d bytes\n\n", plain(l.Stream), l.First, l.Last, l.Messages, l.Bytes)
	t = newTable(c.Stdout, "SERVER", "STATE", "LAG")
	for _, r := range l.Replicas {
		t.row(r.Name, r.State, strconv.FormatUint(r.Lag, 10))
	}
	return t.flush()
}

// ClusterDrain has the leader give its role to another node.
type ClusterDrain struct {
	Node    string        `arg:"" optional:"" placeholder:"NODE" help:"Only if this node leads."`
	Timeout time.Duration `default:"1m" help:"How long to wait until another node leads."`
	remote
}

// Help describes what happens to clients.
func (*ClusterDrain) Help() string {
	return `The leader applies what it has accepted, ends its deliveries, and leaves. Another node leads within a second. Then the former leader starts again within its process, as a follower: until it has caught up its doors are closed, and clients ask the other nodes. A node that is to end needs no drain: SIGTERM does the same.

The command ends once another node leads. Exit codes: 0 one does, 1 none would take the role, or it took too long, 2 usage.

    paddock cluster drain
    paddock cluster drain paddock-1`
}

// drainPause is the time between two looks for the next leader.
const drainPause = 200 * time.Millisecond

// Run asks for it, and waits until another node leads.
func (k *ClusterDrain) Run(ctx context.Context, c *Console) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	var before cluster.Status
	if err := k.ask(ctx, &before, http.MethodGet, "v1/cluster", nil, nil); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"node": cmp.Or(k.Node, before.Leader)})
	if err != nil {
		return err
	}
	if err := k.ask(ctx, nil, http.MethodPost, "v1/cluster/drain", http.Header{"Content-Type": {"application/json"}}, body); err != nil {
		return err
	}
	for {
		var now cluster.Status
		err := k.ask(ctx, &now, http.MethodGet, "v1/cluster", nil, nil)
		if err == nil && now.Leader != "" && (now.Leader != before.Leader || now.Term > before.Term) {
			_, err := fmt.Fprintf(c.Stdout, "%s leads in term %d\n", plain(now.Leader), now.Term)
			return err
		}
		select { // the asked node may be the one that starts again
		case <-ctx.Done():
			return fmt.Errorf("no other node leads after %v: %w", k.Timeout, cmp.Or(err, errors.New("paddock cluster status tells more")))
		case <-time.After(drainPause):
		}
	}
}
