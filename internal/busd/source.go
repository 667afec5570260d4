package busd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
	"paddock/internal/netio/listen"
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
	s.Bus.Trace = s.Log.Trace
	s.Resolve(func(_ string, err error) { s.fault(err) })
	return s, s.check()
}

func (s *Settings) read(file string) error {
	root, err := natsconf.ParseFile(file)
	if _, ok := errors.AsType[*natsconf.Error](err); ok {
		//lint:ignore ST1005 these are the words that tools know
		return fmt.Errorf("Parse error: %w", err)
	}
	if err != nil {
		return err
	}
	if s.Digest, err = natsconf.Digest(root); err != nil {
		return err
	}
	s.ConfigFile = file
	return s.apply(root)
}

// place decides where to listen. The broker as a command of paddock listens on loopback unless told
// otherwise, for monitoring as for clients.
func (s *Settings) place() {
	if s.Bus.Host == "" && s.Bus.AllowOpen {
		s.Bus.Host = "0.0.0.0"
	}
	switch {
	case s.HTTP.Host != "":
	case s.Bus.AllowOpen:
		s.HTTP.Host = s.Bus.Host
	default:
		s.HTTP.Host = bus.DefaultHost
	}
}

// Resolve completes settings whose addresses and credentials are given, and reports what no single
// key shows, each by the key that is to be changed.
func (s *Settings) Resolve(fault func(key string, err error)) {
	s.place()
	s.secure()
	s.limitOrigins()
	s.checkBridges(fault)
	if s.HTTP.Port != 0 && s.HTTP.TLSPort != 0 {
		fault("https", fmt.Errorf("can't specify both HTTP (%d) and HTTPs (%d) ports", s.HTTP.Port, s.HTTP.TLSPort))
	}
	if s.HTTP.TLSPort != 0 && s.Bus.TLS == nil {
		fault("https", errors.New("TLS cert and key required for HTTPS"))
	}
	if s.Bus.AllowOpen || s.AsksForCredentials() {
		return
	}
	if s.unguarded() {
		fault("listen", listen.CheckOr(net.JoinHostPort(s.Bus.Host, strconv.Itoa(max(s.Bus.Port, 0))), false, "set a token or a user and password"))
	}
	if w := s.Bus.WebSocket; w != nil && w.Host != "" && !loopback(w.Host) {
		fault("websocket", fmt.Errorf("%w: websocket on %s", bus.ErrOpenListen, w.Host))
	}
	key := "http"
	if s.HTTP.TLSPort != 0 {
		key = "https"
	}
	if on := s.HTTP.Port != 0 || s.HTTP.TLSPort != 0; on && !loopback(s.HTTP.Host) {
		fault(key, fmt.Errorf("%w: monitoring on %s", bus.ErrOpenListen, s.HTTP.Host))
	}
}

// AsksForCredentials reports whether all clients have to give some.
func (s *Settings) AsksForCredentials() bool {
	return s.Bus.NoAuthUser == "" && (s.Bus.RequireAuth || s.Bus.Token != "" || s.Bus.Username != "" || len(s.Bus.Users) > 0)
}

// unguarded says whether other machines can use the server without credentials.
func (s *Settings) unguarded() bool {
	return !s.AsksForCredentials() && !loopback(cmp.Or(s.Bus.Host, bus.DefaultHost))
}

func loopback(host string) bool {
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, "0"))
	return err == nil && addr.IP.IsLoopback()
}

// check returns what has been found wrong, and what the broker finds.
func (s *Settings) check() error {
	if len(s.faults) == 0 {
		_, err := bus.New(s.Bus)
		return err
	}
	return errors.Join(s.faults...)
}
