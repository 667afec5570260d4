package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

const (
	// progressEvery is the time between two lines of the log while a snapshot is loaded.
	progressEvery = 5 * time.Second
	// aheadPatience is the time that a new leader of the stream has to find its last messages.
	aheadPatience = 5 * time.Second
	// loadAttempts bounds the snapshots that a start tries: others may replace them meanwhile.
	loadAttempts = 5
)

// catchUp makes the journal one from which on the log can be applied: of the cluster's log, and not
// older than it. An empty one, and an older one, is replaced by the newest snapshot.
func (p *Platform) catchUp(ctx context.Context, open func() error) error {
	log := p.member.log
	id, err := attached(p.journal)
	if err != nil {
		return err
	}
	_, newest := p.journal.Bounds()
	switch {
	case id == "" && newest > 0:
		return p.cfg.Fault("data.dir", errAlone)
	case id != "" && id != log.ID:
		return p.cfg.Fault("data.dir", errOfOther)
	}
	if id == "" {
		if err := attachEmpty(p.journal, log.ID); err != nil {
			return err
		}
	}
	bad := map[string]bool{} // snapshots that could not be loaded
	for range loadAttempts {
		s, err := p.neededSnapshot(ctx, bad)
		if err != nil || s == nil {
			return err
		}
		if err := p.journal.Close(); err != nil {
			return err
		}
		p.journal = nil
		loaded := p.loadSnapshot(ctx, *s)
		if err := open(); err != nil {
			p.journal = nil
			return errors.Join(err, loaded)
		}
		switch {
		case loaded == nil:
			return nil
		case !errors.Is(loaded, streamlog.ErrNotWhole) && !errors.Is(loaded, ErrNoBackup):
			return loaded
		}
		bad[s.ID] = true
		p.log.Warn("a snapshot cannot be loaded: others are tried", "snapshot", s.ID, "error", loaded)
	}
	return errNoWhole
}

var (
	errNoWhole = errors.New("no snapshot of the cluster can be loaded: wait for the next one, or restore a backup")
	// errServers is wrapped where the servers are the cause, and not the directory: another start
	// helps.
	errServers = errors.New("the servers of the cluster do not give their state")
)

// neededSnapshot returns the snapshot that has to be loaded, or nil if the log goes on from the
// state of this node.
func (p *Platform) neededSnapshot(ctx context.Context, bad map[string]bool) (*streamlog.Snapshot, error) {
	log := p.member.log
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	place, err := cluster.PlaceOf(p.journal)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); ; {
		kept, err := log.Snapshots(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errServers, err)
		}
		b, err := log.Bounds(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errServers, err)
		}
		known := b.Last
		if len(kept) > 0 {
			known = max(known, kept[0].Sequence)
		}
		switch {
		case place.Sequence > known && time.Since(begun) < aheadPatience:
			select {
			case <-ctx.Done():
			case <-time.After(aheadPatience / 20):
			}
		case place.Sequence > known:
			return nil, p.cfg.Failure("data.dir", fmt.Errorf("it has applied the log up to %d, which ends with %d: the servers have lost entries: move the directory away, and the node begins with the state of the others", place.Sequence, known))
		case len(kept) > 0 && (place.Sequence == 0 || place.Sequence+1 < b.First):
			return newestOf(kept, b, bad)
		case place.Sequence+1 < b.First:
			return nil, p.cfg.Failure("cluster.url", fmt.Errorf("the log begins with %d, the state of this node ends with %d, and there is no snapshot: restore a backup, and take it into another cluster with paddock migrate", b.First, place.Sequence))
		case place.Sequence == 0:
			return nil, p.refuseBase(ctx)
		default:
			return nil, nil
		}
	}
}

// newestOf returns the newest snapshot that is not bad, and from which the log goes on.
func newestOf(kept []streamlog.Snapshot, b streamlog.Bounds, bad map[string]bool) (*streamlog.Snapshot, error) {
	for i := range kept {
		if s := &kept[i]; !bad[s.ID] && s.Sequence+1 >= b.First {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: of %d snapshots %d were tried, and the log begins with %d", errNoWhole, len(kept), len(bad), b.First)
}

// refuseBase refuses a log that goes on from a snapshot, of which there is none.
func (p *Platform) refuseBase(ctx context.Context) error {
	on, err := p.member.log.OnSnapshot(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errServers, err)
	case on:
		return p.cfg.Failure("cluster.url", errors.New("the log goes on from a snapshot, and there is none: make a cluster of another name, and take the state into it with paddock migrate"))
	}
	return nil
}

// loadSnapshot puts the state of a snapshot in the place of the journal, which no process has open,
// and which no other one can open meanwhile. If the process ends before that is done, the journal
// is as it was.
func (p *Platform) loadSnapshot(ctx context.Context, s streamlog.Snapshot) (err error) {
	begun, dir := time.Now(), p.cfg.Data.Dir
	hold, err := journal.Hold(JournalDir(dir))
	if err != nil {
		return err
	}
	release := sync.OnceValue(hold)
	defer func() { err = errors.Join(err, release()) }()
	p.log.Info("the state of the cluster is loaded", "snapshot", s.ID, "of", s.Time, "node", s.Node, "sequence", s.Sequence, "bytes", config.Size(s.Bytes))
	work, end, err := workDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	in := &loading{Reader: p.member.log.OpenSnapshot(ctx, s), s: &s, log: p.log, told: begun}
	check := func(j *journal.Disk) error {
		id, err := attached(j)
		place, placeErr := cluster.PlaceOf(j)
		if err = errors.Join(err, placeErr); err == nil && (id != s.Log || place.Sequence != s.Sequence) {
			err = fmt.Errorf("it is of the log %q up to %d, and not of %q up to %d", id, place.Sequence, s.Log, s.Sequence)
		}
		return err
	}
	if err := unpack(in, work, check); err != nil {
		return fmt.Errorf("the snapshot %s: %w", s.ID, err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // the hash is right
		return fmt.Errorf("the snapshot %s: %w", s.ID, err)
	}
	secrets, err := hooks.FileSecrets(secretsDir(work)).Load()
	if secrets == nil {
		secrets = []byte("{}")
	}
	if err == nil {
		err = p.fileSecrets().Save(secrets) // newer ones than the journal's are right, see nodeJournal
	}
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where no directory with an open file is moved
		if err := release(); err != nil {
			return err
		}
	}
	if err := exchange(dir, JournalDir(work), filepath.Join(work, "before")); err != nil {
		return err
	}
	p.log.Info("the state of the cluster is loaded: the log goes on from there", "snapshot", s.ID, "took", time.Since(begun))
	return nil
}

// loading reads a snapshot, and logs its progress.
type loading struct {
	io.Reader
	s    *streamlog.Snapshot
	log  *slog.Logger
	read uint64
	told time.Time
}

func (l *loading) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errServers, err)
	}
	l.read += uint64(n)
	if now := time.Now(); now.Sub(l.told) >= progressEvery {
		l.told = now
		l.log.Info("the state of the cluster is being loaded", "snapshot", l.s.ID, "read", config.Size(l.read), "of", config.Size(l.s.Bytes))
	}
	return n, err
}
