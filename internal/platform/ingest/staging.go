package ingest

import (
	"errors"
	"time"

	"paddock/internal/platform/journal"
)

// stageAgain is the time between two tries to stage fences that are too large to be stored. A
// caller of Settle does not wait for it.
const stageAgain = time.Minute

// stage makes the present fences available to the next record.
func (p *Pipeline) stage() error {
	if p.cfg.Fences.Staged() {
		return nil
	}
	return p.cfg.Fences.Stage()
}

// follow stages changed fences that no caller waits for. Fences that are too large leave positions
// the ones before.
func (p *Pipeline) follow() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var next time.Time
	for {
		select {
		case now := <-ticker.C:
			if now.Before(next) || p.Refusing() != "" || p.Role() == Replica {
				continue
			}
			switch err := p.stage(); {
			case errors.Is(err, journal.ErrTooLarge):
				next = now.Add(stageAgain)
				if p.cfg.Logger != nil {
					p.cfg.Logger.Error("changed fences are not in use for positions", "error", err)
				}
			case err != nil:
				p.failed(err)
				return
			}
		case <-p.ended:
			return
		}
	}
}
