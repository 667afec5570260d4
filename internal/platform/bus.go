package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"paddock/bus"
	"paddock/internal/busd"
	"paddock/internal/busd/bridge"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/busapi"
	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

// reservedSubjects are the subjects on which only the platform publishes, so that clients cannot
// forge events.
var reservedSubjects = []string{"fence.>", "$SYS.>"}

// BusKeys returns the reader of the keys of the section bus that only a file has, which are those
// of a file of `paddock bus`. Relative paths begin at dir. It sets *to if there are any.
func BusKeys(to **busd.Settings, dir string) config.Extra {
	return config.Extra{
		Keys: busd.SectionKeys, Has: busd.InSection,
		Read: func(c *config.Config, entries []strictyaml.Entry) {
			s := busd.ReadSection(entries, dir)
			c.Bus.Users, *to = s.AsksForCredentials(), s
			c.Warnings = append(c.Warnings, s.Warnings...)
		},
	}
}

// CheckBus returns the faults of the section bus that no single key shows, each with its place.
// file holds the keys that only a file has; nil: none.
func CheckBus(cfg *config.Config, file *busd.Settings) error {
	_, err := busSettings(cfg, file, cfg.Keyed())
	return err
}

// busSettings puts together the settings of the bus: those of the section, over them what holds on
// every platform. keyed reports whether clients can be asked for keys.
func busSettings(cfg *config.Config, file *busd.Settings, keyed bool) (*busd.Settings, error) {
	var faults []error
	fault := func(key string, err error) {
		if key = "bus." + key; key == "bus.http" || key == "bus.https" {
			key = monitorKey(cfg)
		}
		faults = append(faults, cfg.Fault(key, err))
	}
	c, s := cfg.Bus, file.Clone()
	host, port, err := busapi.Address(c.Listen)
	if err != nil {
		return nil, cfg.Fault("bus.listen", err)
	}
	b := &s.Bus
	b.Host, b.Port, b.ServerName = host, port, cmp.Or(b.ServerName, "paddock")
	b.MaxPayload, b.MaxPending, b.MaxConns = int(c.MaxPayload), int64(c.MaxPending), c.MaxConnections
	b.PingInterval, b.WriteDeadline = c.PingInterval, c.WriteDeadline
	b.DenyPublish = append(slices.Clone(reservedSubjects), b.DenyPublish...)
	users := "authorization"
	if cfg.Place("bus.authorization") == "" {
		users = "accounts"
	}
	if c.Token != "" || c.User != "" {
		key := "token"
		if c.Token == "" {
			key = "user"
		}
		if b.Token != "" || b.Username != "" || len(b.Users) > 0 {
			fault(key, fmt.Errorf("%s: bus.%s has credentials too; set one of the two", cfg.Place("bus."+users), users))
			return nil, errors.Join(faults...)
		}
		b.Token, b.Username, b.Password = string(c.Token), c.User, string(c.Password)
	}
	for _, name := range append([]string{b.Username}, userNames(b.Users)...) {
		if strings.HasPrefix(name, busapi.UserPrefix) {
			fault(users, fmt.Errorf("user %q: names that begin with %s are those of keys", name, busapi.UserPrefix))
		}
	}
	b.RequireAuth = !s.AsksForCredentials() && (keyRequired(cfg, c.Listen) || keyed && webSocketExposed(b))
	if b.NoAuthUser != "" && b.RequireAuth {
		fault("no_auth_user", errors.New("clients without credentials cannot be let in where all are asked for them: by access.required, and beyond loopback"))
	}
	if len(faults) == 0 {
		s.Resolve(fault)
	}
	if len(faults) == 0 {
		if _, err := bus.New(*b); err != nil {
			fault(faultyKey(cfg, err), errors.New(strings.TrimPrefix(err.Error(), "bus: ")))
		}
	}
	return s, errors.Join(faults...)
}

// faultyKey returns the key of the section that an error of the broker is about.
func faultyKey(cfg *config.Config, err error) string {
	switch {
	case strings.HasPrefix(err.Error(), "bus: websocket: "):
		return "websocket"
	case strings.HasPrefix(err.Error(), "bus: listen "), cfg.Place("bus.paddock") == "":
		return "listen"
	}
	return "paddock" // the only other one whose values the reader leaves to the broker
}

func userNames(users []bus.User) (names []string) {
	for _, u := range users {
		names = append(names, u.Name)
	}
	return names
}

// webSocketExposed reports whether pages on other machines reach the bus.
func webSocketExposed(b *bus.Config) bool {
	w := b.WebSocket
	return w != nil && w.Host != "" && listen.Check(net.JoinHostPort(w.Host, "1"), false) != nil
}

// busSource is where the settings of the running bus come from.
type busSource struct {
	mu     sync.Mutex // guards what follows, and serializes reloads
	config *config.Config
	file   *busd.Settings // nil: none
}

// busConfig returns settings and configuration of the bus with the present keys. MaxConnections of
// cfg is bounded by the open files.
func (p *Platform) busConfig(cfg *config.Config, file *busd.Settings) (*busd.Settings, bus.Config, error) {
	bounded := *cfg
	bounded.Access, bounded.Limits, bounded.Wire = p.opts.Config.Access, p.opts.Config.Limits, p.opts.Config.Wire
	shareFiles(&bounded, p.files)
	s, err := busSettings(&bounded, file, p.journal != nil || p.keys.Len() > 0)
	if err != nil {
		return nil, bus.Config{}, err
	}
	b := s.Bus
	b.Logger = p.log
	if p.keys.Len() > 0 {
		b.Lookup = func(secret string) *bus.User { return busapi.User(p.keys.Find(secret)) }
	}
	return s, b, nil
}

func (p *Platform) startBus(context.Context) error {
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	s, b, err := p.busConfig(p.busNow.config, p.busNow.file)
	if err != nil {
		return err
	}
	if p.bus, err = bus.New(b); err != nil {
		return p.cfg.Fault("bus.listen", err)
	}
	if err := p.bus.Start(); err != nil {
		return p.listenError("bus."+faultyKey(p.cfg, err), err)
	}
	p.secureBus = s.Bus.TLS != nil && !s.Bus.TLS.AllowNonTLS
	p.keys.OnChange(p.judgeBus)
	registerBus(p.registry, p.bus)
	p.bridges = bridge.New(p.bus, p.log)
	p.registry.MustRegister(p.bridges)
	return nil
}

// openBridges connects the bus to other servers, once everything that subscribes here has done so.
func (p *Platform) openBridges(context.Context) error {
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	s, _, err := p.busConfig(p.busNow.config, p.busNow.file)
	if err != nil {
		return err
	}
	return p.bridges.Apply(s.Bridges, s.Bus.DenyPublish)
}

// closeBridges sends what waits for other servers.
func (p *Platform) closeBridges(ctx context.Context) error {
	p.bridges.Close(ctx)
	return nil
}

// judgeBus makes the bus judge its connections by the present keys.
func (p *Platform) judgeBus() {
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	_, b, err := p.busConfig(p.busNow.config, p.busNow.file)
	if err == nil {
		err = p.bus.Reload(b)
	}
	if err != nil {
		p.log.Error("the bus keeps the keys that it had", "error", err)
	}
}

// reloadBus gives the bus the settings of the file, or changes nothing. It returns the keys that
// differ and take a restart: the others hold.
func (p *Platform) reloadBus(cfg *config.Config, file *busd.Settings) (restart []string, err error) {
	p.busNow.mu.Lock()
	defer p.busNow.mu.Unlock()
	cfg, file, restart = p.busNow.keepFixed(cfg, file)
	next, b, err := p.busConfig(cfg, file)
	if err != nil {
		return nil, err
	}
	if err := p.bus.Reload(b); err != nil {
		return nil, cfg.Fault("bus.listen", err)
	}
	p.busNow.config, p.busNow.file = cfg, file
	p.monitor.Reloaded(next)
	if err := p.bridges.Apply(next.Bridges, next.Bus.DenyPublish); err != nil {
		p.log.Error("a part of the bus is not in use", "error", err)
	}
	for _, w := range next.Warnings {
		p.log.Warn(w)
	}
	return restart, nil
}

// keepFixed returns the settings of the file with those of the running bus where a change takes a
// restart, and the keys of what differs there.
func (s *busSource) keepFixed(cfg *config.Config, file *busd.Settings) (*config.Config, *busd.Settings, []string) {
	kept, own, now := *cfg, file.Clone(), s.file.Clone()
	restart := s.config.Restarts(cfg, "bus")
	kept.Bus.Listen, kept.Bus.MaxPayload = s.config.Bus.Listen, s.config.Bus.MaxPayload
	for _, field := range own.Bus.Keep(&now.Bus) {
		restart = append(restart, "bus."+fixedKeys[field])
	}
	if own.HTTP != now.HTTP {
		own.HTTP = now.HTTP
		restart = append(restart, monitorKey(cfg))
	}
	return &kept, own, slices.Compact(restart)
}

// fixedKeys are the keys of the section behind fields of [bus.Config] that are fixed while the bus
// runs.
var fixedKeys = map[string]string{
	"TLS": "tls", "WebSocket": "websocket", "ServerName": "server_name", "MaxClosed": "max_closed_clients",
	"NoHeaders": "no_header_support", "Unix": "paddock", "Prefixes": "paddock",
}

// monitorKey returns the key with the address of monitoring.
func monitorKey(cfg *config.Config) string {
	for _, key := range []string{"bus.https", "bus.http_port", "bus.https_port", "bus.http_base_path"} {
		if cfg.Place(key) != "" && cfg.Place("bus.http") == "" {
			return key
		}
	}
	return "bus.http"
}

// openMonitor opens the monitoring port of the bus.
func (p *Platform) openMonitor(context.Context) error {
	s, _, err := p.busConfig(p.busNow.config, p.busNow.file)
	if err != nil {
		return err
	}
	if p.monitor, err = busd.OpenMonitor(p.bus, p.bridges, s); err != nil {
		return p.listenError(monitorKey(p.busNow.config), err)
	}
	if p.monitor != nil {
		p.log.Info("bus monitoring", "url", p.monitor.URL())
	}
	return nil
}

func (p *Platform) serveMonitor(context.Context) error {
	if p.monitor == nil {
		return nil
	}
	return p.monitor.Serve()
}

// closeMonitor waits a second for the answers under way.
func (p *Platform) closeMonitor(context.Context) error {
	if p.monitor == nil {
		return nil
	}
	return p.monitor.Close()
}

// BusAddr returns the address of the bus, or nil before it has started.
func (p *Platform) BusAddr() net.Addr { return p.bus.Addr() }

// BusURL returns the address of the bus for clients once it has started.
func (p *Platform) BusURL() string {
	if p.secureBus {
		return "tls://" + p.bus.Addr().String()
	}
	return "nats://" + p.bus.Addr().String()
}

// busOverview returns the state of the bus for the dashboard.
func (p *Platform) busOverview(find string, most int) any {
	o := busapi.NewOverview(p.bus, find, most)
	o.Bridges = busapi.BridgeLines(p.bridges.States())
	return o
}
