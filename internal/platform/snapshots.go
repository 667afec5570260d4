package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// snapshotLook is the time between two looks whether a snapshot is due, and snapshotPause the pause
// after one that was not written.
const snapshotLook, snapshotPause = time.Second, time.Minute

// writeSnapshots writes snapshots of the state beside the log when they are due, if it is this node
// that does, and removes what the log need not keep then.
func (p *Platform) writeSnapshots(ctx context.Context) error {
	if p.member == nil {
		return nil
	}
	w := snapshots{p: p, m: p.member, node: p.member.node, log: p.member.log, last: streamlog.Snapshot{Time: time.Now()}}
	ticker := time.NewTicker(snapshotLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			if err := w.look(ctx, now); err != nil && ctx.Err() == nil {
				p.member.failures.Add(1)
				p.log.Error("no snapshot is written, and the log of the cluster grows", "error", err, "again_in", snapshotPause)
				w.rest = now.Add(snapshotPause)
			}
		}
	}
}

// snapshots is the state of writeSnapshots.
type snapshots struct {
	p    *Platform
	m    *member
	node interface {
		WritesSnapshots() bool
		Place() cluster.Place
	}
	log interface {
		Snapshots(ctx context.Context) ([]streamlog.Snapshot, error)
		SaveSnapshot(ctx context.Context, s streamlog.Snapshot, write func(io.Writer) error) (streamlog.Snapshot, error)
		Tidy(ctx context.Context) error
	}
	last streamlog.Snapshot // the newest one that this node knows of; without an ID there is none
	read bool               // last is not of the start of this process alone
	rest time.Time          // nothing is done before it
	tidy bool               // old snapshots and entries are not removed yet
}

// look writes a snapshot if it is due.
func (w *snapshots) look(ctx context.Context, now time.Time) error {
	if now.Before(w.rest) || !w.node.WritesSnapshots() || w.read && !w.tidy && !w.due(now) {
		return nil
	}
	kept, err := w.log.Snapshots(ctx)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		w.last = kept[0]
	}
	first := !w.read
	if w.read = true; first && !w.due(now) {
		return nil
	}
	if w.due(now) {
		w.tidy = true
		if err := w.save(ctx); err != nil && !errors.Is(err, streamlog.ErrOther) {
			return err
		}
	}
	if err := w.log.Tidy(ctx); err != nil {
		return fmt.Errorf("old entries are not removed: %w", err)
	}
	w.tidy = false
	return nil
}

// due reports whether it is time for another snapshot.
func (w *snapshots) due(now time.Time) bool {
	c, place := &w.p.cfg.Cluster, w.node.Place()
	if place.Sequence <= w.last.Sequence {
		return false
	}
	grown := place.Bytes - min(place.Bytes, w.last.Position)
	return grown >= max(uint64(c.SnapshotBytes), w.last.Bytes) || now.Sub(w.last.Time) >= c.Snapshot
}

// save writes a snapshot of the present state.
func (w *snapshots) save(ctx context.Context) (err error) {
	p, begun := w.p, time.Now()
	work, err := os.MkdirTemp(p.cfg.Data.Dir, unfinishedPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	files := JournalDir(work)
	if err := p.journal.Checkpoint(files); err != nil {
		return err
	}
	j, err := journal.Open(journal.Options{Dir: files, ReadOnly: true}) // is it whole?
	if err != nil {
		return err
	}
	place, err := cluster.PlaceOf(j)
	if err = errors.Join(err, j.Close()); err != nil {
		return err
	}
	s := streamlog.Snapshot{Sequence: place.Sequence, Position: place.Bytes, Node: nodeName(&p.cfg.Cluster), Version: p.opts.Version, Time: begun.UTC()}
	p.log.Debug("a snapshot is written", "sequence", s.Sequence)
	s, err = w.log.SaveSnapshot(ctx, s, func(out io.Writer) error {
		return writeBackup(ctx, out, files, secretsDir(p.cfg.Data.Dir))
	})
	if err != nil {
		return err
	}
	w.last = s
	w.m.snapshotBytes.Store(s.Bytes)
	w.m.written.Add(1)
	p.log.Info("a snapshot of the cluster's state is written", "snapshot", s.ID, "sequence", s.Sequence, "bytes", config.Size(s.Bytes), "took", time.Since(begun))
	return nil
}

// snapshotCollector collects the metrics of snapshots, if this is a node of a cluster.
type snapshotCollector struct{ m *member }

var snapshotMetrics = struct{ written, failed, bytes *prometheus.Desc }{
	prometheus.NewDesc("paddock_cluster_snapshots_total", "Snapshots of the cluster's state that this node has written.", nil, nil),
	prometheus.NewDesc("paddock_cluster_snapshots_failed_total", "Snapshots of the cluster's state that this node could not write, or after which it could not trim the log.", nil, nil),
	prometheus.NewDesc("paddock_cluster_snapshot_bytes", "Bytes of the last snapshot that this node has written.", nil, nil),
}

// Describe implements [prometheus.Collector].
func (c snapshotCollector) Describe(out chan<- *prometheus.Desc) {
	m := &snapshotMetrics
	for _, d := range []*prometheus.Desc{m.written, m.failed, m.bytes} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c snapshotCollector) Collect(out chan<- prometheus.Metric) {
	if c.m == nil {
		return
	}
	m := &snapshotMetrics
	out <- prometheus.MustNewConstMetric(m.written, prometheus.CounterValue, float64(c.m.written.Load()))
	out <- prometheus.MustNewConstMetric(m.failed, prometheus.CounterValue, float64(c.m.failures.Load()))
	out <- prometheus.MustNewConstMetric(m.bytes, prometheus.GaugeValue, float64(c.m.snapshotBytes.Load()))
}
