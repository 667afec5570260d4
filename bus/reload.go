package bus

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
)

// Reload replaces the configuration of a running server. Limits, times, policies, credentials,
// permissions and the logger take effect at once; a field that is tagged `reload:"no"` must be as
// it was. If Reload returns an error, which names the field, nothing has changed.
//
// Clients that may no longer connect get `Authorization Violation` and are closed. Subscriptions
// that are no longer permitted are ended, and their clients receive an error. Neither gets any
// message once Reload has returned. A client that is publishing meets its new permissions with its
// next batch at the latest. Clients beyond a lower [Config.MaxConns] are closed, in no particular
// order; subscriptions beyond a lower [Config.MaxSubs] stay.
func (s *Server) Reload(cfg Config) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	now := s.cfg()
	if cfg.ServerName == "" {
		cfg.ServerName = s.id
	}
	if err := sameFixed(now, &cfg); err != nil {
		return err
	}
	if err := s.checkGuarded(&cfg); err != nil {
		return err
	}
	s.live.Store(&cfg)
	s.subs.renew() // cached receivers hold permissions too
	var slow []*client
	for _, c := range s.conns.all() {
		if !c.auth.revise(true) {
			slow = append(slow, c)
		}
		c.timers.shorten()
	}
	s.judge(slow)
	s.closeExcess(cfg.MaxConns)
	return nil
}

// judge judges clients again whose secrets have to be compared with hashes, as many at once as may
// be compared.
func (s *Server) judge(clients []*client) {
	waiting := make(chan *client)
	var judging sync.WaitGroup
	for range min(cap(s.hasher.Slots), len(clients)) {
		judging.Go(func() {
			for c := range waiting {
				c.auth.revise(false)
			}
		})
	}
	for _, c := range clients {
		waiting <- c
	}
	close(waiting)
	judging.Wait()
}

// closeExcess closes connections beyond a bound that was lowered, in no particular order.
func (s *Server) closeExcess(bound int) {
	clients := slices.DeleteFunc(s.conns.all(), func(c *client) bool { return c.rejected != nil || !c.isOpen() })
	excess := max(len(clients)-bound, 0)
	for _, c := range clients[:excess] {
		c.end(errMaxConns)
	}
	if excess > 0 {
		s.cfg().Logger.Info(fmt.Sprintf("Closed %d connections to fall within max_connections", excess))
	}
}

// sameFixed compares the settings that cannot change while the server runs.
func sameFixed(now, next *Config) error {
	trial := *next
	if changed := trial.Keep(now); len(changed) > 0 {
		return fixedField(changed[0])
	}
	return nil
}

// Keep gives c the settings of now that cannot change while a server runs, and returns the names
// of the fields in which they differed. [Server.Reload] takes the result.
func (c *Config) Keep(now *Config) (changed []string) {
	a, b := reflect.ValueOf(*now), reflect.ValueOf(c).Elem()
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if f.Tag.Get("reload") == "no" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			b.Field(i).Set(a.Field(i))
			changed = append(changed, f.Name)
		}
	}
	if (now.TLS == nil) != (c.TLS == nil) { // its certificates and conditions may
		c.TLS = now.TLS
		changed = append(changed, "TLS")
	}
	switch w, v := now.WebSocket, c.WebSocket; {
	case w == nil && v == nil:
	case w == nil || v == nil:
		c.WebSocket = w
		changed = append(changed, "WebSocket")
	case w.Host != v.Host || w.Port != v.Port || (w.TLS == nil) != (v.TLS == nil):
		own := *v
		if own.Host, own.Port = w.Host, w.Port; (w.TLS == nil) != (v.TLS == nil) {
			own.TLS = w.TLS
		}
		c.WebSocket = &own
		changed = append(changed, "WebSocket")
	}
	return changed
}

func fixedField(name string) error {
	return fmt.Errorf("bus: reload: %s cannot change while the server is running", name)
}

// checkGuarded refuses to take the credentials away from a server that others than
// this machine can reach.
func (s *Server) checkGuarded(next *Config) error {
	if next.AllowOpen || !s.cfg().authRequired() || next.authRequired() {
		return nil
	}
	for _, addr := range []net.Addr{s.Addr(), s.WebSocketAddr()} {
		if tcp, ok := addr.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			return fmt.Errorf("%w: %s", ErrOpenListen, tcp.IP)
		}
	}
	return nil
}
