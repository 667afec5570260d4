package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal/streamlog"
)

const (
	// farBehind and tooFarBehind are the times after which a node lags, and lags far.
	farBehind, tooFarBehind = 5.0, 60.0
	alone                   = "this platform is on its own: there is no cluster"
)

// cluster judges the nodes of the cluster.
func (f *Facts) cluster(ctx context.Context) Result {
	if f.Cluster == nil {
		return Skip(alone)
	}
	return JudgeCluster(f.Cluster(ctx))
}

// JudgeCluster returns the result about the nodes of a cluster.
func JudgeCluster(s *cluster.Status) Result {
	switch {
	case !s.Connected:
		return problem("this node is not connected to the cluster's servers: it accepts no positions and no changes",
			"look whether the servers of cluster.url run, and whether this machine reaches them; paddock cluster status --bus URL asks them without a node")
	case s.Leader == "":
		return problem("the cluster has no leader: no node makes records, and positions wait until they are refused",
			"a leader is elected within seconds; if it stays so, look at cluster-log, and at the nodes' logs for \"did not become the leader\"")
	}
	status, items := OK, []Item{}
	versions := map[string][]string{}
	names := map[string]int{}
	alive := 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		item := Item{ID: n.Name}
		if n.Alive {
			alive++
			names[n.Name]++
			versions[n.Version] = append(versions[n.Version], n.Name)
		}
		switch {
		case !n.Alive:
			item.Text = n.Name + " is silent since " + n.Seen.Format("15:04:05")
			item.Advice = "start it again, or look at its log; it catches up by itself"
			status = worse(status, Warning)
		case n.LagSeconds >= farBehind:
			item.Text = fmt.Sprintf("%s is %d messages and %.0f s behind", n.Name, n.Lag, n.LagSeconds)
			item.Advice = "it answers look-ups and events of the past, and cannot take over at once: look at its processors and its disk; after a start it is behind until it has caught up"
			status = worse(status, Warning)
			if n.LagSeconds >= tooFarBehind && n.Role != cluster.Starting {
				status = Problem
			}
		default:
			continue
		}
		items = append(items, item)
	}
	for name, n := range names {
		if n > 1 {
			status = worse(status, Warning)
			items = append(items, Item{ID: name, Text: fmt.Sprintf("%d nodes are called %s", n, name), Advice: "give each node a name of its own: cluster.node or --node"})
		}
	}
	if len(versions) > 1 {
		var each []string
		for v, nodes := range versions {
			slices.Sort(nodes)
			each = append(each, strings.Join(nodes, " ")+" "+v)
		}
		slices.Sort(each)
		status = worse(status, Warning)
		items = append(items, Item{Text: "the nodes have different versions: " + strings.Join(each, ", "), Advice: "finish the upgrade: restart the nodes of the older version with the new one"})
	}
	if status == OK {
		if alive == 1 {
			return warning("one node runs, "+s.Leader+": nothing takes over from it", "start another node with the same --bus")
		}
		return ok("%s, led by %s in term %d", isAre(alive, "node", "nodes"), s.Leader, s.Term)
	}
	return Judge(status, items[0].Text, "", items...).advised()
}

// advised returns the result with the advice of its first item, unless it has one.
func (r Result) advised() Result {
	if r.Advice == "" && len(r.Items) > 0 {
		r.Advice = r.Items[0].Advice
	}
	return r
}

// clusterLog judges the servers that keep the log of the cluster.
func (f *Facts) clusterLog(ctx context.Context) Result {
	if f.Cluster == nil {
		return Skip(alone)
	}
	return JudgeClusterLog(f.Cluster(ctx))
}

// JudgeClusterLog returns the result about the log of a cluster.
func JudgeClusterLog(s *cluster.Status) Result {
	if s.Log == nil {
		return problem("the servers do not answer for the log: "+s.LogError,
			"without a majority of its servers the log takes nothing: start those that are away; `nats server report jetstream` shows them")
	}
	var items []Item
	for _, r := range s.Log.Replicas {
		switch r.State {
		case streamlog.ReplicaOffline:
			items = append(items, Item{ID: r.Name, Text: "the server " + r.Name + " is offline"})
		case streamlog.ReplicaBehind:
			items = append(items, Item{ID: r.Name, Text: fmt.Sprintf("the server %s is %d messages behind", r.Name, r.Lag)})
		}
	}
	leader, current := s.Log.Count(streamlog.ReplicaLeader), s.Log.Count(streamlog.ReplicaCurrent)
	switch healthy := leader + current; {
	case leader == 0 || 2*healthy <= s.Log.Wanted:
		return problem(fmt.Sprintf("%d of the %d servers of the log are there: that is no majority, so it takes nothing", healthy, s.Log.Wanted),
			"start the servers that are away", items...)
	case len(items) > 0:
		return warning(items[0].Text, "start the server again, or look at its log and its disk; while it is away the loss of another one can stop the cluster", items...)
	case healthy < s.Log.Wanted:
		return warning(fmt.Sprintf("%d of %d servers keep the log", healthy, s.Log.Wanted), "start the servers that are away")
	case s.Log.Wanted == 1:
		return warning("one server keeps the log: its loss is the loss of the cluster", "paddock cluster init --replicas 3 with three servers")
	}
	return ok("%s keep the log: %d messages, %s", isAre(s.Log.Wanted, "server", "servers"), s.Log.Messages, size(int64(s.Log.Bytes)))
}
