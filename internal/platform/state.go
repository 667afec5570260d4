package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/history/export"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/views"
	"paddock/internal/process/config"
)

// exitJournal is the exit code of a process whose journal cannot be written or read. Another start
// does not help until its cause is mended.
const exitJournal = 5

// journalError ends the process.
type journalError struct{ error }

func (e journalError) Unwrap() error { return e.error }

// ExitCode returns the code of the process.
func (journalError) ExitCode() int { return exitJournal }

// openState opens the journal, if there is one, and restores fences, objects and events from it.
func (p *Platform) openState(ctx context.Context) error {
	options, err := p.trackOptions()
	if err != nil {
		return err
	}
	preset, err := track.ParsePolicy(p.cfg.Track.Policy)
	if err != nil {
		return p.cfg.Fault("track.policy", err)
	}
	p.book = rulebook.New(preset)
	cfg := ingest.Config{
		Track: options, Now: p.opts.Now,
		Metrics: ingest.NewMetrics(p.registry), Logger: p.log,
		Congested: func() bool { return p.congested() },
		Failed: func(err error) {
			if !errors.Is(err, cluster.ErrReplaced) { // which ends the node
				p.broken <- err
			}
		},
	}
	limits := &p.cfg.Limits
	dir := p.cfg.Data.Dir
	if dir == "" || p.cfg.Journal.Off() {
		if p.audit, err = audit.Open(journal.NewMemory()); err != nil {
			return err
		}
		cfg.Fences = views.New(p.catalog, p.book)
		run := events.NewEpoch()
		cfg.Runs = events.Runs{{Name: run}}
		p.events = events.NewLog(limits.Events, int64(limits.EventBytes), run)
		p.pipeline, err = ingest.Open(ctx, cfg)
		return err
	}
	if cfg.Interval, err = p.cfg.Journal.Interval(); err != nil {
		return p.cfg.Fault("journal.durability", err)
	}
	begun := time.Now()
	err = p.restore(ctx, &cfg, dir)
	p.book.SetDefault(preset) // the last run may have had another one
	if err != nil {
		if _, ok := errors.AsType[*config.Error](err); ok {
			return err // it names its setting
		}
		if errors.Is(err, journal.ErrLocked) || errors.Is(err, os.ErrPermission) {
			return p.cfg.Failure("data.dir", err)
		}
		return journalError{p.cfg.Failure("data.dir", p.withHint(err))}
	}
	oldest, newest := p.journal.Bounds()
	p.log.Info("state restored", "dir", dir, "sets", p.catalog.Len(), "objects", p.Objects(),
		"events", p.events.Latest(), "records", newest+1-oldest, "took", time.Since(begun))
	return nil
}

// trackOptions returns what holds for all sets, whatever their policies are.
func (p *Platform) trackOptions() (track.Options, error) {
	t := &p.cfg.Track
	o := track.Options{TTL: t.TTL, MaxGap: t.MaxGap, MaxObjects: p.cfg.Limits.MaxObjects}
	if t.Initial == "" {
		return o, nil
	}
	initial, err := track.ParseInitial(t.Initial)
	if err != nil {
		return o, p.cfg.Fault("track.initial", err)
	}
	o.Initial, o.NoInitial = initial, initial == track.InitialNone
	return o, nil
}

func (p *Platform) restore(ctx context.Context, cfg *ingest.Config, dir string) (err error) {
	if err := journal.CheckFormat(JournalDir(dir)); err != nil {
		return err
	}
	if err := tidy(dir); err != nil {
		return err
	}
	if p.opts.AcceptLoss {
		if err := p.acceptLoss(*cfg, dir); err != nil {
			return err
		}
	}
	appended := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "paddock_journal_append_seconds",
		Help:    "Time until a record of the journal was durable.",
		Buckets: prometheus.ExponentialBuckets(100e-6, 2, 16),
	})
	open := p.opts.openJournal
	if open == nil {
		open = journal.Open
	}
	openJournal := func() (err error) {
		p.journal, err = open(journal.Options{
			Dir: JournalDir(dir), Logger: p.log, NoSync: p.cfg.Cluster.On(), Appended: func(d time.Duration) { appended.Observe(d.Seconds()); p.syncs.Add(d) },
			Fatal: func(err error) {
				p.log.Error("the journal has failed: mend the disk, then start again", "error", err)
				os.Exit(exitJournal)
			},
		})
		return err
	}
	if err := openJournal(); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if p.member != nil {
			p.member.close()
		}
		if p.journal != nil {
			err = errors.Join(err, p.journal.Close())
		}
	}()
	if err := p.joinCluster(ctx, openJournal); err != nil {
		return err
	}
	p.shared = p.journal
	if p.member != nil {
		p.shared = p.member.node.Journal()
		cfg.Replica, cfg.Forward, cfg.Append, cfg.Now = true, p.member.forward, p.shared.Append, p.member.node.Now
	}
	if p.audit, err = audit.Open(p.shared); err != nil {
		return err
	}
	p.views, err = views.Open(views.Options{
		Catalog: p.catalog, Book: p.book, Fences: p.fenceOptions(), Journal: p.shared, Files: p.servedFiles,
		Extra: p.audit.Take, Replicated: p.member != nil,
	})
	if err != nil {
		return err
	}
	if p.history, err = history.Open(history.Options{Journal: p.journal, Logger: p.log}); err != nil {
		return err
	}
	losses, err := acceptedLosses(p.journal)
	if err != nil {
		return err
	}
	if cfg.Runs, err = events.RunsOf(p.journal); err != nil {
		return err
	}
	cfg.Journal, cfg.Fences, cfg.Needed, cfg.Follower = p.ownJournal(), p.views, p.neededRecord, p.history
	if p.pipeline, err = ingest.Open(ctx, *cfg); err != nil {
		return err
	}
	p.events, err = events.OpenLog(p.cfg.Limits.Events, int64(p.cfg.Limits.EventBytes), p.journal)
	if err != nil {
		return err
	}
	if p.member != nil {
		p.events.Share()
	}
	p.registry.MustRegister(appended)
	registerJournal(p.registry, p.journal, p.pipeline, p.events, len(losses))
	registerHistory(p.registry, p.journal, p.history)
	p.registry.MustRegister(snapshotCollector{p.member})
	return nil
}

// servedFiles returns what the journal keeps of the directory of sets: the files that the sets were
// read from.
func (p *Platform) servedFiles() []byte {
	if p.sets == nil {
		return p.views.Files()
	}
	return p.sets.Record()
}

// watchJournal ends the process once the journal cannot be written.
func (p *Platform) watchJournal(ctx context.Context) error {
	select {
	case err := <-p.broken:
		return journalError{fmt.Errorf("the journal cannot be written: mend its disk, then start again: %w", p.withHint(err))}
	case <-ctx.Done():
		return nil
	}
}

func (p *Platform) closeJournal(context.Context) error {
	if p.journal == nil {
		return nil
	}
	return p.journal.Close()
}

// Verify applies the records of a data directory again, and compares events and states with the
// stored ones. No platform may run with it, and nothing is written. The error wraps
// [ingest.ErrDiffers], or is one of the journal.
func Verify(dir string, log *slog.Logger, progress func(number, newest uint64)) (found ingest.Verified, err error) {
	j, err := journal.Open(journal.Options{Dir: JournalDir(dir), Logger: log, ReadOnly: true})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	kept, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: j})
	if err != nil {
		return found, err
	}
	runs, err := events.RunsOf(j)
	if err != nil {
		return found, err
	}
	return ingest.Verify(ingest.Config{Journal: j, Fences: kept, Runs: runs}, progress)
}

// Past returns the past in a data directory, for an export. No platform may run with it, and
// nothing is written.
func Past(ctx context.Context, dir string, log *slog.Logger) (*export.Stored, error) {
	j, err := journal.Open(journal.Options{Dir: JournalDir(dir), Logger: log, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return export.OpenStored(ctx, j, log)
}

// JournalDir returns the journal's directory within a data directory.
func JournalDir(dir string) string { return filepath.Join(dir, "journal") }
