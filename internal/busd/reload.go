package busd

import (
	"errors"
	"fmt"
)

// reload loads everything again and gives the server what it may take over. If
// anything is wrong, nothing changes.
func (p *Program) reload() {
	next, err := p.tryReload()
	if err != nil {
		p.log.Error("Failed to reload server configuration: " + err.Error())
		return
	}
	if err := p.bridges.Apply(next.Bridges, next.Bus.DenyPublish); err != nil {
		p.log.Error(err.Error())
	}
	p.settings = next
	p.monitor.Reloaded(next)
	p.log.configure(next.Log)
	for _, w := range next.Warnings {
		p.log.Warn(w)
	}
	p.log.Info("Reloaded server configuration (" + next.Digest + ")")
}

func (p *Program) tryReload() (*Settings, error) {
	if p.Source.File == "" {
		return nil, errors.New("no configuration file was given")
	}
	next, err := p.Source.Load()
	if err != nil {
		return nil, err
	}
	if err := p.settings.fixed(next); err != nil {
		return nil, err
	}
	cfg := next.Bus
	cfg.Logger = p.log.Logger
	return next, p.server.Reload(cfg)
}

// fixed names what cannot change while the program runs, if it would.
func (s *Settings) fixed(next *Settings) error {
	for _, f := range []struct {
		name     string
		old, new any
	}{
		{"http", s.HTTP, next.HTTP},
		{"prof_port", s.Profile, next.Profile},
		{"pid_file", s.PidFile, next.PidFile},
		{"ports_file_dir", s.PortsDir, next.PortsDir},
		{"logfile", s.Log.File, next.Log.File},
	} {
		if f.old != f.new {
			return fmt.Errorf("%s cannot change while the server runs", f.name)
		}
	}
	return nil
}
