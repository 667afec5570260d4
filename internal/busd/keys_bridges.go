package busd

import (
	"fmt"
	"strings"

	"paddock/internal/busd/bridge"
	"paddock/internal/busd/natsconf"
)

// bridges reads the list of bridges in the block paddock.
func (d *decoder) bridges(s *Settings) setter {
	return func(f *natsconf.Field) {
		s.Bridges, d.bridgesAt = nil, f.Pos
		d.maps("a bridge is a map", func(n *natsconf.Node) {
			if c, ok := d.bridge(n); ok {
				s.Bridges = append(s.Bridges, c)
			}
		})(f)
		if len(s.Bridges) > bridge.MaxBridges {
			d.fail(f.Pos, "%d bridges, of at most %d", len(s.Bridges), bridge.MaxBridges)
		}
	}
}

// bridge reads a bridge, and reports whether it has no fault.
func (d *decoder) bridge(n *natsconf.Node) (bridge.Config, bool) {
	c, clean := bridge.Config{MaxPending: bridge.DefaultPending}, len(d.problems)
	d.fields(n, setters{
		"name": d.checked(d.text(&c.Name), func() error { return bridge.CheckName(c.Name) }),
		"urls": d.checked(d.texts(&c.URLs), func() error { return bridge.CheckURLs(c.URLs) }),

		"user":     d.secret(&c.User),
		"password": d.secret(&c.Password),
		"token":    d.secret(&c.Token),
		"creds":    d.checked(d.path(&c.Creds), func() error { return bridge.CheckCreds(c.Creds) }),
		"tls":      func(f *natsconf.Field) { c.TLS = d.bridgeTLS(f) },

		"import": d.checked(d.texts(&c.Import), func() error { return bridge.CheckPatterns(c.Import) }),
		"queue":  d.checked(d.text(&c.Queue), func() error { return bridge.CheckQueue(c.Queue) }),
		"export": d.checked(d.texts(&c.Export), func() error { return bridge.CheckPatterns(c.Export) }),
		"max_pending": d.checked(number(d, 0, &c.MaxPending), func() error {
			if c.MaxPending < bridge.MinPending || c.MaxPending > bridge.LargestPending {
				return fmt.Errorf("%d is not from %d to %d", c.MaxPending, bridge.MinPending, bridge.LargestPending)
			}
			return nil
		}),
	}.alias("url", "urls", "username", "user", "pass", "password", "credentials", "creds"))
	if len(d.problems) > clean {
		return c, false
	}
	if err := c.Check(); err != nil {
		d.fail(n.Pos, "%v", err)
	}
	return c, len(d.problems) == clean
}

// checked adds a check of a value that was read.
func (d *decoder) checked(read setter, check func() error) setter {
	return func(f *natsconf.Field) {
		clean := len(d.problems)
		read(f)
		if len(d.problems) > clean {
			return
		}
		if err := check(); err != nil {
			d.fail(f.Pos, "%s: %v", strings.ToLower(f.Key), err)
		}
	}
}

func (d *decoder) bridgeTLS(f *natsconf.Field) *bridge.TLS {
	t, clean := new(bridge.TLS), len(d.problems)
	d.mapping(f, setters{
		"ca_file":         d.path(&t.CA),
		"cert_file":       d.path(&t.Cert),
		"key_file":        d.path(&t.Key),
		"handshake_first": d.boolean(&t.HandshakeFirst),
	})
	if len(d.problems) > clean {
		return nil
	}
	if err := t.Check(); err != nil {
		d.fail(f.Pos, "tls: %v", err)
	}
	return t
}

// connect reports what is wrong with the bridges as a whole.
func (d *decoder) connect(s *Settings) {
	seen := map[string]bool{}
	for _, c := range s.Bridges {
		if seen[c.Name] {
			d.fail(d.bridgesAt, "there are two bridges %q", c.Name)
		}
		seen[c.Name] = true
	}
	if s.Bus.NoHeaders && len(s.Bridges) > 0 {
		d.fail(d.bridgesAt, "bridges need headers, without which loops are not found: no_header_support excludes them")
	}
}

// checkBridges reports imports of which no message would be published.
func (s *Settings) checkBridges(fault func(key string, err error)) {
	for _, c := range s.Bridges {
		for _, pattern := range c.Import {
			if by := bridge.DeniedBy(pattern, s.Bus.DenyPublish); by != "" {
				fault("paddock", fmt.Errorf("bridge %s: import %q: only the server publishes on %q", c.Name, pattern, by))
			}
		}
	}
}
