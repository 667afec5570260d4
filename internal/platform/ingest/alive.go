package ingest

import (
	"context"
	"fmt"
)

// Alive returns once the pipeline has made a round: its goroutine had the turn, and no record is
// being stored or applied. So it waits for a disk that hangs, and for a subscriber that blocks. The
// error is ErrClosed, or ctx's, with the step at which the pipeline stands.
func (p *Pipeline) Alive(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case p.asked <- done:
	case <-p.ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("ingest does not take the next round: %w", ctx.Err())
	}
	select {
	case <-done:
	case <-p.ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("ingest does not end its round: %w", ctx.Err())
	}
	select {
	case p.applying <- struct{}{}:
		<-p.applying
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ingest does not end the record that it applies: %w", ctx.Err())
	}
}
