package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

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
