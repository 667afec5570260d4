package platform

import (
	"context"

	"paddock/fence/track"
	"paddock/internal/platform/doors/source"
)

// openSources makes the sources that the platform asks for positions. They connect once they run.
func (p *Platform) openSources(context.Context) error {
	p.sources = source.New(source.Config{
		Settings: p.opts.Sources, Pipeline: p.pipeline, Doors: &p.doors, Logger: p.log,
		MaxAhead: track.Millis(p.cfg.Track.MaxAhead.Milliseconds()),
	})
	p.registry.MustRegister(p.sources)
	return nil
}

// runSources asks the sources. A node of a cluster does once it is the leader.
func (p *Platform) runSources(ctx context.Context) error {
	if p.member != nil {
		select {
		case <-p.member.leading:
		case <-ctx.Done():
			return nil
		}
	}
	return p.sources.Run(ctx)
}

// closeSources disconnects the sources. What they have received and not acknowledged comes again.
func (p *Platform) closeSources(ctx context.Context) error { return p.sources.Close(ctx) }
