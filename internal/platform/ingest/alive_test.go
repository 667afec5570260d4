package ingest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/platform/journal"
)

// heldJournal does not store a record until it is released.
type heldJournal struct {
	journal.Journal
	reached, release chan struct{}
}

// Append implements [journal.Journal].
func (j *heldJournal) Append(record []byte) (uint64, error) {
	close(j.reached)
	<-j.release
	return j.Journal.Append(record)
}

// A pipeline is alive only once its disk no longer hangs.
func TestAliveWaitsForTheDisk(t *testing.T) {
	j := &heldJournal{journal.NewMemory(), make(chan struct{}), make(chan struct{})}
	p, _ := openOn(t, Config{}, j, nil)
	p.Start(&published{})
	t.Cleanup(func() { p.Close(context.Background()) })
	submitted := make(chan struct{})
	go func() {
		defer close(submitted)
		submit(t, p, fixes("a", 1, 1))
	}()
	<-j.reached
	waits(t, p, func() { close(j.release) })
	<-submitted
}

// A pipeline is alive only once the record that it applies is applied.
func TestAliveWaitsForTheRecordBeingApplied(t *testing.T) {
	p, _ := newPipeline(t, &published{}, Config{})
	if err := p.Settle(); err != nil { // no later round has anything to do
		t.Fatal(err)
	}
	p.applying <- struct{}{}
	waits(t, p, func() { <-p.applying })
}

// waits checks that Alive returns after the release of what holds the pipeline, and not before, or
// with its context.
func waits(t *testing.T, p *Pipeline, release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- p.Alive(ctx) }()
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("held, and given up: %v", err)
	}
	var released atomic.Bool
	answer := make(chan bool, 1)
	go func() {
		err := p.Alive(t.Context())
		answer <- err == nil && released.Load()
	}()
	select {
	case <-answer:
		t.Error("alive while held")
		release()
		return
	case <-time.After(3 * tick): // a chance to be wrong; being late is no fault
	}
	released.Store(true)
	release()
	if !<-answer {
		t.Error("not alive once released")
	}
}

func TestAliveEndsWithThePipeline(t *testing.T) {
	p, _ := newPipeline(t, &published{}, Config{})
	if err := p.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close(context.Background())
	if err := p.Alive(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
