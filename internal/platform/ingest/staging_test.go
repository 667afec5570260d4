package ingest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/internal/platform/journal"
)

// large refuses fences for their size.
type large struct {
	Fences
	tries int
}

func (l *large) Staged() bool { return false }

func (l *large) Stage() error {
	l.tries++
	return fmt.Errorf("%w: it has 400 MiB", journal.ErrTooLarge)
}

// Fences that are too large to be stored do not end the pipeline: positions go on with the fences
// before.
func TestFencesThatAreTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pub, log := &published{}, journal.NewMemory()
		config := Config{Failed: func(err error) { t.Errorf("failed: %v", err) }}
		p, _ := openOn(t, config, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
		refused := &large{Fences: p.cfg.Fences}
		p.cfg.Fences = refused
		p.Start(pub)
		time.Sleep(time.Second)
		submitNow(t, p)
		time.Sleep(time.Hour)
		submit(t, p, fixes("w", 0, 1))
		p.Close(context.Background())
		if refused.tries < 2 || refused.tries > 100 {
			t.Errorf("%d tries in an hour", refused.tries)
		}
	})
}
