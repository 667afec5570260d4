package cluster

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform/journal/streamlog"
)

// scrapeTimeout bounds what a scrape waits for the servers.
const scrapeTimeout = time.Second

// collector makes metrics of a node's status.
type collector struct {
	status func(context.Context) *Status
}

// NewCollector returns the metrics of a node. status is called for each scrape.
func NewCollector(status func(context.Context) *Status) prometheus.Collector {
	return collector{status}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("paddock_cluster_"+name, help, labels, nil)
}

var (
	roleDesc       = describe("role", "1 for the present role of this node: starting, follower, unfit, leader or leaving.", "role")
	connectedDesc  = describe("connected", "1 while this node is connected to the servers of the cluster.")
	leaderDesc     = describe("has_leader", "1 while this node knows a leader of the cluster.")
	nodesDesc      = describe("nodes", "Nodes of which this node has heard in the last second.")
	versionsDesc   = describe("versions", "Different versions of the nodes.")
	termDesc       = describe("term", "Term of the newest leader that this node knows. It grows with each change of the leader.")
	appliedDesc    = describe("applied_sequence", "Sequence of the log's newest message that this node has applied.")
	lagDesc        = describe("lag_messages", "Messages of the log that other nodes have applied and this one has not.")
	lagSecondsDesc = describe("lag_seconds", "Time since other nodes have applied the oldest message that this one has not.")
	claimsDesc     = describe("claims_total", "Claims by which this node wanted to become the leader: won or lost.", "result")
	gapsDesc       = describe("log_gaps_total", "Places at which the reader of the log missed copies of messages, and asked for them.")
	retriesDesc    = describe("append_retries_total", "Times that the leader sent a message of the log again, by the kind of error.", "error")
	batchesDesc    = describe("forwarded_batches_total", "Batches of positions that this node passed to the leader.")
	positionsDesc  = describe("forwarded_positions_total", "Positions that this node passed to the leader.")
	attemptsDesc   = describe("forward_retries_total", "Requests with positions that the leader did not answer, or refused, and that were made again.")
	refusedDesc    = describe("refused_positions_total", "Positions that this node refused because the queue for the leader was full, or no leader took them in time.", "reason")
	reconnectsDesc = describe("reconnects_total", "Times that this node connected to the servers again.")
	replicasDesc   = describe("log_replicas", "Servers that keep the log, by their state: leader, current, behind or offline.", "state")
	wantedDesc     = describe("log_replicas_wanted", "Servers that should keep the log.")
	messagesDesc   = describe("log_messages", "Messages of the log that the servers keep.")
	bytesDesc      = describe("log_bytes", "Bytes of the log that the servers keep.")
	answersDesc    = describe("log_available", "1 if the servers answered with the state of the log.")
)

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		roleDesc, connectedDesc, leaderDesc, nodesDesc, versionsDesc, termDesc, appliedDesc, lagDesc, lagSecondsDesc, claimsDesc, gapsDesc,
		retriesDesc, batchesDesc, positionsDesc, attemptsDesc, refusedDesc, reconnectsDesc, replicasDesc, wantedDesc, messagesDesc, bytesDesc, answersDesc,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s := c.status(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(connectedDesc, oneIf(s.Connected))
	gauge(leaderDesc, oneIf(s.Leader != ""))
	versions, alive := map[string]bool{}, 0
	for _, n := range s.Nodes {
		if n.Alive {
			versions[n.Version] = true
			alive++
		}
	}
	gauge(nodesDesc, float64(alive))
	gauge(versionsDesc, float64(len(versions)))
	gauge(termDesc, float64(s.Term))
	if self := s.Self(); self != nil {
		for _, r := range []Role{Starting, Follower, Unfit, Leader, Leaving} {
			gauge(roleDesc, oneIf(self.Role == r), string(r))
		}
		gauge(appliedDesc, float64(self.Applied))
		gauge(lagDesc, float64(self.Lag))
		gauge(lagSecondsDesc, self.LagSeconds)
	}
	k := &s.Counters
	count(claimsDesc, k.ClaimsWon, "won")
	count(claimsDesc, k.ClaimsLost, "lost")
	count(gapsDesc, k.LogGaps)
	for kind, v := range k.AppendRetries {
		count(retriesDesc, v, kind)
	}
	count(batchesDesc, k.ForwardedBatches)
	count(positionsDesc, k.ForwardedPositions)
	count(attemptsDesc, k.ForwardRetries)
	for reason, v := range k.Refused {
		count(refusedDesc, v, reason)
	}
	count(reconnectsDesc, k.Reconnects)
	gauge(answersDesc, oneIf(s.Log != nil))
	if s.Log == nil {
		return
	}
	for _, state := range streamlog.ReplicaStates {
		gauge(replicasDesc, float64(s.Log.Count(state)), state)
	}
	gauge(wantedDesc, float64(s.Log.Wanted))
	gauge(messagesDesc, float64(s.Log.Messages))
	gauge(bytesDesc, float64(s.Log.Bytes))
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
