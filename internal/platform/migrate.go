package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
)

// logName is the value of a node's journal with the id of the log that it belongs to.
const logName = "cluster/log"

// nodePrefix begins the names of the values that the journal of a node has, and that of a platform
// on its own has not.
const nodePrefix = "cluster/"

// detachedName is the value of a journal with the id of the log that it belonged to last.
const detachedName = "detached"

// What is wrong with a data directory, at a start, in Migrate and in Detach.
var (
	errOfNode  = errors.New("it is that of a node of a cluster: start it with --bus, or make a copy for a platform on its own: paddock migrate --data DIR --out NEW")
	errOfOther = errors.New("it is that of a node of another cluster: use an empty directory")
	errAlone   = errors.New("it is that of a platform on its own: use an empty directory; paddock migrate takes its state into the cluster")
	errNotNode = errors.New("it is that of a platform on its own already: use it as it is")
)

// attach marks a journal as that of a node: it belongs to the log with an id, and has applied the
// log up to place. It stores more in the same write. Cursors, epoch and numbers stay.
func attach(j journal.Journal, id string, place cluster.Place, more ...journal.Value) error {
	return j.Put(append(more, journal.Value{Name: logName, Bytes: []byte(id)}, place.Value())...)
}

// attachEmpty is attach for an empty journal, which gets the epoch that all nodes have.
func attachEmpty(j journal.Journal, id string) error {
	return attach(j, id, cluster.Place{}, journal.Value{Name: "epoch", Bytes: []byte(id[:12])})
}

// detach makes a journal one of a platform on its own.
func detach(j *journal.Disk) error {
	id, err := attached(j)
	if err != nil {
		return err
	}
	if err := j.Change([]journal.Span{{From: nodePrefix, To: journal.PrefixEnd(nodePrefix)}}); err != nil {
		return err
	}
	return j.Put(journal.Value{Name: detachedName, Bytes: []byte(id)}) // durable with the change
}

// attached returns the id of the log that a journal belongs to; "": it is that of a platform on its
// own, or empty.
func attached(j journal.Journal) (string, error) {
	id, err := j.Get(logName)
	if errors.Is(err, journal.ErrNotFound) {
		return "", nil
	}
	return string(id), err
}

// refuseNode refuses the data directory of a node of a cluster.
func (p *Platform) refuseNode() error {
	id, err := attached(p.journal)
	if err == nil && id != "" {
		err = p.cfg.Fault("data.dir", errOfNode)
	}
	return err
}

// migrateNode is the node that the snapshots of Migrate name.
const migrateNode = "paddock migrate"

// Migrate stores the state of a stopped platform as the first snapshot of a cluster that has no
// state. dir does not change. version is that of this program. progress gets the bytes that are
// stored. After an error it can be called again.
func Migrate(ctx context.Context, dir string, log *streamlog.Log, version string, progress io.Writer) (s streamlog.Snapshot, err error) {
	left, err := stateless(ctx, log)
	if err != nil {
		return s, err
	}
	err = withCopy(dir, dir, func(work string) error {
		if err := change(work, func(j *journal.Disk) error {
			if id, err := attached(j); err != nil {
				return err
			} else if id != "" {
				return fmt.Errorf("%s: %w", dir, errOfNode)
			}
			return attach(j, log.ID, cluster.Place{Sequence: streamlog.BaseSequence})
		}); err != nil {
			return err
		}
		for _, old := range left { // of a state that dir may have had then
			if err := log.RemoveSnapshot(ctx, old); err != nil {
				return err
			}
		}
		s = streamlog.Snapshot{Sequence: streamlog.BaseSequence, Node: migrateNode, Version: version, Time: time.Now().UTC()}
		s, err = log.SaveSnapshot(ctx, s, func(w io.Writer) error {
			return writeBackup(ctx, io.MultiWriter(w, progress), JournalDir(work), secretsDir(dir))
		})
		return err
	})
	if err != nil {
		return s, err
	}
	if err := log.Begin(ctx); err != nil {
		return s, begun(ctx, log, s, err)
	}
	return s, nil
}

// begun returns nil if the log goes on from a snapshot, although Begin has failed: its answer may
// be lost, or that of an earlier call. If it is not known, the snapshot stays, as the servers may
// still store what they were sent: without a snapshot such a log would be of no use.
func begun(ctx context.Context, log *streamlog.Log, s streamlog.Snapshot, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	on, err := log.OnSnapshot(ctx)
	if err == nil && on {
		return nil
	}
	if errors.Is(failure, streamlog.ErrReplaced) && err == nil {
		return errors.Join(errors.New("a node of the cluster was started meanwhile: stop all of them, make another cluster, and try again"), log.RemoveSnapshot(ctx, s))
	}
	return fmt.Errorf("it is not known whether the cluster has the state: once its servers answer, give the command again, before a node is started: %w", errors.Join(failure, err))
}

// stateless refuses a log that has a state. It returns the snapshot of a migration that has failed,
// if there is one.
func stateless(ctx context.Context, log *streamlog.Log) (left []streamlog.Snapshot, err error) {
	b, err := log.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := log.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	migrated := len(kept) == 1 && kept[0].Node == migrateNode && kept[0].Sequence == streamlog.BaseSequence
	switch {
	case b.Last == 0 && (len(kept) == 0 || migrated):
		return kept, nil
	case b.Last == streamlog.BaseSequence && migrated:
		return nil, fmt.Errorf("the cluster has a state, which a migration has stored at %s, and no node was started yet: start the nodes with it, or, for another state, make a cluster of another name with paddock cluster init", kept[0].Time.Format(time.RFC3339))
	}
	return nil, fmt.Errorf("the cluster has a state: the stream %s has had %d messages, and there are %d snapshots: make a cluster of another name with paddock cluster init", log.Stream, b.Last, len(kept))
}

// Detach copies the data directory of a stopped node to another directory, for a platform on its
// own. dir does not change. Cursors and ids go on as after [Restore], because other nodes may have
// had more events. The directory to must have no journal.
func Detach(dir, to string) (err error) {
	if err := absent(JournalDir(to)); err != nil {
		return err
	}
	_, missing := os.Stat(to)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil && missing != nil {
			_ = os.Remove(to) // unless there is something in it
		}
	}()
	return withCopy(dir, to, func(work string) error {
		if err := change(work, func(j *journal.Disk) error {
			if id, err := attached(j); err != nil {
				return err
			} else if id == "" {
				return fmt.Errorf("%s: %w", dir, errNotNode)
			}
			return beginAnew(j)
		}); err != nil {
			return err
		}
		return moveIn(work, secretsDir(dir), to)
	})
}

// withCopy copies the journal of dir into a work directory below the directory beside, and calls f
// with it. No process can open the journal of dir meanwhile.
func withCopy(dir, beside string, f func(work string) error) (err error) {
	if err := journal.CheckFormat(JournalDir(dir)); err != nil {
		return err
	}
	release, err := journal.Hold(JournalDir(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	work, end, err := workDir(beside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := journal.Copy(JournalDir(dir), JournalDir(work)); err != nil {
		return err
	}
	return f(work)
}

// change calls f with the journal of a data directory.
func change(dir string, f func(*journal.Disk) error) error {
	j, err := journal.Open(journal.Options{Dir: JournalDir(dir)})
	if err != nil {
		return err
	}
	return errors.Join(f(j), j.Close())
}
