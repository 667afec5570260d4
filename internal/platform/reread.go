package platform

import (
	"context"
	"errors"
	"slices"

	"paddock/internal/busd"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/doors/source"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
)

// Reread is what a running platform takes over of its configuration file. A section that is not
// there is nil.
type Reread struct {
	Keys     []keyring.Key // access.keys
	Sources  []source.Settings
	Webhooks *hooks.Settings
	Sinks    *sinks.Settings
	// Config and Bus are the section bus; Config may be nil: it stays.
	Config *config.Config
	Bus    *busd.Settings
	// Restart names the settings of other sections that differ from those of the start.
	Restart []string
}

// followFile takes over the configuration file when asked to. A file with a fault changes nothing.
func (p *Platform) followFile(ctx context.Context) error {
	if p.opts.Reread == nil {
		return nil
	}
	var named []string // that take a restart, and were logged
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.opts.Rereads:
		}
		named = p.takeOver(ctx, named)
		p.opts.Reloaded()
	}
}

// takeOver takes over the configuration file. named are the settings that take a restart and were
// logged; takeOver returns those of now.
func (p *Platform) takeOver(ctx context.Context, named []string) []string {
	r, err := p.opts.Reread()
	if ctx.Err() != nil { // the process ends
		return named
	}
	if err == nil {
		err = p.apply(ctx, r)
	}
	if err != nil {
		p.log.Error("the configuration file is not taken over, and everything stays as it was", "error", err)
		return named
	}
	restart := r.Restart
	if r.Config != nil && ctx.Err() == nil {
		of, err := p.reloadBus(r.Config, r.Bus)
		if restart = slices.Concat(restart, of); err != nil {
			p.log.Error("the bus keeps the settings that it had", "error", err)
		} else {
			p.log.Info("settings of the bus read")
		}
	}
	if len(restart) > 0 && !slices.Equal(restart, named) {
		p.log.Warn("settings of the configuration file have changed that take a restart", "settings", restart)
	}
	return restart
}

// apply takes over what was read. The error is one for which nothing has changed.
func (p *Platform) apply(ctx context.Context, r *Reread) error {
	err := p.hooks.Replace(r.Webhooks, func() error { return p.replaceKeys(r.Keys) })
	if refusal, ok := errors.AsType[*hooks.Refusal](err); ok {
		return refusal
	}
	if err = errors.Join(err, p.sinks.Replace(r.Sinks)); err != nil {
		p.log.Error("a part of the configuration file is not in use", "error", err)
	}
	p.sources.Replace(ctx, r.Sources)
	p.reread.Store(r)
	p.log.Info("configuration file read again", "keys", len(r.Keys), "sources", len(r.Sources))
	return nil
}

// Taken returns the options of a platform that goes on where this one has ended: with what it has
// taken over of the configuration file since its start. The tunnel follows its file by itself, and
// reads it once more.
func (p *Platform) Taken() Options {
	o, cfg := p.opts, *p.opts.Config
	if o.Config = &cfg; p.tunnel != nil {
		tunnel := *o.Tunnel
		tunnel.Settings = p.tunnel.Latest()
		o.Tunnel = &tunnel
	}
	if r := p.reread.Load(); r != nil {
		cfg.Access.Keys, o.Webhooks, o.Sinks, o.Sources = r.Keys, r.Webhooks, r.Sinks, r.Sources
	}
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	cfg.Bus, o.Bus = p.busNow.config.Bus, p.busNow.file
	return o
}
