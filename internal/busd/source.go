package busd

import (
	"errors"
	"fmt"

	"paddock/bus"
	"paddock/internal/natsconf"
)

// An Override is one flag: it changes what the file said.
type Override func(*Settings)

// Source is where settings come from, now and at each reload.
type Source struct {
	Defaults  func(*Settings) // of the command line; may be nil
	File      string          // "" = none
	Overrides []Override
}

// Load reads everything anew. Its error names every mistake of the file.
func (src Source) Load() (*Settings, error) {
	s := new(Settings)
	if src.Defaults != nil {
		src.Defaults(s)
	}
	if src.File != "" {
		if err := s.read(src.File); err != nil {
			return nil, err
		}
	}
	for _, set := range src.Overrides {
		set(s)
	}
	return s, s.check()
}

func (s *Settings) read(file string) error {
	root, err := natsconf.ParseFile(file)
	if err != nil {
		return err
	}
	if s.Digest, err = natsconf.Digest(root); err != nil {
		return err
	}
	s.ConfigFile = file
	return s.apply(root)
}

// Override reads more than one value, or a file, and can fail: it then leaves a
// fault behind.
func (s *Settings) fault(err error) { s.faults = append(s.faults, err) }

// check finds what no single key shows.
func (s *Settings) check() error {
	if s.HTTP.Port != 0 && s.HTTP.TLSPort != 0 {
		s.fault(fmt.Errorf("can't specify both HTTP (%d) and HTTPs (%d) ports", s.HTTP.Port, s.HTTP.TLSPort))
	}
	if s.HTTP.TLSPort != 0 && s.TLS == nil {
		s.fault(errors.New("TLS cert and key required for HTTPS"))
	}
	if len(s.faults) == 0 {
		_, err := bus.New(s.config())
		return err
	}
	return errors.Join(s.faults...)
}

// config is what the server gets.
func (s *Settings) config() bus.Config {
	cfg := s.Bus
	cfg.TLS, cfg.WebSocket, cfg.Unix = s.TLS, s.WebSocket, s.Unix
	return cfg
}
