package doctor

import (
	"strings"
	"testing"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal/streamlog"
)

// sound returns the status of a cluster of three nodes without a fault.
func sound() *cluster.Status {
	s := &cluster.Status{Connected: true, Leader: "a", Term: 3, Log: &streamlog.Info{
		Wanted: 3, Messages: 10, Bytes: 1 << 20,
		Replicas: []streamlog.Replica{{Name: "s1", State: streamlog.ReplicaLeader}, {Name: "s2", State: streamlog.ReplicaCurrent}, {Name: "s3", State: streamlog.ReplicaCurrent}},
	}}
	for _, name := range []string{"a", "b", "c"} {
		s.Nodes = append(s.Nodes, cluster.NodeStatus{Name: name, Role: cluster.Follower, Alive: true, Version: "v1"})
	}
	s.Nodes[0].Role = cluster.Leader
	return s
}

// Each fault of a cluster is told, with a way out.
func TestClusterFindings(t *testing.T) {
	if r := JudgeCluster(sound()); r.Status != OK || r.Text != "3 nodes, led by a in term 3" {
		t.Errorf("sound: %+v", r)
	}
	if r := JudgeClusterLog(sound()); r.Status != OK || r.Text != "3 servers keep the log: 10 messages, 1 MiB" {
		t.Errorf("sound: %+v", r)
	}
	for name, c := range map[string]struct {
		change func(s *cluster.Status)
		nodes  Status
		log    Status
		text   string
	}{
		"no connection": {func(s *cluster.Status) { s.Connected = false }, Problem, OK, "not connected"},
		"no leader":     {func(s *cluster.Status) { s.Leader = "" }, Problem, OK, "no leader"},
		"silent":        {func(s *cluster.Status) { s.Nodes[1].Alive = false }, Warning, OK, "b is silent"},
		"behind":        {func(s *cluster.Status) { s.Nodes[2].Lag, s.Nodes[2].LagSeconds = 70, 6 }, Warning, OK, "c is 70 messages and 6 s behind"},
		"far behind":    {func(s *cluster.Status) { s.Nodes[2].Lag, s.Nodes[2].LagSeconds = 70, 90 }, Problem, OK, "c is 70 messages"},
		"catching up": {func(s *cluster.Status) {
			s.Nodes[2].Role, s.Nodes[2].Lag, s.Nodes[2].LagSeconds = cluster.Starting, 70, 90
		}, Warning, OK, "c is 70"},
		"versions": {func(s *cluster.Status) { s.Nodes[1].Version = "v2" }, Warning, OK, "different versions: a c v1, b v2"},
		"one name": {func(s *cluster.Status) { s.Nodes[1].Name = "a" }, Warning, OK, "2 nodes are called a"},
		"alone":    {func(s *cluster.Status) { s.Nodes = s.Nodes[:1] }, Warning, OK, "one node runs, a"},
		"offline":  {func(s *cluster.Status) { s.Log.Replicas[2].State = streamlog.ReplicaOffline }, OK, Warning, "the server s3 is offline"},
		"late replica": {func(s *cluster.Status) {
			s.Log.Replicas[1] = streamlog.Replica{Name: "s2", State: streamlog.ReplicaBehind, Lag: 9}
		}, OK, Warning, "s2 is 9 messages behind"},
		"no majority": {func(s *cluster.Status) {
			s.Log.Replicas[1].State, s.Log.Replicas[2].State = streamlog.ReplicaOffline, streamlog.ReplicaOffline
		}, OK, Problem, "1 of the 3 servers"},
		"no answer":      {func(s *cluster.Status) { s.Log, s.LogError = nil, "timeout" }, OK, Problem, "do not answer for the log: timeout"},
		"missing server": {func(s *cluster.Status) { s.Log.Replicas = s.Log.Replicas[:2] }, OK, Warning, "2 of 3 servers"},
		"one server":     {func(s *cluster.Status) { s.Log.Wanted, s.Log.Replicas = 1, s.Log.Replicas[:1] }, OK, Warning, "one server keeps"},
	} {
		s := sound()
		c.change(s)
		nodes, log := JudgeCluster(s), JudgeClusterLog(s)
		if nodes.Status != c.nodes || log.Status != c.log || !strings.Contains(nodes.Text+log.Text, c.text) {
			t.Errorf("%s: %+v, %+v", name, nodes, log)
		}
		for _, r := range []Result{nodes, log} {
			if r.Status != OK && r.Advice == "" {
				t.Errorf("%s: no way out: %+v", name, r)
			}
		}
	}
}
