package platform

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"paddock/fence"
	"paddock/internal/platform/ingest"
)

const (
	// expiryInterval is how late a fence may be removed after its end.
	expiryInterval = time.Second
	// maxExpired bounds the fences that one look removes. The next look removes more.
	maxExpired = 1000
)

// expireFences removes the fences that end, until ctx does.
func (p *Platform) expireFences(ctx context.Context) error {
	e := expiry{catalog: p.catalog, now: p.now, settle: p.pipeline.Settle, log: p.log}
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		if p.pipeline.Refusing() == "" && p.pipeline.Role() == ingest.Leader { // as for edits of the API
			e.look()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// now returns the time by which fences end: in a cluster that of its servers.
func (p *Platform) now() time.Time {
	switch {
	case p.opts.Now != nil:
		return p.opts.Now()
	case p.member != nil && p.member.node != nil:
		return p.member.node.Now()
	}
	return time.Now()
}

// expiry removes fences at their end, by the setting expires. The removal is an edit as any other:
// look-ups, generations and the journal agree about it, and it is made again by a replay at the
// same place. A fence that ended while no process ran is removed after the next start.
type expiry struct {
	catalog *fence.Catalog
	now     func() time.Time
	settle  func() error
	log     *slog.Logger
	ends    map[*fence.Set]ending
}

// ending is when the first fence of a snapshot ends; zero: none does.
type ending struct {
	snap *fence.Snapshot
	at   time.Time
}

// look removes the fences whose end has come, up to maxExpired.
func (e *expiry) look() {
	now, ends, left := e.now(), map[*fence.Set]ending{}, maxExpired
	for s := range e.catalog.All() {
		end := e.ends[s]
		if snap := s.Snapshot(); snap != end.snap {
			end = ending{snap, snap.NextExpiry()}
		}
		ends[s] = end
		if !end.at.IsZero() && !now.Before(end.at) {
			left = e.remove(s, end.snap, now, left)
		}
	}
	e.ends = ends
	if left == maxExpired {
		return
	}
	if err := e.settle(); err != nil {
		e.log.Error("fences have expired, and the change is not stored", "error", err)
	}
}

// errEdited refuses to remove a fence that was put again.
var errEdited = errors.New("the fence was changed")

// remove removes the expired fences of a set, and returns how many more may be removed.
func (e *expiry) remove(s *fence.Set, snap *fence.Snapshot, now time.Time, left int) int {
	for ref, f := range snap.All() {
		if left == 0 || !f.Settings().Ended(now) {
			continue
		}
		same := func(now *fence.Snapshot) error {
			if now.Fence(ref) != f {
				return errEdited
			}
			return nil
		}
		if _, there, err := s.If(same).Delete(f.Key); err == nil && there {
			left--
			e.log.Info("fence expired", "set", s.Name(), "fence", f.Key, "at", f.Settings().Expires)
		}
	}
	return left
}
